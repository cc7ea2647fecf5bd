"""Ctrl-C ends every command in the same way: one line, exit code 130, and nothing of what threads and libraries say as they end.

Everything can be run again from where it was, so nothing has to be finished first. What holds a lease or a cluster gets a few
seconds to let go of it; then the process ends, whatever still hangs. A second Ctrl-C ends it at once. Imports nothing heavy: it
has to be in place before the rest is loaded.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

CODE = 130
LINE = "Stopped. What is done stays done: run the same command again to go on."
_PATIENCE = 10.0  # seconds
_SHOW_CURSOR = "\x1b[?25h\n"  # a bar of progress hides it
_stopped = threading.Event()


def run(command: Callable[[], None]) -> None:
    """Run a command so that Ctrl-C ends it."""
    signal.signal(signal.SIGINT, _stop)
    try:
        command()
    finally:
        if _stopped.is_set():
            os._exit(CODE)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    if _stopped.is_set():
        os._exit(CODE)
    _stopped.set()
    os.write(2, f"{_SHOW_CURSOR if sys.stderr.isatty() else ''}{LINE}\n".encode())
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # tracebacks of threads that end would say nothing to anybody
    ending = threading.Timer(_PATIENCE, os._exit, (CODE,))
    ending.daemon = True
    ending.start()
    raise KeyboardInterrupt


__all__ = ["CODE", "LINE", "run"]

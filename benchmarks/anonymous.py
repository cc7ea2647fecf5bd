"""How much memory a piece of work takes for itself: anonymous pages beyond those there before, looked at many times a second.

Pages of memory-mapped files are not in it: the kernel takes them back when it needs them. Linux only.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 0.01


@dataclass(slots=True)
class Peak:
    """The largest so far, in bytes."""

    extra: int = 0


def anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not say how much anonymous memory a process has: run it on Linux")


@contextmanager
def watched() -> Iterator[Peak]:
    """Watch this process while something is done."""
    peak, over, before = Peak(), threading.Event(), anonymous_bytes()

    def watch() -> None:
        while not over.wait(SECONDS):
            peak.extra = max(peak.extra, anonymous_bytes() - before)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
        peak.extra = max(peak.extra, anonymous_bytes() - before)


__all__ = ["Peak", "anonymous_bytes", "watched"]

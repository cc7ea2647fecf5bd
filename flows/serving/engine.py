"""The process beside the review page that advances campaigns: `python -m flows.serving.engine WORKSPACE`.

A line in says which campaign is to be advanced for whom, a line out what came of it (`lines.py`). Campaigns stay open between the
lines (`campaign/resident.py`); one that nobody has needed for some minutes is closed. It has low priority, and it never outlives
the server: it ends when its standard input does, in the middle of a step, too, and on Linux the kernel ends it when the server is
gone in any other way. A step may be killed anywhere.
"""

import ctypes
import os
import queue
import signal
import sys
import threading
import time

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.resident import Resident
from flows.serving.lines import Told, Wish
from storage.errors import CccountError, LeaseError

_FORGET_SECONDS = 600.0  # without a step, after which a campaign's memory is let go
_NICE = 5  # the page goes first; but whoever is short of sheets waits for this process
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def main() -> None:
    """Advance the campaigns that standard input names, until it ends."""
    (workspace,) = sys.argv[1:]
    _end_with_the_server()
    os.nice(_NICE)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(lines,), name="reader", daemon=True).start()
    residents: dict[str, tuple[Resident, float]] = {}
    while True:
        wish = Wish.read(lines.get())
        resident, _ = residents.get(wish.campaign, (Resident(workspace, wish.campaign), 0.0))
        told = _step(resident, wish)
        residents[wish.campaign] = resident, time.monotonic()
        for other, needed in residents.values():
            if time.monotonic() - needed > _FORGET_SECONDS:
                other.close()
        _say(told)


def _step(resident: Resident, wish: Wish) -> Told:
    try:
        if wish.conclude:
            resident.conclude()
            return Told()
        resident.supply(AtTheDesk(wish.people, wish.missing), lambda asked: _say(Told(asked, more=True)))
        return Told()
    except LeaseError:
        return Told(elsewhere=True)
    except CccountError as error:
        return Told(problem=str(error))


def _say(told: Told) -> None:
    sys.stdout.write(told.line())
    sys.stdout.flush()


def _read(lines: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        lines.put(line)
    os._exit(0)  # the server is gone, whatever is being done here


def _end_with_the_server() -> None:
    """Have the kernel end this process with the thread that started it: a compiled loop would not let `_read` have its turn."""
    server = os.getppid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != server:  # it went before the kernel was told
        os._exit(0)


if __name__ == "__main__":
    main()

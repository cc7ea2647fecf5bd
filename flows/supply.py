"""Keeps campaigns supplied with questions while the review page is served, so that nobody at the page waits for a sampler.

A process of its own takes the steps (`python -m flows.supply WORKSPACE`: a campaign's name on each line in, a JSON object on each
line out), with low priority, under the campaign's lease. It ends when its standard input does, so it never outlives the server;
another `cccount advance` at the same time is harmless, and so is a kill.
"""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from storage.errors import CccountError, ComputeError, LeaseError

LOG = logging.getLogger("cccount.review")
MANY = 32  # new answers that are worth a step at once: the queue holds some hundred questions
IDLE_SECONDS = 20.0  # fewer ones wait so long …
SHORT_SECONDS = 15.0  # … and a queue that stays empty is looked at so often: somebody may have imported, or raised the budget
_PAUSE_SECONDS = 1.0  # between steps at least; twice a step's own time if that is longer


@dataclass
class Need:
    """What one campaign waits for. `began` is None until its first step."""

    fresh: int = 0
    short: bool = False
    ended: float | None = None
    lasted: float = 0.0

    def due(self) -> float | None:
        """When the next step should begin; None if nothing calls for one."""
        if self.ended is None:
            return 0.0
        soonest = self.ended + max(_PAUSE_SECONDS, 2.0 * self.lasted)
        if self.fresh >= MANY or (self.fresh and self.short):
            return soonest
        if self.fresh:
            return max(soonest, self.ended + IDLE_SECONDS)
        return max(soonest, self.ended + SHORT_SECONDS) if self.short else None


class Supplier:
    """Advances campaigns when they need it, from a thread that starts with `with` and ends with it."""

    def __init__(self, workspace: str, campaigns: Sequence[str]) -> None:
        self._workspace = workspace
        self._needs = {name: Need() for name in campaigns}
        self._changed = threading.Condition()
        self._ending = False
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._run, name="supplier", daemon=True)

    def __enter__(self) -> "Supplier":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._ending = True
            self._changed.notify()
            if self._process is not None:
                self._process.kill()  # a step may be killed anywhere
        self._thread.join()

    def answered(self, campaign: str, count: int) -> None:
        with self._changed:
            self._needs.setdefault(campaign, Need()).fresh += count
            self._changed.notify()

    def ran_short(self, campaign: str) -> None:
        with self._changed:
            self._needs.setdefault(campaign, Need()).short = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                due = {name: when for name, need in self._needs.items() if (when := need.due()) is not None}
                name = min(due, key=lambda name: due[name], default=None)
                wait = None if name is None else due[name] - time.monotonic()
                if self._ending:
                    return
                if name is None or (wait is not None and wait > 0):
                    self._changed.wait(wait)
                    continue
                need = self._needs[name]
                need.fresh, need.short = 0, False
            began = time.monotonic()
            try:
                self._step(name)
            except (OSError, ValueError, ComputeError) as error:
                LOG.warning("campaign %s was not advanced: %s", name, error)
            with self._changed:
                need.ended = time.monotonic()
                need.lasted = need.ended - began

    def _step(self, campaign: str) -> None:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise ComputeError("the process that advances campaigns has no pipes")
        process.stdin.write(f"{campaign}\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line and not self._ending:
            raise ComputeError("the process that advances campaigns died; it is started again")
        if line and (problem := json.loads(line).get("problem")):
            LOG.warning("campaign %s was not advanced: %s", campaign, problem)

    def _started(self) -> subprocess.Popen[str]:
        with self._changed:
            if self._ending:
                raise ComputeError("the server ends")
            if self._process is None or self._process.poll() is not None:
                command = [sys.executable, "-m", "flows.supply", self._workspace]
                self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
                )
            return self._process


def main() -> None:
    """Advance the campaigns that standard input names, until it ends."""
    from flows.campaign import advance

    os.nice(10)
    (workspace,) = sys.argv[1:]
    for line in sys.stdin:
        try:
            reached = advance(workspace, line.strip())
            told = {"state": reached["state"]}
        except LeaseError:
            told = {"state": "elsewhere"}  # another process advances it: that does as well
        except CccountError as error:
            told = {"problem": str(error)}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

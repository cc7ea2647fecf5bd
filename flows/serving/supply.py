"""Keeps campaigns supplied with questions while the review page is served, so that nobody at the page waits for a sampler.

A process of its own takes the steps (`engine.py`), with low priority; another `cccount advance` at the same time is harmless, and
so is a kill. When somebody's sheets run short a step follows an answer at once; otherwise answers are gathered for a second.
Results are refreshed every few seconds. Whoever waits for questions is told as soon as there are new ones.
"""

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from flows.serving.lines import Told, Wish
from storage.errors import ComputeError

LOG = logging.getLogger("cccount.review")
GATHER_SECONDS = 1.0  # that answers are gathered for while everybody has sheets …
SOON_SECONDS = 0.02  # … and while somebody runs short: the answers of one page come in a moment
RESULTS_SECONDS = 5.0  # between refreshed results, while answers come
LOOK_SECONDS = 15.0  # a queue that stays short is looked at so often: somebody may have imported answers, or raised the budget
_LAST_SECONDS = 5.0  # that the end waits for a killed process to be gone
BUSY_SECONDS = 0.5  # another process was advancing: try again


@dataclass
class Need:
    """What one campaign waits for. `ended` is None until its first step."""

    fresh: int = 0  # answers since the last step
    people: int = 0
    missing: int = 0  # sheets that people lack to the fewest with which nobody waits
    met: tuple[int, int] = (0, 0)  # people and missing sheets at the last step
    ended: float | None = None
    lasted: float = 0.0
    elsewhere: bool = False  # the last step found another process at work
    concluded: float | None = None  # when the results were refreshed last
    concluding: float = 0.0  # seconds that it took
    unwritten: bool = False  # steps were taken since
    problem: str | None = None  # why the last step could not be taken

    def due(self) -> float | None:
        """When the next step should begin; None if nothing calls for one."""
        if self.ended is None:
            return 0.0
        if self.elsewhere:
            return self.ended + BUSY_SECONDS
        if self.missing and (self.fresh or (self.people, self.missing) != self.met):
            return self.ended + SOON_SECONDS
        if self.fresh or self.people > self.met[0]:
            # A slow step leaves the machine to the page; the first one, which opens the campaign, is no measure.
            return self.ended + max(GATHER_SECONDS, min(2.0 * self.lasted, LOOK_SECONDS))
        return self.ended + LOOK_SECONDS if self.missing else None

    def results_due(self) -> float | None:
        """When the results should be refreshed; None if they are up to date."""
        if not self.unwritten:
            return None
        if self.concluded is None:
            return 0.0
        usual = max(RESULTS_SECONDS, 10.0 * self.concluding)
        return self.concluded + (4.0 * usual if self.missing and self.fresh else usual)  # questions go first


class Supplier:
    """Advances campaigns when they need it, from a thread that starts with `with` and ends with it.

    `arrived` is called, from that thread, with the name of a campaign that has new questions or a new state.
    """

    def __init__(self, workspace: str, campaigns: Sequence[str], arrived: Callable[[str], None] = lambda _: None) -> None:
        self._workspace = workspace
        self._arrived = arrived
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
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):  # a read that hangs keeps even the killed: nobody waits for that
                self._process.wait(_LAST_SECONDS)

    def answered(self, campaign: str, count: int) -> None:
        """New answers were stored."""
        with self._changed:
            self._needs.setdefault(campaign, Need()).fresh += count
            self._changed.notify()

    def at_the_desk(self, campaign: str, people: int, missing: int) -> None:
        """So many people are answering, and lack so many sheets."""
        with self._changed:
            need = self._needs.setdefault(campaign, Need())
            if (people, missing) != (need.people, need.missing):
                need.people, need.missing = people, missing
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._ending:
                    return
                name, wait, conclude = self._next()
                if name is None or wait > 0:
                    self._changed.wait(None if name is None else wait)
                    continue
                need = self._needs[name]
                wish = Wish(name, need.people, need.missing, conclude)
                if not conclude:
                    need.fresh, need.met = 0, (need.people, need.missing)
            began = time.monotonic()
            try:
                told = self._step(wish)
            except (OSError, ValueError, TypeError, ComputeError) as error:
                told = Told(problem=str(error))
            self._note(wish, began, told)
            if conclude:
                self._arrived(name)

    def _next(self) -> tuple[str | None, float, bool]:
        """The campaign that is due first, in how many seconds, and whether its results are what is due: steps go first."""
        now = time.monotonic()
        steps = [(when, name) for name, need in self._needs.items() if (when := need.due()) is not None]
        results = [(when, name) for name, need in self._needs.items() if (when := need.results_due()) is not None]
        step, result = min(steps, default=None), min(results, default=None)
        if step is not None and (result is None or step[0] <= max(now, result[0])):
            return step[1], step[0] - now, False
        return (None, 0.0, False) if result is None else (result[1], result[0] - now, True)

    def _note(self, wish: Wish, began: float, told: Told) -> None:
        with self._changed:
            need, ended = self._needs[wish.campaign], time.monotonic()
            if told.problem not in (None, need.problem) and not self._ending:
                LOG.warning("campaign %s was not advanced: %s", wish.campaign, told.problem)
            need.elsewhere, need.problem = told.elsewhere, told.problem
            if wish.conclude:
                need.concluded, need.concluding, need.unwritten = ended, ended - began, told.elsewhere
                return
            need.ended, need.lasted = ended, ended - began
            need.unwritten = need.unwritten or not (told.elsewhere or told.problem)

    def _step(self, wish: Wish) -> Told:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise ComputeError("the process that advances campaigns has no pipes")
        process.stdin.write(wish.line())
        process.stdin.flush()
        while line := process.stdout.readline():
            told = Told.read(line)
            if not told.more:
                return told
            self._arrived(wish.campaign)
        raise ComputeError("the process that advances campaigns died; it is started again")

    def _started(self) -> subprocess.Popen[str]:
        with self._changed:
            if self._ending:
                raise ComputeError("the server ends")
            if self._process is None or self._process.poll() is not None:
                command = [sys.executable, "-m", "flows.serving.engine", self._workspace]
                self._process = subprocess.Popen(  # noqa: S603  our own interpreter and module
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
                )
            return self._process


__all__ = ["Need", "Supplier"]

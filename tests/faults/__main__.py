"""The long form: `python -m tests.faults --faults 200` causes so many faults and writes the tables in docs/."""

import argparse
import itertools
import random
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from tests.faults import orchestrated, suite
from tests.faults.orchestrated import Orchestrated
from tests.faults.records import Fault, Records, write
from tests.faults.suite import Suite
from tests.faults.topology import Topology, topology
from tests.servers import ROOT
from tests.storage.faults import small_disk

# How often of two hundred. What takes minutes by its nature (a run that nobody can report) is seldom.
WEIGHTS = {
    "kill_worker": 10, "kill_workers": 4, "kill_scheduler": 8, "kill_compute": 10, "cut_dask": 5, "delay_dask": 4,
    "cut_store_computing": 6, "delay_store_computing": 3, "double_store_computing": 6,
    "kill_flow": 16, "kill_flow_on_disk": 16, "stop_flow": 12, "clock_ahead": 6, "clock_back": 6, "cut_store": 10,
    "delay_store": 5, "double_store": 10, "full_disk": 8, "kill_reviewer": 8, "kill_reviewer_on_disk": 10, "cut_reviewer": 7,
    "kill_database": 6, "kill_server": 6, "kill_prefect_worker": 6, "kill_run": 8, "kill_both": 2, "kill_all": 2,
}  # fmt: skip
METHODS = {**suite.KINDS, **orchestrated.KINDS}


def plan(faults: int, seed: int, done: Counter[str]) -> list[str]:
    """Return the kinds of so many faults, each at least once, in random order, without those that are done."""
    wanted = {kind: max(1, round(faults * WEIGHTS[method] / sum(WEIGHTS.values()))) for kind, method in METHODS.items()}
    left = [kind for kind, times in wanted.items() for _ in range(times - done[kind])]
    random.Random(seed).shuffle(left)
    return left


class Run:
    """One run of the long form: what it has seen, until when it may go on, and whom it tells."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.records = Records(given.records)
        self.deadline: float = time.monotonic() + given.seconds
        self.scheduled: Orchestrated | None = None
        self.writing = threading.Lock()
        self.said = f"python -m tests.faults --faults {given.faults} --seed {given.seed}"

    def wanted(self, kinds: dict[str, str]) -> list[str]:
        only = self.given.only.split(",") if self.given.only else kinds.values()
        planned = plan(self.given.faults, self.given.seed, self.records.times())
        return [kind for kind in planned if kind in kinds and kinds[kind] in only]

    def is_over(self) -> bool:
        return time.monotonic() > self.deadline

    def add(self, kind: str, ending: str, seconds: float | None, wrong: str | None = None) -> None:
        with self.writing:
            self.records.add(Fault(kind, ending, seconds, wrong))
            took = "" if seconds is None else f", {seconds:.1f} s"
            say(f"{len(self.records.faults)}: {kind}: {ending}{took}{'' if wrong is None else f' WRONG: {wrong}'}")
            write(self.records, list(METHODS), self.said, self.given.pages)

    def cause(self, hurt: Suite) -> None:
        for kind in self.wanted(suite.KINDS):
            if self.is_over():
                return
            try:
                self.add(kind, *hurt.cause(kind))
            except AssertionError as error:
                self.add(kind, "wrong", None, str(error))
                hurt.forget()

    def cause_scheduled(self, made: Topology, reference: str) -> None:
        """The faults of what schedules, beside the others: most of their time is waiting."""
        numbers = itertools.count()
        for kind in self.wanted(orchestrated.KINDS):
            try:
                if self.scheduled is None:
                    number = next(numbers)
                    self.scheduled = Orchestrated(made, reference, made.folder / f"prefect-{number}", self.given.seed + number)
                if self.is_over():
                    return
                self.add(kind, "the schedule went on", getattr(self.scheduled, orchestrated.KINDS[kind])())
            except (AssertionError, OSError) as error:
                if self.is_over():
                    return  # everything was stopped meanwhile
                self.add(kind, "wrong", None, str(error))
                self.stop_schedule()  # the next fault is judged by itself

    def stop_schedule(self) -> None:
        if self.scheduled is not None:
            self.scheduled.stop()
            self.scheduled = None

    def end(self, *_: object) -> None:
        """A time limit from outside: end what was started, and go."""
        self.deadline = 0.0
        sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=7200.0, help="cause no more faults after so long")
    parser.add_argument("--only", help="methods of the suite, with commas")
    parser.add_argument("--records", type=Path, help="a file with a line for each fault: a run goes on where the last one ended")
    parser.add_argument("--pages", type=Path, default=ROOT / "docs/evidence", help="where the pages with the tables are")
    run = Run(parser.parse_args())
    signal.signal(signal.SIGTERM, run.end)
    with ExitStack() as stack:
        made = stack.enter_context(topology())
        disk = stack.enter_context(small_disk(made.folder / "disk", "32m"))
        hurt = Suite(made, seed=run.given.seed + len(run.records.faults), disk=disk)
        say(f"undisturbed: computing {hurt.compute_requests} requests, counting {[round(s, 1) for s in hurt.seconds.values()]} s")
        scheduled = threading.Thread(target=run.cause_scheduled, args=(made, hurt.reference), daemon=True)
        scheduled.start()
        try:
            run.cause(hurt)
            scheduled.join()
        finally:
            run.stop_schedule()
    return 1 if run.records.wrong else 0


def say(text: str) -> None:
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

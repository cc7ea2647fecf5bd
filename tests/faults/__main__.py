"""The long form: `python -m tests.faults --faults 200` causes so many faults and writes the table in docs/faults.md."""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from tests.faults import orchestrated
from tests.faults.orchestrated import Orchestrated
from tests.faults.suite import KINDS, Record, Suite
from tests.faults.topology import Topology, topology
from tests.servers import ROOT
from tests.storage.faults import small_disk

# How often of two hundred: what happens most in a campaign's life most often, what takes a minute seldom.
WEIGHTS = {
    "kill_flow": 10, "kill_flow_on_disk": 82, "kill_reviewer": 5, "kill_reviewer_on_disk": 40, "cut_reviewer": 5, "stop_flow": 10,
    "clock_ahead": 4, "clock_back": 4, "cut_store": 7, "delay_store": 4, "double_store": 7, "full_disk": 10, "kill_worker": 3,
    "kill_scheduler": 2, "kill_compute": 3, "cut_dask": 1, "delay_dask": 1, "cut_store_computing": 2, "double_store_computing": 1,
}  # fmt: skip
PREFECT_WEIGHTS = {"kill_run": 3, "kill_database": 3, "kill_server": 2, "kill_worker": 2, "kill_both": 1}


def plan(faults: int, seed: int) -> list[str]:
    """Return so many kinds of fault, each at least once, in random order."""
    names = {method: kind for kind, method in KINDS.items()}
    wanted = [names[method] for method, weight in WEIGHTS.items() for _ in range(max(1, round(faults * weight / 200)))]
    random.Random(seed).shuffle(wanted)
    return wanted


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=240.0, help="stop after so many minutes, with what was done until then")
    parser.add_argument("--only", help="methods of the suite, with commas; without it all, and those of Prefect")
    parser.add_argument("--records", type=Path, help="a folder that several runs share: the table is about all of them")
    parser.add_argument("--write", type=Path, default=ROOT / "docs" / "faults.md")
    given = parser.parse_args()
    deadline = time.monotonic() + 60 * given.minutes
    failures: list[str] = []
    records: dict[str, Record] = {}
    with ExitStack() as stack:
        made = stack.enter_context(topology())
        disk = stack.enter_context(small_disk(Path(tempfile.mkdtemp(prefix="cccount-disk-")) / "disk", "32m"))
        suite = Suite(made, seed=given.seed, disk=disk)
        suite.records = records
        _say(f"undisturbed: computing {suite.compute_seconds:.1f} s, counting {suite.count_seconds:.1f} s")
        only = given.only.split(",") if given.only else list(KINDS.values())
        schedule = threading.Thread(target=_scheduled, args=(made, suite.reference, records, failures, deadline), daemon=True)
        if given.only is None:
            schedule.start()  # it mostly waits for the next run
        for number, kind in enumerate(plan(given.faults, given.seed), start=1):
            if time.monotonic() > deadline:
                break
            if KINDS[kind] not in only:
                continue
            try:
                suite.cause(kind)
            except AssertionError as error:
                failures.append(f"{kind}: {error}")
                suite.forget()
                _say(f"FAILED {kind}: {error}")
            _say(f"{number}: {kind}: {dict(records[kind].endings) if kind in records else '-'}")
            _write(given, records, failures)
        if given.only is None:
            schedule.join()
        _write(given, records, failures)
    return 1 if failures else 0


def _scheduled(made: Topology, reference: str, records: dict[str, Record], failures: list[str], deadline: float) -> None:
    scheduled = Orchestrated(made, reference)
    try:
        for method, times in PREFECT_WEIGHTS.items():
            for _ in range(times):
                if time.monotonic() < deadline:
                    _orchestrated(scheduled, method, records, failures)
    finally:
        scheduled.stop()


def _orchestrated(scheduled: Orchestrated, method: str, records: dict[str, Record], failures: list[str]) -> None:
    kind = next(kind for kind, name in orchestrated.KINDS.items() if name == method)
    began = time.monotonic()
    record = records.setdefault(kind, Record())
    try:
        ending = getattr(scheduled, method)()
    except AssertionError as error:
        failures.append(f"{kind}: {error}")
        _say(f"FAILED {kind}: {error}")
        return
    record.times += 1
    record.endings[ending] += 1
    record.seconds.append(time.monotonic() - began)
    _say(f"{kind}: {ending}, {record.seconds[-1]:.1f} s")


def _say(text: str) -> None:
    sys.stdout.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")
    sys.stdout.flush()


def table(records: dict[str, Record], failures: list[str]) -> str:
    lines = [
        "| fault | times | how the work took it | answers lost or doubled, shards wrong, results other | median s until whole |"
    ]
    lines.append("|---|---|---|---|---|")
    for kind in (*KINDS, *orchestrated.KINDS):
        if kind in records:
            record = records[kind]
            endings = ", ".join(f"{ending} ({times})" for ending, times in record.endings.most_common())
            wrong = sum(failure.startswith(f"{kind}: ") for failure in failures)
            seconds = statistics.median(record.seconds or [0])
            lines.append(f"| {kind} | {record.times + wrong} | {endings} | {wrong} | {seconds:.1f} |")
    total = sum(record.times for record in records.values()) + len(failures)
    lines.append(f"| **all** | **{total}** | | **{len(failures)}** | |")
    return "\n".join(lines)


def _write(given: argparse.Namespace, records: dict[str, Record], failures: list[str]) -> None:
    """Put the table between the marks of the page; everything else in it is written by people."""
    seeds = str(given.seed)
    if given.records is not None:
        given.records.mkdir(exist_ok=True)
        (given.records / f"{given.seed}.json").write_text(json.dumps([{k: vars(r) for k, r in records.items()}, failures]))
        records, failures, seeds = _together(given.records)
    path, begin, end = given.write, "<!-- table: written by python -m tests.faults -->", "<!-- end of table -->"
    text = path.read_text() if path.exists() else f"# Faults\n\n{begin}\n{end}\n"
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    load = f"load average {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores"
    head = f"{datetime.now(UTC):%Y-%m-%d}, commit {commit.strip()}, seed {seeds}, {load}:"
    listed = "".join(f"\n- {' '.join(failure.split())}" for failure in failures)
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    path.write_text(f"{before}{begin}\n{head}\n\n{table(records, failures)}\n{listed}\n{end}{after}")


def _together(folder: Path) -> tuple[dict[str, Record], list[str], str]:
    """What all runs that share the folder have seen."""
    records: dict[str, Record] = {}
    failures: list[str] = []
    files = sorted(folder.glob("*.json"))
    for file in files:
        seen, failed = json.loads(file.read_text())
        failures += failed
        for kind, values in seen.items():
            record = records.setdefault(kind, Record())
            record.times += values["times"]
            record.endings.update(values["endings"])
            record.seconds += values["seconds"]
    return records, failures, " and ".join(file.stem for file in files)


if __name__ == "__main__":
    sys.exit(main())

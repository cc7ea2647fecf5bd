"""What the long form has seen: a line in a file for each fault, and the tables of faults.md and scaling.md in docs/evidence.

A run that is cut counts for what it did: the next one with the same file goes on where it ended.
"""

import json
import os
import statistics
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.pasting import paste
from tests.servers import ROOT


@dataclass(frozen=True)
class Fault:
    """One fault and what came of it."""

    kind: str
    ending: str
    seconds: float | None  # from the fault until the work went on; None if it never did
    wrong: str | None = None  # what is other than in the undisturbed run


class Records:
    """All faults of one file; two threads may add to it."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self.faults = [Fault(**json.loads(line)) for line in lines]

    def add(self, fault: Fault) -> None:
        with self._lock:
            self.faults.append(fault)
            if self.path is not None:
                with self.path.open("a") as sink:
                    sink.write(json.dumps(asdict(fault)) + "\n")

    def times(self) -> Counter[str]:
        return Counter(fault.kind for fault in self.faults)

    @property
    def wrong(self) -> list[Fault]:
        return [fault for fault in self.faults if fault.wrong is not None]


def table(faults: Sequence[Fault], kinds: Sequence[str]) -> list[str]:
    lines = [
        "| fault | times | how the work took it | answers lost or doubled, shards wrong, results other |",
        "|---|---|---|---|",
    ]
    for kind in kinds:
        those = [fault for fault in faults if fault.kind == kind]
        endings = Counter(fault.ending for fault in those).most_common()
        took = ", ".join(f"{ending} ({times})" for ending, times in endings)
        if those:
            lines.append(f"| {kind} | {len(those)} | {took} | {sum(fault.wrong is not None for fault in those)} |")
    lines.append(f"| **all** | **{len(faults)}** | | **{sum(fault.wrong is not None for fault in faults)}** |")
    return lines


def resume_table(faults: Sequence[Fault], kinds: Sequence[str]) -> list[str]:
    """Seconds from the fault until the work went on, of those faults that met work in the middle."""
    lines = ["| after | times | median s | longest s |", "|---|---|---|---|"]
    for kind in kinds:
        those = [fault for fault in faults if fault.kind == kind and fault.ending != "was done before"]
        if seconds := [fault.seconds for fault in those if fault.seconds is not None]:
            lines.append(f"| {kind} | {len(seconds)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    return lines


def write(records: Records, kinds: Sequence[str], said: str, pages: Path) -> None:
    """Put the tables between the marks of the pages; everything else in them is written by people."""
    faults = list(records.faults)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    load = f"load average {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores"
    head = f"{datetime.now(UTC):%Y-%m-%d}, commit {commit.strip()}, `{said}`, {load}:"
    wrong = [f"- {fault.kind}: {' '.join((fault.wrong or '').split())[:600]}" for fault in faults if fault.wrong is not None]
    paste(pages / "faults.md", "faults", [head, "", *table(faults, kinds), *([""] if wrong else []), *wrong])
    kills = [kind for kind in kinds if kind.startswith(("kill", "flow stopped"))]
    paste(pages / "scaling.md", "resume", [head, "", *resume_table(faults, kills)])

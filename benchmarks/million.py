"""A million items from vectors to the review page, by the real commands: what each step takes, and how large a process becomes.

    python -m benchmarks.million --folder FOLDER [--items 1000000] [--dimensions 128] [--budget 200] [--write]

Made items of unequal classes in three modes, as in `benchmarks.groupingsets`, written block by block. Neighbours are approximate,
with degrees; counts are made in pairs and in pages, groups by `evidence` and `apc`, subclusters of 100 classes, each with a small
budget that labels answer; then the report, `verify`, and the page that people answer on with eight of its sheets. What has ended
is not done again: a run that was stopped goes on where it was, inside a step too, and the table says of such a step "went on".

Seconds of processors are those of a command and of all processes that it started. Memory is that of the largest process: its
anonymous pages, which nobody can take from it, and all that is resident, mapped files included, looked at 20 times a second.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil

from benchmarks.groupingsets import modes_in_blocks
from benchmarks.pasting import paste
from benchmarks.stored import Runs, table

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "scale.md"
SAMPLES_PER_SECOND = 20
LIMIT = 4 * 2**30  # bytes that no process may go beyond
SHEETS = 8
Took = dict[str, float]


class Watched:
    """The largest process of a command and of all that it started."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self.resident = self.anonymous = 0

    def look(self) -> None:
        try:
            family = [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for member in family:
            said = _status(member.pid)
            self.resident = max(self.resident, said.get("VmRSS", 0))
            self.anonymous = max(self.anonymous, said.get("RssAnon", 0))


def _status(pid: int) -> dict[str, int]:
    """The sizes of a process in bytes; nothing if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in lines if line.endswith(" kB")}


def measured(command: list[str], use: Callable[[str], None] | None = None) -> Took:
    """Run a command to its end; or, if it serves a page, until that was used."""
    began, before = time.perf_counter(), os.times()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out)
        watched = Watched(process.pid)
        while process.poll() is None:
            watched.look()
            time.sleep(1 / SAMPLES_PER_SECOND)
            if use is not None and os.fstat(out.fileno()).st_size and (said := _said(out.fileno())).endswith("\n"):
                use(json.loads(said.splitlines()[0])["url"])
                watched.look()
                use = None
                process.send_signal(signal.SIGINT)
    after = os.times()
    if process.returncode not in (0, 130):  # Ctrl-C is how a page ends
        raise SystemExit(f"{' '.join(command[3:])} failed with exit code {process.returncode}")
    return {
        "seconds": time.perf_counter() - began,
        "work": after.children_user + after.children_system - before.children_user - before.children_system,
        "anonymous": watched.anonymous,
        "resident": watched.resident,
    }


def _said(file: int) -> str:
    return os.pread(file, 2**16, 0).decode()


def page_is_used(url: str) -> None:
    """What a browser does first: the page, and the sheets that people are to answer."""
    for path in ("/", f"/api/people/sheets?count={SHEETS}"):
        with urllib.request.urlopen(url.rstrip("/") + path, timeout=600) as answer:
            body = answer.read()
    if not json.loads(body)["sheets"]:
        raise SystemExit("the review page has nothing to answer")


def made(folder: Path, items: int, dimensions: int) -> None:
    """Leave vectors and labels in the folder; without a file of the name there is no whole one."""
    y, blocks = modes_in_blocks(items, dimensions)
    unfinished = folder / "unfinished.npy"
    vectors = np.lib.format.open_memmap(unfinished, "w+", np.float32, (items, dimensions))
    at = 0
    for block in blocks:
        vectors[at : at + len(block)] = block
        at += len(block)
    vectors.flush()
    np.save(folder / "labels.npy", y)
    unfinished.rename(folder / "vectors.npy")


def steps(folder: Path, budget: int) -> dict[str, list[str]]:
    """The commands, in their order."""
    place, asked = str(folder / "ws"), ["--budget", str(budget), "--oracle", "labels"]
    return {
        "init": ["init", place, "--embeddings", str(folder / "vectors.npy"), "--labels", str(folder / "labels.npy")],
        "neighbors, approximate": ["neighbors", place, "--k", "50", "--engine", "approximate"],
        "count, pairs": ["count", place, "--campaign", "pairs", *asked],
        "count, pages of 24": ["count", place, "--campaign", "pages", "--grid", "24", *asked],
        "cluster, evidence": ["cluster", place, "--campaign", "evidence", "--method", "evidence", *asked],
        "cluster, apc": ["cluster", place, "--campaign", "apc", "--method", "apc", *asked],
        "subcluster": ["subcluster", place, "--clusters", "100", "--size", "5", *asked],
        "report": ["report", place, "--campaign", "pairs"],
        "verify": ["verify", place],
        "count that waits for people": ["count", place, "--campaign", "people", "--method", "nis", "--budget", "40"],
        "review page, eight sheets": ["review", place, "--port", "0", "--no-advance", "--gold", "0", "--repeats", "0"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where everything is kept, so that a run can go on; without it nothing is")
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--budget", type=int, default=200, help="questions of each campaign")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no step is begun after so many")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    chosen = parser.parse_args()
    if chosen.folder is not None:
        chosen.folder.mkdir(parents=True, exist_ok=True)
        taken(chosen, chosen.folder)
        return
    with tempfile.TemporaryDirectory(prefix="cccount-million-") as name:
        taken(chosen, Path(name))


def taken(chosen: argparse.Namespace, folder: Path) -> None:
    runs = Runs(
        folder / f"steps-{chosen.items}-{chosen.dimensions}-{chosen.budget}.jsonl", time.monotonic() + 60 * chosen.minutes
    )
    if not (folder / "vectors.npy").exists():
        made(folder, chosen.items, chosen.dimensions)
    head = f"n = {chosen.items:,}, d = {chosen.dimensions}, {chosen.budget:,} questions a campaign, {os.cpu_count()} processors"
    lines = [head, "", *table(["step", "seconds", "processor seconds", "largest process, MiB", "of it anonymous", "load"], [])]
    print("\n".join(lines), flush=True)
    for name, words in steps(folder, chosen.budget).items():
        row = taken_by(runs, name, [sys.executable, "-m", "flows", *words, "--json"])
        if row is None:
            break
        lines.append(shown(name, row))
        print(lines[-1], flush=True)
        if chosen.write:
            paste(PAGE, "million", lines)


def shown(name: str, row: Took) -> str:
    """The row of a step."""
    marks = f"{', went on' if row['again'] else ''}{', **beyond 4 GiB**' if row['resident'] > LIMIT else ''}"
    numbers = [
        f"{row['seconds']:,.1f}",
        f"{row['work']:,.1f}",
        f"{row['resident'] / 2**20:,.0f}",
        f"{row['anonymous'] / 2**20:,.0f}",
    ]
    return "| " + " | ".join([f"{name}{marks}", *numbers, f"{row['load']:.1f}"]) + " |"


def taken_by(runs: Runs, name: str, command: list[str]) -> Took | None:
    """What a step took, now or in an earlier run; None if there is no time for it."""
    begun = next(runs.of(f"begun {name}", 1), None) is not None
    runs.get(f"begun {name}, 0", lambda: True)

    def work() -> Took:
        serves = page_is_used if "review" in command else None
        return {**measured(command, serves), "again": float(begun), "load": os.getloadavg()[0]}

    runs.get(f"{name}, 0", work)
    found: Took | None = next(runs.of(name, 1), None)
    return found


if __name__ == "__main__":
    main()

"""A campaign in its old age: `advance` with nothing new and with new answers, and the review server after 100,000 answers.

    python -m benchmarks.longlife --items 100000 --dimensions 1280 --answers 10000 [--folder DIR] [--methods placing apc evidence]

Every time is that of a real command, in a process of its own. "replay" is the same command on the same campaign whose snapshot
was removed just before it: that is what each step cost without snapshots. The two stand side by side in one run, so the load of
the machine is in both; in brackets the seconds of a processor, of which the ratio is taken. The campaigns are started for people,
answered by labels up to `--answers`, as many at a time as people may have open, and then by twenty people: for those who answered
lately a step has more than 100 questions ready, and 100 answers to them are what is new. The folder keeps its workspace and the
rows of the table: a run that was ended goes on where it was, and what was measured with other code is measured again.
"""

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from benchmarks.gallery import start_campaign
from benchmarks.review import QUIET, annotate, serving
from cccount_dist import Campaign, Response
from cccount_dist.campaign.advancing import kind_of, read_inputs
from cccount_dist.review.annotators import Annotators
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.workspace import Workspace

KIND = {"placing": "count", "apc": "cluster", "evidence": "cluster"}
CLASSES, INTRINSIC, NOISE = 500, 16, 0.7  # of the vectors: in a few directions classes overlap, so that there is something to ask
NEW = 100  # answers that come before a step
PEOPLE, PAUSE, SECONDS = 20, 0.5, 15.0
REPEATS = 3
ROUNDS = 3  # in which people answer what waits: how much lies ready depends on how fast they were
MORE = 500  # answers by labels before people are tried again
AT_ONCE = 512  # questions that labels answer together: as many as may be open for people


@dataclass(frozen=True)
class Took:
    """Seconds on the clock, and of a processor: on a busy machine the clock says little."""

    clock: float
    work: float

    def __str__(self) -> str:
        return f"{self.clock:.1f} s ({self.work:.1f} s)"


def command(*arguments: str) -> tuple[dict[str, object], Took]:
    """Run a command; return what it says and the time that it took."""
    began, before = time.perf_counter(), os.times()
    # As installed: with its modules compiled, also where whoever runs this has switched that off.
    surroundings = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    whole = [sys.executable, "-m", "flows", *arguments, "--json"]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, env=surroundings)
    clock, after = time.perf_counter() - began, os.times()
    took = Took(clock, after.children_user + after.children_system - before.children_user - before.children_system)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return dict(json.loads(done.stdout)), took


def write_vectors(path: Path, items: int, dimensions: int) -> None:
    """Gaussian classes of unequal sizes in a few directions, turned into many."""
    random = np.random.default_rng(0)
    centres, weights = random.normal(size=(CLASSES, INTRINSIC)), random.lognormal(sigma=0.7, size=CLASSES)
    labels = random.choice(CLASSES, items, p=weights / weights.sum())
    turned = random.normal(size=(INTRINSIC, dimensions)) / INTRINSIC**0.5
    vectors = np.empty((items, dimensions), np.float32)
    for start in range(0, items, 16384):
        block = labels[start : start + 16384]
        inside = centres[block] + NOISE * random.normal(size=(len(block), INTRINSIC))
        vectors[start : start + len(block)] = inside @ turned + 0.1 * random.normal(size=(len(block), dimensions))
    np.savez(path, x=vectors, y=labels)


def prepared(folder: Path, items: int, dimensions: int) -> Path:
    place = folder / "ws"
    if not place.exists():
        new = folder / "unfinished"
        shutil.rmtree(new, ignore_errors=True)
        write_vectors(folder / "vectors.npz", items, dimensions)
        command("init", str(new), "--embeddings", str(folder / "vectors.npz"))
        command("neighbors", str(new), "--k", "20")
        new.rename(place)
    return place


def aged(place: Path, method: str, answers: int) -> int:
    """Answer a campaign by labels, then let it wait for people, with `NEW` questions open; return its answers.

    While `placing` checks itself it has a few questions open: then labels answer some more.
    """
    Campaign.create(str(place), method, KIND[method], method=method, budget=0, oracle="people").advance(to_the_end=True)
    for more in range(0, answers, MORE):
        Campaign.create(str(place), method, KIND[method], method=method, budget=answers + more, oracle="labels")
        answered_by_labels(place, method)
        campaign = Campaign.create(str(place), method, KIND[method], method=method, budget=3 * answers, oracle="people")
        campaign.advance()
        for _ in range(ROUNDS):
            if len(campaign.ask(NEW)) == NEW:
                return campaign.ledger.position
            answered(place, method)
            campaign.advance()
    return campaign.ledger.position


def answered_by_labels(place: Path, method: str) -> None:
    """Use up the budget, many questions at a time: what matters here is that answers are there, not how few would have done."""
    folder = CampaignFolder(Workspace.open(str(place)), method)
    settings, kind = folder.settings(), kind_of(folder)
    with folder.lease() as lease:
        runner = kind.runner(folder, lease, read_inputs(folder.workspace, kind, settings.method, settings.parameters))
        runner.at_once = AT_ONCE
        while runner.step(batch=AT_ONCE).state == "running":
            print(f"{method}: {runner.ledger.questions:,} answers", file=sys.stderr)


def answered(place: Path, method: str) -> int:
    """Have people answer what waits, `NEW` at most, by the labels; return how many."""
    labels = Workspace.open(str(place)).collection().labels()
    campaign = Campaign.open(str(place), method)
    if labels is None:
        raise SystemExit("the collection has no labels")
    said = [
        Response(q.id, float(labels[q.u] == labels[q.v]), f"annotator {number % PEOPLE}", 3.0)
        for number, q in enumerate(campaign.ask(NEW))
    ]
    return campaign.tell(said)


@contextmanager
def put_back(folder: Path) -> Iterator[None]:
    """Leave a campaign's folder as it was."""
    with tempfile.TemporaryDirectory(dir=folder.parent.parent.parent) as aside:
        copy = Path(shutil.copytree(folder, Path(aside) / "copy"))
        yield
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)


def steps(place: Path, method: str, answers: int, *, replays: bool) -> list[str]:
    count = aged(place, method, answers)
    folder = place / "campaigns" / method
    step = ("advance", str(place), "--campaign", method)
    command(*step)
    nothing = [command(*step) for _ in range(REPEATS)]
    whole = replayed(folder, *step) if replays else None
    new = answered(place, method)
    slow = replayed(folder, *step) if replays else None
    quick = command(*step)
    if (whole is not None and any(said != whole[0] for said, _ in nothing)) or (slow is not None and quick[0] != slow[0]):
        raise SystemExit(f"{method}: a step from a snapshot says something else than a replay")
    kept = sum(path.stat().st_size for path in (folder / "snapshot").rglob("*") if path.is_file())
    least = min((took for _, took in nothing), key=lambda took: took.work)
    return [
        _row("nothing new", method, count, whole and whole[1], least, ""),
        _row(f"{new} new answers", method, count, slow and slow[1], quick[1], f"{kept / 2**20:.0f} MiB"),
    ]


def replayed(folder: Path, *arguments: str) -> tuple[dict[str, object], Took]:
    """Run a command on a campaign without its snapshot, and leave the campaign as it was."""
    with put_back(folder):
        shutil.rmtree(folder / "snapshot", ignore_errors=True)
        return command(*arguments)


def _row(what: str, method: str, count: int, slow: Took | None, now: Took, kept: str) -> str:
    ratio = "" if slow is None else f"{slow.work / now.work:.1f}"
    return f"| `advance`, {what} | {method} | {count:,} | {slow or ''} | {now} | {ratio} | {kept} |"


def review(folder: Path, answers: int) -> list[str]:
    """Start the server and have people answer, on a new campaign and on an old one, by turns."""
    rows = []
    for given in (0, answers):
        place = folder / f"review-{given}"
        shutil.rmtree(place, ignore_errors=True)
        workspace = Workspace.create(place, collection_table([f"item {item}" for item in range(20_000)]))
        random = np.random.default_rng(1)
        pairs = random.integers(0, 10_000, (given + 9_000, 2))
        questions = [Question(number, int(u), 10_000 + int(v)) for number, (u, v) in enumerate(pairs)]
        log = start_campaign(workspace, "census", questions).log
        said = [LoggedAnswer(f"old {q.id}", q.id, q.u, q.v, 0.0, "people", f"annotator {q.id % PEOPLE}", seconds=3.0, at=q.id)
                for q in questions[:given]]  # fmt: skip
        if said:
            log.append_answers(answers_table(said))
        tokens = [Annotators(workspace).add(f"annotator {number}") for number in range(PEOPLE)]
        began = time.perf_counter()
        times: dict[str, list[float]] = {"answer": [], "answer, as the client sees it": [], "eight sheets": []}
        with serving(place, *QUIET) as url:
            started, work = time.perf_counter() - began, work_of_children()
            ends = time.monotonic() + SECONDS
            threads = [threading.Thread(target=annotate, args=(url, token, ends, PAUSE, times, [])) for token in tokens]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            each = 1000 * (work_of_children() - work) / max(len(times["answer"]), 1)
        late = [statistics.quantiles(times[what], n=100)[98] for what in ("answer", "eight sheets")]
        told = f"{Took(started, work)} | {late[0]:.1f} ms | {late[1]:.1f} ms | {each:.1f} ms | {len(times['answer']):,}"
        rows.append(f"| {given:,} | {told} |")
    return rows


def work_of_children() -> float:
    """Seconds of a processor that the server and what it started have used so far."""
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(one.user + one.system for one in times)


def remembered(folder: Path, what: str, measure: Callable[[], list[str]]) -> list[str]:
    """Return the rows that an earlier run with the same code has measured; measure them if there are none."""
    place, key = folder / "rows.json", f"{what}, code {_code()}"
    rows: dict[str, list[str]] = json.loads(place.read_text()) if place.exists() else {}
    if key not in rows:
        rows[key] = measure()
        place.write_text(json.dumps(rows, indent=1))
    return rows[key]


def _code() -> str:
    """A digest of all source, so that a table says what one state of the code does."""
    digest = hashlib.blake2b(digest_size=8)
    for room in ("storage", "cccount_dist", "flows", "benchmarks"):
        for path in sorted((Path(__file__).parents[1] / room).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=1280)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--methods", nargs="*", default=list(KIND))
    parser.add_argument("--no-replays", action="store_true", help="leave them out: each takes as long as the campaign took")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--review", type=int, default=100_000, help="answers of the old campaign that is served; 0: leave it out")
    chosen = parser.parse_args()
    size = f"n = {chosen.items:,}, d = {chosen.dimensions}"
    with tempfile.TemporaryDirectory() as name:
        folder = chosen.folder or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        print("| what | method | answers before | replay | now | replay / now | snapshot |")
        print("|---|---|---:|---:|---:|---:|---:|", flush=True)
        for method in chosen.methods:

            def measured(method: str = method) -> list[str]:
                place = prepared(folder, chosen.items, chosen.dimensions)
                return steps(place, method, chosen.answers, replays=not chosen.no_replays)

            what = f"{method}, {size}, answers {chosen.answers}, replays {not chosen.no_replays}"
            print("\n".join(remembered(folder, what, measured)), flush=True)
        if chosen.review:
            print("\n| answers before | start of `cccount review` | answer, p99 | eight sheets, p99 | work an answer | answers |")
            print("|---:|---:|---:|---:|---:|---:|")
            print("\n".join(remembered(folder, f"review, {chosen.review}", lambda: review(folder, chosen.review))), flush=True)
    print(f"\n{size}; code {_code()}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end.")


if __name__ == "__main__":
    main()

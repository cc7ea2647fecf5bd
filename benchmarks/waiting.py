"""How long people wait for the next question: a real server, and clients without a browser who answer at a person's pace.

    python -m benchmarks.waiting [--people 1 3 10] [--pace 3] [--answers 30 60 150] [--case pairs …] [--quick] [--write …]

Each person is a task that does what the page does: it fetches sheets ahead, shows one, answers it after `--pace` seconds (half to
one and a half times that, by chance), sends the answer while the next sheet is shown, and is told of new sheets by a request that
the server holds. A wait is the time from an answer to the next sheet lying in the client; waits count from the first answer to
the last but k, k the number of people. `lay ready`: sheets in a person's client when they answer, the fewest and the median.
Time is not scaled: a pace below 3 s asks more of the server and of the samplers than people do. `--write FILE` replaces the
rows that were measured and leaves the others, so that cases can be run one by one.
"""

import argparse
import asyncio
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.pasting import paste, pasted
from benchmarks.review import serving
from cccount_dist.campaign.campaign import Campaign
from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace

AHEAD = 8  # sheets that the page fetches before they are needed
HOLD_SECONDS = 10  # that the page lets the server hold a request
POLLS = (1.0, 2.0, 3.0, 5.0, 8.0)  # what a page does that is told "nothing" at once
ITEMS, CLASSES, DIMENSIONS = 1200, 40, 24
RATED = 200  # items of the collection that is rated
CAMPAIGN = "census"
GOAL_SECONDS = 0.3  # that nobody should ever wait longer than
NOTICED_SECONDS = 0.1  # waits above are listed on standard error, with the number of answers before them

Options = Mapping[str, Any]
CASES: dict[str, tuple[str, Options]] = {
    "pairs": ("count", {}),
    "pages": ("count", {"grid": 24}),
    "ratings": ("cluster", {"method": "iu-red", "clusters": 4}),
    "evidence": ("cluster", {"method": "evidence"}),
    "apc": ("cluster", {"method": "apc"}),
    "hacc": ("cluster", {"method": "hacc", "clusters": CLASSES}),
    "subcluster": ("subcluster", {"clusters": CLASSES, "size": 6}),
    "catalogue": ("cluster", {"method": "catalogue"}),
}
BY_PAGES = ("pages", "catalogue")
HEAD = [
    "| questions | people | p50 | p99 | longest wait | over 300 ms | lay ready, fewest (median) | answers | load |",
    "|---|---|---|---|---|---|---|---|---|",
]
QUICK = ("pairs", "evidence")


@dataclass
class Seen:
    """What the people of one run met."""

    all_waits: list[tuple[int, float]] = field(default_factory=list)  # answers before it, and its seconds
    ready: list[int] = field(default_factory=list)
    answered: int = 0
    states: set[str] = field(default_factory=set)
    people: int = 0

    @property
    def counted(self) -> list[tuple[int, float]]:
        """Those from the first answer to the last but k."""
        return [(before, wait) for before, wait in self.all_waits if before <= self.answered - self.people]

    @property
    def waits(self) -> list[float]:
        return [wait for _, wait in self.counted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--pace", type=float, default=3.0)
    parser.add_argument("--answers", type=int, nargs="+", default=[300], help="one number, or one for each of --people")
    parser.add_argument("--case", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--overlap", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="two cases, a few people, some seconds each")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    if options.quick:
        options.people, options.pace, options.answers, options.case = [3], 0.3, [40], list(QUICK)
    if len(options.answers) not in (1, len(options.people)):
        parser.error(f"--answers takes one number, or {len(options.people)}, not {len(options.answers)}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        prepared = Prepared(Path(name))
        print("\n".join(HEAD), flush=True)
        for case in options.case:
            for number, people in enumerate(options.people):
                answers = options.answers[number % len(options.answers)]
                seen = run(prepared, case, people, options.pace, answers, options.overlap)
                found = row(case, people, seen)
                print(found, flush=True)
                if late := [f"{1000 * wait:.0f} ms after {before}" for before, wait in seen.counted if wait > NOTICED_SECONDS]:
                    print(f"of {seen.answered} answers, waits: {', '.join(late)}", file=sys.stderr, flush=True)
                if options.write:
                    paste(options.write, "waiting", with_row(pasted(options.write, "waiting"), found))


def with_row(lines: list[str], found: str) -> list[str]:
    """The table with one row more, or another one in its place; rows are in the order of the cases."""

    def place(line: str) -> tuple[int, int]:
        case, people = (cell.strip() for cell in line.split("|")[1:3])
        return list(CASES).index(case), int(people)

    rows = {place(line): line for line in [*lines, found] if line.startswith("| ") and not line.startswith(HEAD[0][:11])}
    return [*HEAD, *(rows[key] for key in sorted(rows))]


def row(case: str, people: int, seen: Seen) -> str:
    waits, ready = sorted(seen.waits) or [0.0], sorted(seen.ready) or [0]
    high = waits[min(len(waits) - 1, int(0.99 * len(waits)))]
    times = [f"{1000 * one:.0f} ms" for one in (statistics.median(waits), high, waits[-1])]
    lay = f"{ready[0]} ({statistics.median(ready):.0f})"
    over = sum(one > GOAL_SECONDS for one in waits)
    return f"| {case} | {people} | {' | '.join(times)} | {over} | {lay} | {seen.answered:,} | {os.getloadavg()[0]:.1f} |"


# -- the collection --------------------------------------------------------------------------------------------------------


class Prepared:
    """Workspaces with neighbours, made once; every run gets a copy, because campaigns share what people said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = 0
        self._made: dict[int, tuple[Path, NDArray[np.int64]]] = {}

    def copy(self, items: int, classes: int) -> tuple[Path, NDArray[np.int64]]:
        if items not in self._made:
            self._made[items] = self._make(items, classes)
        made, labels = self._made[items]
        self.runs += 1
        return Path(shutil.copytree(made, self.folder / f"run-{self.runs}")), labels

    def _make(self, items: int, classes: int) -> tuple[Path, NDArray[np.int64]]:
        rng = np.random.default_rng(items)
        labels = rng.choice(classes, items, p=np.sort(rng.dirichlet(np.full(classes, 3.0)))).astype(np.int64)
        centres = rng.normal(size=(classes, DIMENSIONS))
        vectors = (centres[labels] + 0.75 * rng.normal(size=(items, DIMENSIONS))).astype(np.float32)
        np.savez(self.folder / f"{items}.npz", x=vectors)
        place = self.folder / f"prepared-{items}"
        for command in (["init", place, "--embeddings", self.folder / f"{items}.npz"], ["neighbors", place, "--workers", "1"]):
            subprocess.run([sys.executable, "-m", "flows", *map(str, command), "--json"], check=True, stdout=subprocess.DEVNULL)
        return place, labels


# -- a run -------------------------------------------------------------------------------------------------------------------


def run(prepared: Prepared, case: str, people: int, pace: float, answers: int, overlap: int = 1) -> Seen:
    """Have people answer a campaign until it asks no more, and return what they met."""
    kind, options = CASES[case]
    small = case == "ratings"
    place, labels = prepared.copy(RATED if small else ITEMS, 4 if small else CLASSES)
    budget = answers * 10 // 3 if case in BY_PAGES else answers  # in a budget a page counts as the pairs that take as long
    Campaign.create(str(place), CAMPAIGN, kind, budget=budget, overlap=overlap, **options)
    seen = answered(place, labels, people, pace)
    shutil.rmtree(place)
    return seen


def answered(place: Path, labels: NDArray[np.int64], people: int, pace: float) -> Seen:
    """Have people answer the campaign of a workspace at a server of its own, until it asks no more."""
    tokens = [Annotators(Workspace.open(place)).add(f"annotator {number}") for number in range(people)]
    with (
        serving(place) as url,
        ThreadPoolExecutor(1) as thread,
    ):  # a test may have a browser's loop in this one
        return thread.submit(lambda: asyncio.run(_all(url, tokens, labels, pace))).result()


async def _all(url: str, tokens: list[str], labels: NDArray[np.int64], pace: float) -> Seen:
    seen = Seen(people=len(tokens))
    await asyncio.gather(*(_Person(seen, labels, pace, token).live(url) for token in tokens))
    return seen


class _Person:
    """Somebody at the page."""

    def __init__(self, seen: Seen, labels: NDArray[np.int64], pace: float, token: str) -> None:
        self._seen, self._labels, self._pace = seen, labels, pace
        self._token = token
        self._chance = random.Random(token)
        self._ready: list[dict[str, Any]] = []
        self._given: set[str] = set()
        self._arrived = asyncio.Event()
        self._wanted = asyncio.Event()
        self._over = False
        self._shown = 0  # sheets that are looked at

    async def live(self, url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60.0) as client:
            (await client.post("/api/login", json={"token": self._token})).raise_for_status()
            await asyncio.sleep(self._chance.uniform(0, self._pace))
            async with self._filling(client):
                await self._answer(client)

    async def _answer(self, client: httpx.AsyncClient) -> None:
        seen, since = self._seen, None
        sending: set[asyncio.Task[None]] = set()
        while True:
            while not self._ready and not self._over:
                self._arrived.clear()
                await self._arrived.wait()
            if not self._ready:
                break
            now = time.perf_counter()
            if since is not None:
                seen.all_waits.append((seen.answered, now - since))
            sheet, self._shown = self._ready.pop(0), 1
            await asyncio.sleep(self._pace * self._chance.uniform(0.5, 1.5))
            seen.ready.append(len(self._ready))
            since, self._shown = time.perf_counter(), 0
            seen.answered += 1
            task = asyncio.create_task(self._send(client, sheet))
            sending.add(task)
            task.add_done_callback(sending.discard)
        await asyncio.gather(*sending)

    async def _send(self, client: httpx.AsyncClient, sheet: dict[str, Any]) -> None:
        replies = [self._reply(sheet, candidate) for candidate in sheet["candidates"]]
        (await client.post(f"/api/{CAMPAIGN}/answers", json=replies)).raise_for_status()
        self._wanted.set()

    def _reply(self, sheet: dict[str, Any], candidate: dict[str, Any]) -> dict[str, Any]:
        same = self._labels[sheet["anchor"]["item"]] == self._labels[candidate["item"]["item"]]
        value = (0.9 if same else 0.1) if sheet["kind"] == "rating" else float(same)
        return {"id": os.urandom(16).hex(), "question_id": candidate["question_id"], "value": value, "seconds": self._pace}

    # -- what the page's queue does ------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _filling(self, client: httpx.AsyncClient) -> AsyncIterator[None]:
        task = asyncio.create_task(self._fill(client))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _fill(self, client: httpx.AsyncClient) -> None:
        empty = 0
        while not self._over:
            if len(self._ready) + self._shown >= AHEAD:
                self._wanted.clear()
                await self._wanted.wait()
                continue
            self._wanted.clear()
            asked = time.perf_counter()
            held = {"count": AHEAD, "have": len(self._ready) + self._shown, "wait": HOLD_SECONDS}
            given = await client.get(f"/api/{CAMPAIGN}/sheets", params=held)
            given.raise_for_status()
            body = given.json()
            here = {sheet["id"] for sheet in body["sheets"]}
            self._ready = [sheet for sheet in self._ready if sheet["id"] in here]  # what went to somebody else meanwhile
            fresh = [sheet for sheet in body["sheets"] if sheet["id"] not in self._given]
            self._given.update(sheet["id"] for sheet in fresh)
            self._ready += fresh
            self._seen.states.add(body["state"])
            self._over = not self._ready and body["state"] in ("done", "stopped")
            self._arrived.set()
            empty = 0 if fresh else empty + 1
            if not fresh and time.perf_counter() - asked < 1.0:
                pause = POLLS[min(empty, len(POLLS)) - 1] if not self._ready else 3600.0
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wanted.wait(), pause)


if __name__ == "__main__":
    main()

"""The review server with 20 people at once, and the page in Chromium: how long an answer takes, how soon the next pair is there.

    python -m benchmarks.review [--annotators 20] [--seconds 30] [--pause 0.5] [--look 9] [--folder DIR]
        [--write docs/evidence/review.md]

The server is a real `cccount review`; the annotators are threads of another process that take sheets and answer them one by one
over HTTP, `--pause` seconds apart; people take about nine. Then the same with cold JPEGs of twelve megapixels, `--look` seconds
apart: each fetches the pictures of its next eight sheets, as the page does. The server's own time is what it tells in
`Server-Timing`: from the request's arrival to the response, the disk included. `--folder` chooses the disk; its name and the time
of a plain fsync are printed.
"""

import argparse
import itertools
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import CDPSession, Page, sync_playwright

from benchmarks.gallery import large_jpeg, make_gallery, pairs_of, start_campaign
from benchmarks.pasting import paste
from cccount_dist.review.annotators import Annotators
from cccount_dist.sampling.types import Question
from storage.collection import collection_table
from storage.workspace import Workspace

Row = tuple[str, str, str, str, str]
BROWSER_ANSWERS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--pause", type=float, default=0.5)
    parser.add_argument("--look", type=float, default=9.0, help="seconds for which somebody looks at large pictures")
    parser.add_argument("--no-browser", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        syncs = fsync_times(folder)
        rows = [("plain fsync of 4 KiB on that disk", *summary(syncs), "")]
        rows += people_at_once(folder, options.annotators, options.seconds, options.pause)
        rows += with_pictures(folder, options.annotators, options.seconds, options.look)
        rows += [] if options.no_browser else in_the_browser(folder)
        load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores{priority()}"
        lines = [
            f"Disk: {disk_of(folder)}; {load}. {options.annotators} annotators, an answer every {options.pause:g} s each.",
            "",
            "| what | p50 | p99 | largest | number |",
            "|---|---|---|---|---|",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    print("\n".join(lines))
    if options.write:
        paste(options.write, "review", lines)


# -- the server ---------------------------------------------------------------------------------------------------------------


def people_at_once(folder: Path, annotators: int, seconds: float, pause: float) -> list[Row]:
    workspace = Workspace.create(folder / "people", collection_table([f"item {item}" for item in range(20_000)]))
    wanted = int(2 * annotators * seconds / pause) + 200
    start_campaign(
        workspace, "census", [Question(number, number, 10_000 + number % 10_000) for number in range(min(wanted, 9_999))]
    )
    tokens = [Annotators(workspace).add(f"annotator {number}") for number in range(annotators)]
    times: dict[str, list[float]] = {"answer": [], "answer, as the client sees it": [], "eight sheets": []}
    doubled: list[int] = []
    with serving(folder / "people", *QUIET) as url:
        ends = time.monotonic() + seconds
        threads = [
            threading.Thread(target=annotate, args=(url, token, ends, pause, times, doubled), daemon=True) for token in tokens
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if len(set(doubled)) != len(doubled):
        raise SystemExit(f"{len(doubled) - len(set(doubled))} questions were answered twice: the leases do not hold")
    return [
        (f"server's time of an {what}" if what == "answer" else what, *summary(found), f"{len(found):,}")
        for what, found in times.items()
    ]


def annotate(url: str, token: str, ends: float, pause: float, times: dict[str, list[float]], answered: list[int]) -> None:
    """One person: look, answer, next. Sheets are taken ahead, as the page does."""
    chance = random.Random(token)
    with httpx.Client(base_url=url, timeout=60.0) as client:
        client.post("/api/login", json={"token": token}).raise_for_status()
        time.sleep(chance.uniform(0, pause))
        while time.monotonic() < ends:
            response = client.get("/api/census/sheets?count=8")
            times["eight sheets"].append(told(response))
            for sheet in response.json()["sheets"][:4]:
                time.sleep(chance.uniform(0.5, 1.5) * pause)
                (candidate,) = sheet["candidates"]
                body = {"id": os.urandom(16).hex(), "question_id": candidate["question_id"], "value": 0.0, "seconds": pause}
                began = time.perf_counter()
                response = client.post("/api/census/answers", json=[body])
                times["answer, as the client sees it"].append(1000.0 * (time.perf_counter() - began))
                times["answer"].append(told(response))
                if candidate["question_id"] < 1 << 40:
                    answered.append(candidate["question_id"])


def with_pictures(folder: Path, annotators: int, seconds: float, look: float) -> list[Row]:
    """The same people, with pictures that nobody has seen before; they begin one after the other, within one look."""
    (folder / "large").mkdir()
    uris = large_jpeg(folder / "large", 2 * annotators * (int(seconds / look) + 10))
    half = len(uris) // 2
    workspace = Workspace.create(folder / "seen", collection_table([f"item {item}" for item in range(len(uris))], uri=uris))
    start_campaign(workspace, "census", [Question(number, number, half + number) for number in range(half)])
    tokens = [Annotators(workspace).add(f"annotator {number}") for number in range(annotators)]
    times: dict[str, list[float]] = {"answer": [], "answer, as the client sees it": [], "picture": []}
    ready: list[bool] = []
    with serving(folder / "seen", *QUIET) as url:
        ends = time.monotonic() + seconds
        threads = [threading.Thread(target=see, args=(url, token, ends, look, times, ready), daemon=True) for token in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    said = f"{annotators} people with cold pictures of 12 megapixels, {look:g} s for each pair"
    rows = [(f"{said}: {what}", *summary(found), f"{len(found):,}") for what, found in times.items() if found]
    return [*rows, (f"{said}: pairs whose pictures were there when their turn came", f"{sum(ready)} of {len(ready)}", "", "", "")]


def see(url: str, token: str, ends: float, look: float, times: dict[str, list[float]], ready: list[bool]) -> None:
    """One person who looks: pictures of the sheets that were taken ahead come meanwhile, on other connections."""
    chance = random.Random(token)
    fetched: dict[int, Future[float]] = {}
    with ThreadPoolExecutor(4) as several, httpx.Client(base_url=url, timeout=120.0) as client:
        client.post("/api/login", json={"token": token}).raise_for_status()

        def fetch(item: int) -> float:
            began = time.perf_counter()
            while (response := client.get(f"/images/{item}?side=512")).status_code == 503:  # the page tries again, too
                time.sleep(1.0)
            response.raise_for_status()
            times["picture"].append(1000.0 * (time.perf_counter() - began))
            return time.monotonic()

        time.sleep(chance.uniform(0, look))
        first = True
        while time.monotonic() < ends:
            sheets = client.get("/api/census/sheets?count=8").json()["sheets"]
            if not sheets:
                break
            for item in itertools.chain.from_iterable(map(shown_on, sheets)):
                if item not in fetched:
                    fetched[item] = several.submit(fetch, item)
            wanted = [fetched[item] for item in shown_on(sheets[0])]
            if not first:  # the very first pair of a person has had no time
                ready.append(all(one.done() for one in wanted))
            first = False
            wait(wanted)
            time.sleep(chance.uniform(0.5, 1.5) * look)
            body = {
                "id": os.urandom(16).hex(),
                "question_id": sheets[0]["candidates"][0]["question_id"],
                "value": 0.0,
                "seconds": look,
            }
            began = time.perf_counter()
            response = client.post("/api/census/answers", json=[body])
            times["answer, as the client sees it"].append(1000.0 * (time.perf_counter() - began))
            times["answer"].append(told(response))
        several.shutdown(cancel_futures=True)


def shown_on(sheet: dict[str, Any]) -> list[int]:
    """The items that a sheet shows."""
    return [sheet["anchor"]["item"], *(one["item"]["item"] for one in sheet["candidates"])]


def told(response: httpx.Response) -> float:
    """Milliseconds that the server says it took."""
    response.raise_for_status()
    return float(response.headers["server-timing"].partition("dur=")[2])


QUIET = ("--no-advance", "--gold", "0", "--repeats", "0")  # nothing but what is measured


@contextmanager
def serving(workspace: Path, *options: str) -> Iterator[str]:
    """`cccount review` on a free port, with further options, as long as it is wanted."""
    command = [sys.executable, "-m", "flows", "review", str(workspace), "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise SystemExit("the server has no standard output")
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


# -- the browser ----------------------------------------------------------------------------------------------------------------


def in_the_browser(folder: Path) -> list[Row]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return [("key to next pair in Chromium", "not measured: no Chromium here", "", "", "")]
    workspace = make_gallery(folder / "gallery", size=(640, 480))
    start_campaign(workspace, "census", pairs_of(48, 2 * BROWSER_ANSWERS + 40))
    rows = []
    with serving(folder / "gallery/workspace", *QUIET) as url, sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        for delay in (0, 100):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            times = keyed(page, url, delay)
            words = f"key to next pair drawn, {browser.browser_type.name} {browser.version.partition('.')[0]}"
            rows.append((f"{words}, {delay} ms to the server and back", *summary(times), f"{len(times)}"))
            page.close()
        browser.close()
    return rows


def keyed(page: Page, url: str, delay: int) -> list[float]:
    """Milliseconds from each key to the frame that shows the next pair, as the page measures them."""
    page.goto(url)
    page.locator("#stage img").first.wait_for()
    if delay:
        session: CDPSession = page.context.new_cdp_session(page)
        limits: dict[str, Any] = {"offline": False, "latency": delay, "downloadThroughput": -1, "uploadThroughput": -1}
        session.send("Network.emulateNetworkConditions", limits)
    page.wait_for_timeout(3000)
    for _ in range(BROWSER_ANSWERS):
        page.keyboard.press("d")
        page.wait_for_timeout(400)
    found: list[float] = page.evaluate("performance.getEntriesByName('answer to next sheet drawn').map(entry => entry.duration)")
    return found


# -- the machine --------------------------------------------------------------------------------------------------------------


def fsync_times(folder: Path, count: int = 200) -> list[float]:
    times = []
    with (folder / "probe").open("wb") as file:
        for _ in range(count):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(1000.0 * (time.perf_counter() - began))
    return times


def priority() -> str:
    """Say so if everything ran before the other work of the machine (`chrt -r 1 python -m benchmarks.review`)."""
    return ", all of this with real-time priority" if os.sched_getscheduler(0) in (os.SCHED_RR, os.SCHED_FIFO) else ""


def disk_of(folder: Path) -> str:
    """The device and file system of a folder: the longest mount point above it."""
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    above = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    device, place, kind = max(above, key=lambda mount: len(mount[1]))
    return f"{device} ({kind} on {place})"


def summary(times: list[float]) -> tuple[str, str, str]:
    ordered = sorted(times)
    high = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    return f"{statistics.median(ordered):.1f} ms", f"{high:.1f} ms", f"{ordered[-1]:.1f} ms"


if __name__ == "__main__":
    main()

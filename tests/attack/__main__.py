"""The long form: every attack at its full size, or some of them, and the table of docs/evidence/attack.md.

    python -m tests.attack                      # all of them, about five minutes
    python -m tests.attack half-open pictures   # these two; the rows of the others stay as they were

Each row says when it was measured and how busy the machine was: the times are worth something where nothing else runs.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import httpx
from PIL import Image

from benchmarks.gallery import large_jpeg, start_campaign
from benchmarks.pasting import paste, pasted
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.review.annotators import Annotators
from cccount_dist.sampling.logged import answers_table
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.workspace import Workspace
from tests.attack.server import answer_for, p99, review
from tests.attack.test_connections import HalfOpen
from tests.attack.test_images import CHILD, bomb
from tests.attack.test_pictures import looking
from tests.attack.test_votes import votes
from tests.flows.conftest import ROOT, environment
from tests.review.campaigns import make_folder, pairs, plain_desk

Row = tuple[str, str, str, bool]  # what was tried, what was seen, the bound, whether it holds
PAUSE = 0.15  # between the answers of one person: 400 a minute


def workspace_in(folder: Path, uris: Sequence[str] = ()) -> Workspace:
    items = 20_000
    uri = [*uris, *[None] * (items - len(uris))]
    workspace = Workspace.create(folder / "ws", collection_table([f"item {n}" for n in range(items)], uri=uri))
    start_campaign(workspace, "census", pairs(9_900))
    return workspace


def told(times: Sequence[float]) -> str:
    return f"p50 {statistics.median(times):.0f}, p99 {p99(times):.0f}, largest {max(times):.0f} ms of {len(times):,} answers"


def half_open(folder: Path, seconds: float) -> list[Row]:
    workspace_in(folder)
    with review(folder / "ws", log=folder / "log") as server:
        answer_for(server.url, 1.0, questions=range(9_900), pause=PAUSE)
        with HalfOpen(server.port, 2000) as attack:
            times = answer_for(server.url, seconds / 2, questions=range(50, 9_900), pause=PAUSE)
        size = server.log.stat().st_size
    what = f"2,000 half-open connections of 10 addresses held for {seconds / 2:.0f} s ({attack.opened:,} opened)"
    return [
        (f"{what}: an answer", told(times), "p99 < 300 ms", p99(times) < 300.0),
        ("the log meanwhile", f"{size:,} bytes", "< 100 KB", size < 100_000),
    ]


def pictures(folder: Path, seconds: float) -> list[Row]:
    (folder / "images").mkdir()
    workspace_in(folder, large_jpeg(folder / "images", 1500))
    with review(folder / "ws", log=folder / "log") as server:
        alone = answer_for(server.url, 3.0, questions=range(9_900), pause=PAUSE)
        with looking(server.url, 20, 1500) as statuses:
            time.sleep(1.0)
            times = answer_for(server.url, seconds / 2, questions=range(100, 9_900), pause=PAUSE)
    what = f"20 clients fetch cold 12-megapixel JPEGs ({statuses.count(200)} pictures in {seconds / 2:.0f} s)"
    return [
        ("an answer, nobody else there", told(alone), "", True),
        (f"{what}: an answer", told(times), "p99 ≤ 100 ms", p99(times) <= 100.0),
    ]


def many_votes(folder: Path, _: float) -> list[Row]:
    rows: list[Row] = []
    for count, people, asked in ((16_800, 1, 1), (100_000, 1, 16), (100_000, 6_000, 16)):
        made = make_folder(folder / f"{count}-{people}", pairs(asked))
        made.log.append_answers(answers_table(votes(count, people, pairs(asked))))
        took = timed(lambda made=made: Campaign(made).status())  # type: ignore[misc]
        what = f"{count:,} votes of {people:,} on {asked} questions are in the log: status"
        rows.append((what, f"{took:.1f} s", "< 10 s", took < 10.0))
    made = make_folder(folder / "mind", pairs(400), items=1000)
    desk = plain_desk(made)
    desk.answer("ana", [Response(number, 1.0, id=f"first-{number}") for number in range(400)])
    took = timed(lambda: [desk.answer("ana", [Response(n % 400, float(n // 400 % 2), id=f"again-{n}")]) for n in range(2000)])
    desk.close()
    rows.append(("one person changes 2,000 answers: all of it", f"{took:.1f} s", "", True))
    took = timed(lambda: Campaign(made).status())
    rows.append(("status afterwards", f"{took:.1f} s", "< 10 s", took < 10.0))
    return rows


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def resends(folder: Path, seconds: float, servers: int, clients: int) -> list[Row]:
    """People who send every answer twice, to one server or to two on the same workspace."""
    workspace = workspace_in(folder)
    tokens = [Annotators(workspace).add(f"person {number}") for number in range(clients)]
    sent: list[str] = []
    times: list[float] = []

    def person(number: int, urls: list[str], ends: float) -> None:
        with ExitStack() as stack:
            all_ = [stack.enter_context(httpx.Client(base_url=url, timeout=60.0)) for url in urls]
            for client in all_:
                client.post("/api/login", json={"token": tokens[number]}).raise_for_status()
            at = 0
            while time.monotonic() < ends:
                question = (number * 300 + at) % 9_900
                body = [{"id": os.urandom(12).hex(), "question_id": question, "value": 1.0}]
                for turn in range(2):
                    client = all_[(at + turn) % len(all_)]
                    began = time.perf_counter()
                    client.post("/api/census/answers", json=body).raise_for_status()
                    times.append(1000.0 * (time.perf_counter() - began))
                sent.append(str(body[0]["id"]))
                at += 1
                time.sleep(0.5)

    with ExitStack() as stack:
        started = [stack.enter_context(review(folder / "ws", "--no-advance", log=folder / f"log {n}")) for n in range(servers)]
        urls = [server.url for server in started]
        ends = time.monotonic() + seconds
        threads = [threading.Thread(target=person, args=(number, urls, ends), daemon=True) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    campaign = CampaignFolder(Workspace.open(folder / "ws"), "census")
    with campaign.journal() as journal:
        stored = journal.pending().column("answer_id").to_pylist() + campaign.log.answers().column("answer_id").to_pylist()
    lost, doubled = len(set(sent) - set(stored)), len(stored) - len(set(stored))
    what = f"{clients} clients for {seconds:.0f} s, every answer sent twice, {servers} server{'s' * (servers > 1)}"
    return [
        (f"{what}: answers lost, doubled", f"{lost}, {doubled} of {len(sent):,}", "0, 0", lost == doubled == 0),
        (f"{what}: an answer", told(times), "", True),
    ]


def images(folder: Path, _: float) -> list[Row]:
    rows: list[Row] = []
    for mode in ("I;16", "F", "RGBA", "P transparent", "CMYK", "RGB"):
        data = bomb(mode, 9_400)
        (folder / "bomb").write_bytes(data)
        (folder / "small").write_bytes(bomb(mode, 64))
        child = [sys.executable, "-c", CHILD, str(folder / "bomb"), str(folder / "small"), "3"]
        grew = int(subprocess.run(child, env=environment(), capture_output=True, text=True, check=True).stdout)
        what = f"an image of 88 million pixels, mode {mode}, {len(data) / 1024:,.0f} KB, decoded three times: memory"
        rows.append((what, f"{grew / 2**20:,.0f} MiB", "< 900 MiB", grew < 900 * 2**20))
    return rows


ATTACKS: dict[str, Callable[[Path, float], list[Row]]] = {
    "half-open": half_open,
    "pictures": pictures,
    "votes": many_votes,
    "images": images,
    "resends": lambda folder, seconds: resends(folder, seconds, 1, 30),
    "resends-two": lambda folder, seconds: resends(folder, seconds / 2, 2, 20),
}
HEAD = ("attack", "what is tried", "what is seen", "bound", "holds", "when")


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__, formatter_class=raw)
    parser.add_argument("attacks", nargs="*", help=f"{', '.join(ATTACKS)}; all of them if none is named")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the longest attack")
    parser.add_argument("--page", type=Path, default=ROOT / "docs/evidence/attack.md", help="the page with the table")
    options = parser.parse_args()
    if unknown := set(options.attacks) - set(ATTACKS):
        parser.error(f"there is no attack {', '.join(sorted(unknown))}: they are {', '.join(ATTACKS)}")
    Image.MAX_IMAGE_PIXELS = None
    good = True
    for name in options.attacks or ATTACKS:
        load = os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix="cccount-attack-") as folder:
            rows = ATTACKS[name](Path(folder), options.seconds)
        when = f"{datetime.now(UTC):%Y-%m-%d}, load {load:.1f} to {os.getloadavg()[0]:.1f}"
        for what, seen, _, holds in rows:
            sys.stdout.write(f"{'ok   ' if holds else 'WRONG'} {what}: {seen}\n")
        sys.stdout.flush()
        good &= all(holds for *_, holds in rows)
        keep(options.page, name, [(*row[:3], "yes" if row[3] else "**no**", when) for row in rows])
    return 0 if good else 1


def keep(page: Path, name: str, rows: Sequence[Sequence[str]]) -> None:
    """Put the rows of one attack into the table, in the place of those that it had; the page keeps the others."""
    found: dict[str, list[str]] = {one: [] for one in ATTACKS}
    for line in pasted(page, "attack")[2:]:
        found.get(line.split("|")[1].strip(), []).append(line)
    found[name] = [f"| {' | '.join((name, *row))} |" for row in rows]
    table = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    paste(page, "attack", [*table, *(line for lines in found.values() for line in lines)])


if __name__ == "__main__":
    sys.exit(main())

"""A server and `advance` that are killed at any moment, and a client that posts and retries. Run by `kills.py` and by tests.

The server is `cccount review` in a process of its own; a client posts answers over HTTP one by one, waits for the receipt, and
after a kill posts the same answer with the same id again. At every fifth start another process seals the journal into a part
meanwhile, and is killed too. `advance` is killed between and inside its steps while people answer a small campaign; then
questions, answers and estimates are compared with an undisturbed run.
"""

import math
import multiprocessing
import os
import random
import shutil
import time
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Timer

import httpx
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.servers import free_port
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.sampling.logged import questions_table
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.schema import ESTIMATES
from storage.settings import Goal, Settings
from storage.workspace import Workspace

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["benchmarks.warm", "benchmarks.killing"])
_QUESTIONS = 400
SETTINGS = Settings("count", "nis", 0, 0.95, "cosine", 1000, "2026-01-01T00:00:00+00:00", "0", {}, {})


@dataclass(frozen=True)
class Outcome:
    """What became of acknowledged answers."""

    kills: int
    acknowledged: int
    stored: int
    lost: int
    doubled: int
    seconds: float

    @property
    def line(self) -> str:
        """A row of the table."""
        cells = (f"{self.kills:,}", f"{self.acknowledged:,}", f"{self.stored:,}", str(self.lost), str(self.doubled))
        return f"| {' | '.join(cells)} |"


# -- the server -----------------------------------------------------------------------------------------------------------


def serve(root: str, port: int) -> None:
    """`cccount review`, until it is killed."""
    from flows.serving.options import ReviewOptions
    from flows.serving.review import review

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    review(root, ReviewOptions(port=port, advance=False, gold=0.0, repeats=0.0, annotator="ana"), as_json=True)


def seal(root: str) -> None:
    """What `cccount advance` does with the journal while the server goes on."""
    folder = CampaignFolder(Workspace.open(root), "c")
    with folder.lease() as lease, folder.journal() as journal:
        journal.seal(folder.log, guard=lease.check)
        folder.log.compact(most_parts=8)


def kill_the_server(root: Path, kills: int, *, seconds: float = math.inf, seed: int = 0) -> Outcome:
    """Post answers to a server that is killed again and again; everything is retried with the same id."""
    began, chance = time.monotonic(), random.Random(seed)
    questions = [Question(n, 2 * n, 2 * n + 1) for n in range(_QUESTIONS)]
    workspace = Workspace.create(root, collection_table([f"i{n}" for n in range(1000)]))
    folder = CampaignFolder(workspace, "c")
    folder.create(SETTINGS, Goal(20_000, "people"))
    folder.log.append_questions(questions_table(questions, number=0, after=0))
    acknowledged: list[str] = []
    port, killed = free_port(), 0
    usual = 0.05  # seconds of an answer: about four are given between two kills, however busy the machine is
    while killed < kills and time.monotonic() - began < seconds:
        victims = [CONTEXT.Process(target=serve, args=(str(root), port), daemon=True)]
        if killed % 5 == 0:
            victims.append(CONTEXT.Process(target=seal, args=(str(root),), daemon=True))
        for victim in victims:
            victim.start()
        if killed % 10:
            _wait_for(port)  # most kills are to hit a server at work, some its start
        killer = Timer(chance.expovariate(1 / (4 * usual)), _kill, victims)
        killer.start()
        sent = time.monotonic()
        given = _post_on(port, len(acknowledged))
        usual += 0.05 * ((time.monotonic() - sent) / (len(given) + 1) - usual)
        acknowledged += given
        killer.join()
        killed += 1
    seal(str(root))
    stored = folder.log.answers().column("answer_id").to_pylist()
    assert list(folder.log.problems()) == []
    lost, doubled = len(set(acknowledged) - set(stored)), len(stored) - len(set(stored))
    return Outcome(killed, len(set(acknowledged)), len(stored), lost, doubled, time.monotonic() - began)


def _post_on(port: int, number: int) -> list[str]:
    """Answer one question after the other until the server is gone; return the ids that it named in a receipt."""
    acknowledged: list[str] = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
        try:
            while True:
                name = f"answer-{number + len(acknowledged)}"
                body = {"id": name, "question_id": (number + len(acknowledged)) % _QUESTIONS, "value": 1.0, "seconds": 1.0}
                response = client.post("/api/c/answers", json=[body]).raise_for_status().json()
                if name not in [*response["stored"], *response["known"]]:
                    raise RuntimeError(f"the server refused an answer: {response}")
                acknowledged.append(name)
        except httpx.TransportError:
            return acknowledged  # nobody knows whether the last one is stored: it is sent again to the next server


def _wait_for(port: int) -> None:
    end = time.monotonic() + 60.0
    while time.monotonic() < end:
        try:
            httpx.get(f"http://127.0.0.1:{port}/api/session", timeout=60.0).raise_for_status()
        except httpx.TransportError:
            time.sleep(0.005)
        else:
            return
    raise RuntimeError("the server did not start within a minute")


# -- advance --------------------------------------------------------------------------------------------------------------


def step(root: str, campaign: str) -> None:
    """One step, as `cccount advance` takes it."""
    from flows.stages.campaigns import advance_campaign

    os.environ["NO_COLOR"] = "1"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    advance_campaign(root, campaign)


def answer_some(root: str, campaign: str, labels: NDArray[np.int64], count: int) -> int:
    """People answer the first open questions, through a file or the page; ids follow from the questions."""
    opened = Campaign.open(root, campaign)
    some = opened.ledger.pending(opened.questions)[:count]
    return opened.tell(Response(q.id, float(labels[q.u] == labels[q.v]), "ana", 1.0, f"answer {q.id}") for q in some)


def run_campaign(
    root: str, campaign: str, labels: NDArray[np.int64], *, budget: int, kills: int, until: float = math.inf, seed: int = 0
) -> int:
    """Answer a campaign to its end, with `kills` kills of `advance` on the way; return how many there were."""
    chance = random.Random(seed)
    Campaign.create(root, campaign, "count", method="placing", budget=budget, seed=3).advance(to_the_end=True)
    killed, rounds, at_once = 0, 0, 10
    durations = [0.2]
    while answer_some(root, campaign, labels, at_once):
        rounds += 1
        wanted = min(kills, round(kills * rounds * at_once / budget)) - killed
        while wanted > 0 and time.monotonic() < until:
            child = CONTEXT.Process(target=step, args=(root, campaign), daemon=True)
            child.start()
            child.join(chance.uniform(0.0, 1.1 * durations[-1]))
            if child.is_alive():
                _kill(child)
                killed += 1
                wanted -= 1
            elif child.exitcode != 0:
                raise RuntimeError(f"advance ended with {child.exitcode}")
        began = time.monotonic()
        child = CONTEXT.Process(target=step, args=(root, campaign), daemon=True)
        child.start()
        child.join()
        if child.exitcode != 0:
            raise RuntimeError(f"advance ended with {child.exitcode}")
        durations.append(time.monotonic() - began)
    return killed


def content(root: str, campaign: str) -> tuple[pa.Table, pa.Table, list[dict[str, object]]]:
    """A campaign without what the clock says."""
    folder = CampaignFolder(Workspace.open(root), campaign)
    estimates = folder.read_table(ESTIMATES).drop_columns(["refreshed_at"]).to_pylist()
    return folder.log.questions().drop_columns(["asked_at"]), folder.log.answers().drop_columns(["answered_at"]), estimates[-1:]


def kill_advance(
    root: Path, kills: int, *, budget: int, labels: NDArray[np.int64], seconds: float = math.inf
) -> tuple[int, bool, int]:
    """Return kills, whether the campaign ended as an undisturbed one, and its answers."""
    # Two copies: campaigns of one workspace share what people say, and the second would have nothing left to ask.
    whole, disturbed = (str(shutil.copytree(root, root.with_name(name))) for name in ("whole", "killed"))
    run_campaign(whole, "c", labels, budget=budget, kills=0)
    killed = run_campaign(disturbed, "c", labels, budget=budget, kills=kills, until=time.monotonic() + seconds)
    return (killed, same_content(whole, disturbed, "c"), len(content(disturbed, "c")[1]))


def same_content(first: str, second: str, campaign: str) -> bool:
    """Whether questions, answers and the last estimate are the same, bit for bit, but for times."""
    (questions, answers, estimate), (*logs, other) = content(first, campaign), content(second, campaign)
    return bool(questions.equals(logs[0]) and answers.equals(logs[1]) and estimate == other)


def _kill(*processes: BaseProcess) -> None:
    for process in processes:
        process.kill()
        process.join()

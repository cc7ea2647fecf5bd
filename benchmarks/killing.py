"""A server and `advance` that are killed at any moment, and a client that posts and retries. Run by `kills.py` and by tests.

The server is a desk in a process of its own; a client posts answers to it one by one, waits for the receipt, and after a kill
posts the same answer with the same id again. Every few starts the server also seals its journal into a part. `advance` is killed
between and inside its steps while people answer a small campaign; then questions, answers and estimates are compared with an
undisturbed run.
"""

import math
import multiprocessing
import os
import random
import shutil
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign import Campaign, Response
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.logged import questions_table
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
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


def serve(root: str, pipe: Connection, seals: bool) -> None:  # noqa: FBT001  a process takes plain arguments
    """A desk that takes one answer after another until it is killed."""
    desk = Desk(Workspace.open(root), "c", gold=0.0, repeats=0.0)
    pipe.send("ready")
    if seals:
        with desk.folder.lease() as lease, desk.folder.journal() as journal:
            journal.seal(desk.folder.log, guard=lease.check)
            desk.folder.log.compact(most_parts=8)
    while True:
        receipt = desk.answer("ana", [pipe.recv()])
        pipe.send([*receipt.stored, *receipt.known])


def kill_the_server(root: Path, kills: int, *, seconds: float = math.inf, seed: int = 0) -> Outcome:
    """Post answers to a server that is killed again and again; everything is retried with the same id."""
    began, chance = time.monotonic(), random.Random(seed)
    questions = [Question(n, 2 * n, 2 * n + 1) for n in range(_QUESTIONS)]
    workspace = Workspace.create(root, collection_table([f"i{n}" for n in range(1000)]))
    folder = CampaignFolder(workspace, "c")
    folder.create(SETTINGS, Goal(20_000, "people"))
    folder.log.append_questions(questions_table(questions, number=0, after=0))
    acknowledged: list[str] = []
    number = killed = 0
    usual = 0.02  # seconds of an answer: about four are given between two kills, however busy the machine is
    for kill in range(kills):
        if time.monotonic() - began > seconds:
            break
        killed += 1
        ours, theirs = CONTEXT.Pipe()
        server = CONTEXT.Process(target=serve, args=(str(root), theirs, kill % 5 == 0), daemon=True)
        server.start()
        theirs.close()
        if kill % 10:
            ours.recv()  # most kills are to hit a server at work, some its start
        due = time.monotonic() + chance.expovariate(1 / (4 * usual))
        while (sent := time.monotonic()) < due:
            ours.send(Response(number % _QUESTIONS, 1.0, id=f"answer {number}"))
            if not ours.poll(max(0.0, due - time.monotonic())):
                break  # killed before the receipt: nobody knows whether it is stored, so it is sent again
            said = ours.recv()
            if said == "ready":  # the receipt is still to come: without it every later one would be taken for the one before
                if not ours.poll(max(0.0, due - time.monotonic())):
                    break
                said = ours.recv()
            if said:
                acknowledged += said
                number += 1
                usual += 0.05 * (time.monotonic() - sent - usual)
        _kill(server)
        ours.close()
    with folder.lease() as lease, folder.journal() as journal:
        journal.seal(folder.log, guard=lease.check)
    stored = folder.log.answers().column("answer_id").to_pylist()
    assert list(folder.log.problems()) == []
    lost, doubled = len(set(acknowledged) - set(stored)), len(stored) - len(set(stored))
    return Outcome(killed, len(set(acknowledged)), len(stored), lost, doubled, time.monotonic() - began)


# -- advance --------------------------------------------------------------------------------------------------------------


def step(root: str, campaign: str) -> None:
    """One step, as `cccount advance` takes it."""
    from flows.campaign import advance

    os.environ["NO_COLOR"] = "1"
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    advance(root, campaign)


def answer_some(root: str, campaign: str, labels: NDArray[np.int64], count: int) -> int:
    """People answer the first open questions, through a file or the page; ids follow from the questions."""
    opened = Campaign.open(root, campaign)
    some = opened.ledger.pending(opened.questions)[:count]
    return opened.tell(Response(q.id, float(labels[q.u] == labels[q.v]), "ana", 1.0, f"answer {q.id}") for q in some)


def run_campaign(
    root: str, campaign: str, labels: NDArray[np.int64], *, budget: int, kills: int, until: float = math.inf, seed: int = 0
) -> int:
    """Answer a campaign to its end, with `kills` kills of `advance` on the way; return how many there were."""
    from flows.counting import CountOptions, count

    chance = random.Random(seed)
    count(root, campaign, CountOptions(method="placing", budget=budget, seed=3))
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
    estimates = folder.estimates().drop_columns(["refreshed_at"]).to_pylist()
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


def _kill(process: BaseProcess) -> None:
    if process.pid is not None:
        os.kill(process.pid, signal.SIGKILL)
    process.join()

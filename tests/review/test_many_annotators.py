"""Twenty people at once: no question in two hands unless it wants two, and none is left over because somebody walked away."""

import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.review.desk import Desk
from tests.review.campaigns import make_folder, page, pairs, plain_desk, reply

QUESTIONS = 240


@pytest.mark.parametrize("overlap", [1, 2])
def test_twenty_people_answer_everything_and_none_is_held_twice(tmp_path: Path, overlap: int) -> None:
    questions = [*pairs(QUESTIONS - 60), *(q for n in range(10) for q in page(n, QUESTIONS - 60 + 6 * n, 6))]
    folder = make_folder(tmp_path, questions, overlap=overlap)
    desks = [plain_desk(folder, lease_seconds=0.5) for _ in range(2)]  # two servers on one campaign
    failures: list[str] = []
    end = time.monotonic() + 60.0

    def sit(desk: Desk, name: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        while time.monotonic() < end:
            sheets = desk.take(name, 4)
            failures.extend(twice(desk, overlap))
            if not sheets:
                if done(desk):
                    return
                time.sleep(0.05)
            elif rng.random() < 0.1:
                time.sleep(0.6)  # a telephone call: the leases run out
            else:
                desk.answer(name, reply(sheets[:3], 1.0))

    people = [threading.Thread(target=sit, args=(desks[n % 2], f"person {n}", n)) for n in range(20)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert not failures, failures[0]
    ledger = plain_desk(folder)._reading.ledger
    votes = Counter(len({vote.annotator for vote in ledger.votes(q.id)}) for q in questions)
    assert min(votes) >= overlap, "everything was answered by enough people"
    # Who was called away answers late: that is a vote more, never a vote lost.
    assert sum(count for number, count in votes.items() if number > overlap) < QUESTIONS // 3


def twice(desk: Desk, overlap: int) -> list[str]:
    holders = Counter(question for sheet in desk._handouts.in_hands() for question, _ in sheet.candidates)
    return [f"question {question} is in {count} hands" for question, count in holders.items() if count > overlap]


def done(desk: Desk) -> bool:
    with desk._lock:
        return not desk._reading.ledger.pending(desk._reading.questions)

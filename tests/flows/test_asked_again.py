"""How often somebody is asked about the same two pictures: confirmations show others, and go to other people first."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.ledger import REPEAT
from cccount_dist.sampling.logged import questions_of
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, count


def test_with_4_percent_simulated_errors_no_pair_is_asked_eight_times(workspace: Path) -> None:
    count(str(workspace), "c", CountOptions(budget=400, oracle="labels", error_rate=0.04, seed=3))
    questions = questions_of(CampaignFolder(Workspace.open(workspace), "c").log.questions())
    times = Counter((min(q.u, q.v), max(q.u, q.v)) for q in questions)
    assert max(times.values()) <= 2
    confirmed = [q for q in questions if q.purpose.startswith("confirm")]
    again = sum(count - 1 for count in times.values())
    assert confirmed
    assert again < len(confirmed) / 2, "most confirmations show other pictures"


def test_of_three_people_nobody_is_asked_the_same_pair_twice(workspace: Path, labels: NDArray[np.int64]) -> None:
    """With 4 % wrong answers, in turns; one pair had been put to one person four times."""
    people, random = ("ana", "ben", "cai"), np.random.default_rng(1)
    Campaign.create(str(workspace), "c", "count", budget=400).advance()
    said: Counter[tuple[str, int, int]] = Counter()
    for turn in range(6):
        with closing(Desk(Workspace.open(workspace), "c", gold=0.0, repeats=0.0)) as desk:
            for name in people:  # all three have sheets in their hands
                desk.take(name, 4)
            for name in people:
                for sheet in desk.take(name, 5):
                    for cell in sheet.candidates:
                        pair = min(sheet.anchor, cell.item), max(sheet.anchor, cell.item)
                        right = labels[pair[0]] == labels[pair[1]]
                        value = float(right != (random.random() < 0.04))
                        desk.answer(name, [Response(cell.question_id, value, name, id=f"{turn}-{name}-{cell.question_id}")])
                        said[name, *pair] += 1
        Campaign.open(str(workspace), "c").advance()
    assert sum(said.values()) > 40
    assert max(said.values()) == 1


def test_a_declared_repeat_comes_once(workspace: Path, labels: NDArray[np.int64]) -> None:
    Campaign.create(str(workspace), "c", "count", method="nis", budget=400).advance()
    asked: Counter[tuple[int, int]] = Counter()
    with closing(Desk(Workspace.open(workspace), "c", gold=0.0, repeats=0.5)) as desk:
        for _ in range(15):
            for sheet in desk.take("ana", 8):
                (cell,) = sheet.candidates
                pair = min(sheet.anchor, cell.item), max(sheet.anchor, cell.item)
                asked[pair] += 1
                value = float(labels[pair[0]] == labels[pair[1]])
                desk.answer("ana", [Response(cell.question_id, value, "ana")])
        rows = Campaign.open(str(workspace), "c").ledger.rows()
    assert any(row.source == REPEAT for row in rows)
    assert max(asked.values()) == 2

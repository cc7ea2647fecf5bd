"""A campaign that asks sheets: they lie ready for everybody, about different clusters, and tell how good the groups are."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.advancing import advance as advance_to_the_end
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.resident import Resident
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.quality import Bounds, Quality
from cccount_dist.clustering.result import Grouping
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.methods import METHODS, Method
from cccount_dist.sampling.types import Answer, Question
from storage.campaigns import CampaignFolder
from tests.flows.calls import ClusterOptions, advance, cluster, open_campaign, verify, write_reports

CELLS = 6
PEOPLE = ("ana", "ben", "cleo")


class InRows:
    """Asks one sheet about each item in turn, with the items behind it. Memory and time: the answers."""

    def __init__(self, items: int) -> None:
        self._items = items
        self._sheets = self._asked = self._told = 0

    def ask(self, limit: int) -> Sequence[Question]:
        found: list[Question] = []
        for _ in range(limit):
            anchor = self._sheets % self._items
            cells = [(anchor + step) % self._items for step in range(1, CELLS + 1)]
            found += [Question(self._asked + place, anchor, v, "sheet", page=self._sheets) for place, v in enumerate(cells)]
            self._sheets += 1
            self._asked += CELLS
        return found

    def tell(self, answers: Sequence[Answer]) -> None:
        self._told += len(answers)

    def result(self) -> Grouping:
        right = Bounds(0.91, 0.86, 0.95) if self._told >= 5 * CELLS else None
        quality = Quality(
            right, right, None, self._told // CELLS, least_sure=(3, 1, 2), doubtful=(0,), hour=0.02 if right else None
        )
        return Grouping(np.arange(self._items) % 10, quality=quality, count=right and Bounds(10.2, 9.7, 11.4))

    @property
    def done(self) -> bool:
        return False


def build(inputs: GroupingInputs, _: object) -> InRows:
    return InRows(len(inputs.vectors))


@pytest.fixture(autouse=True)
def in_rows() -> Iterator[None]:
    method = Method("in-rows", "cluster", "Sheets about one item after the other.", build, needs=("vectors",), measures=True)
    with METHODS.having("cluster in-rows", method):
        yield


def opened(workspace: Path) -> CampaignFolder:
    return open_campaign(str(workspace), "c", ClusterOptions(method="in-rows", budget=1000))


def test_eight_sheets_lie_ready_for_each_of_three_people_about_different_clusters(
    workspace: Path, labels: NDArray[np.int64]
) -> None:
    folder = opened(workspace)
    resident = Resident(str(workspace), "c")
    desk = Desk(folder.workspace, "c", gold=0.0, repeats=0.0)
    for name in PEOPLE:
        desk.take(name)
    for _ in range(2):  # the first step learns that it is sheets
        resident.supply(AtTheDesk(*desk.attendance()))
    for turn in range(5):
        held = {name: desk.take(name, 8) for name in PEOPLE}
        assert [len(sheets) for sheets in held.values()] == [8, 8, 8], f"in turn {turn}, whatever was answered"
        anchors = np.array([sheet.anchor for sheets in held.values() for sheet in sheets])
        known = Campaign.open(str(workspace), "c").ledger.constraints
        assert len(set(known.names(anchors).tolist())) == len(anchors)
        for name, sheets in held.items():
            said = [
                Response(c.question_id, float(labels[c.item] == labels[sheets[0].anchor]), seconds=2.0)
                for c in sheets[0].candidates
            ]
            assert len(desk.answer(name, said).stored) == CELLS
        resident.supply(AtTheDesk(*desk.attendance()))
    assert verify(str(workspace))["ok"]


def test_what_random_sheets_say_of_the_groups_is_in_json_progress_and_report_once_it_is_honest(workspace: Path) -> None:
    place, folder = str(workspace), opened(workspace)
    first = advance(place, "c")
    assert first["quality"] is None
    assert first["human_seconds"] == 0.0
    desk = Desk(folder.workspace, "c", gold=0.0, repeats=0.0)
    standing = desk.standing()
    assert (standing.quality, standing.random_pages) == (None, 0), "too few for an honest interval"
    for sheet in desk.take("ana", 8):
        desk.answer("ana", [Response(c.question_id, 0.0, seconds=2.0, clicks=1) for c in sheet.candidates])
    reached = advance(place, "c")
    quality = reached["quality"]
    assert (quality["right"], quality["low"], quality["high"], quality["recall"]) == (0.91, 0.86, 0.95, None)
    assert (quality["random_pages"], quality["hour"], quality["least_sure"], quality["doubtful"]) == (8, 0.02, [3, 1, 2], [0])
    assert (reached["glances"], reached["count"]["estimate"]) == (8, 10.2)
    costs = desk.standing().effort.costs
    assert costs is not None
    assert (costs.pairs, costs.pages) == (0, 8)
    assert 12.0 < costs.whole_page < 14.0, "each took 12 s, where 15 were expected"
    assert reached["human_seconds"] == pytest.approx(8 * costs.whole_page)
    told = desk.standing().quality
    assert told is not None
    assert (told.precision, told.least_sure) == (0.91, [3, 1, 2])
    (file,) = write_reports(place, "c")["files"]
    page = Path(file).read_text()
    assert "About 91 % of the items are in the right group (86 to 95 %)" in page
    assert "Measured on 8\N{NO-BREAK SPACE}random pages" in page


def test_labels_can_answer_sheets_and_take_as_long_as_is_assumed(workspace: Path) -> None:
    reached = cluster(str(workspace), "c", ClusterOptions(method="in-rows", budget=50, oracle="labels"))
    assert reached["human_seconds"] == 30.0 * reached["glances"] > 0


def test_progress_counts_sheets_as_the_budget_does(workspace: Path) -> None:
    """Before: 0 of 50 answers, to the end."""
    shown: list[int] = []

    @contextmanager
    def noting(_what: str, _total: int, _unit: str) -> Iterator[Callable[[int], None]]:
        yield shown.append

    folder = open_campaign(str(workspace), "c", ClusterOptions(method="in-rows", budget=50, oracle="labels"))
    advance_to_the_end(folder, to_the_end=True, progress=noting)
    assert shown[-1] == 50
    assert shown == sorted(shown)


def test_labels_that_take_over_from_people_answer_whole_pages(workspace: Path) -> None:
    """Before: as many cells of an open page as the budget had answers left."""
    folder = opened(workspace)
    advance(str(workspace), "c")
    cluster(str(workspace), "c", ClusterOptions(method="in-rows", budget=2, oracle="labels"))
    campaign = Campaign(folder)
    answered = Counter(q.page for q in campaign.questions if campaign.ledger.is_answered(q.id))
    assert set(answered.values()) == {CELLS}
    assert len(answered) == 1, "the first one uses the budget up"

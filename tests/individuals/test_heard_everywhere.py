"""What people say by hand reaches the estimate of a count and every other campaign."""

from pathlib import Path
from typing import Any

import numpy as np

from cccount_dist.campaign.adoption import OtherCampaign
from cccount_dist.counting.corrected import corrected
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.sided import SidedCount
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import Ledger, is_flag
from cccount_dist.sampling.sided import Part
from tests.individuals.made import add_campaign, make_census


def test_no_animal_in_one_campaign_is_none_in_the_others_and_goes_round_only_once(tmp_path: Path) -> None:
    first = make_census(tmp_path / "ws")
    told = first.not_an_animal(3, annotator="ana")
    with first.folder.journal() as journal:
        journal.seal(first.folder.log)
    other = OtherCampaign(first.folder)
    (row,) = other.new_answers()
    assert is_flag(row.source)
    ledger = Ledger()
    ledger.take([row])
    assert ledger.flagged == {3}
    second = add_campaign(first.workspace, "second", [0] * 6)
    second.campaign.record([row])
    with second.folder.journal() as journal:
        journal.seal(second.folder.log)
    assert OtherCampaign(second.folder).new_answers() == []
    first.undo(told, annotator="ana")
    with first.folder.journal() as journal:
        journal.seal(first.folder.log)
    ledger.take(other.new_answers())
    assert ledger.flagged == set()


def test_a_merge_by_hand_lowers_the_estimate_and_a_split_raises_it() -> None:
    clusters = [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]
    told = CountResult(4.0, 4.0, 4.0, 0.95, 10, 20, certain_low=4.0)
    assert corrected(told, clusters, [(0, 2, 1.0)], 10) == told
    merged = corrected(told, clusters, [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0), (0, 4, 1.0), (0, 99, 0.0)], 10)
    assert (merged.estimate, merged.low, merged.high, merged.certain_low) == (3.0, 3.0, 3.0, 3.0)
    parted = corrected(told, clusters, [(0, 1, 0.0)], 10)
    assert (parted.estimate, parted.certain_low, parted.sizes) == (5.0, 5.0, {1: 1, 2: 3, 3: 1})


class _Told:
    """A side that is told what it found."""

    done = True

    def __init__(self, clusters: list[list[int]]) -> None:
        self._clusters = clusters

    def ask(self, limit: int) -> list[object]:
        return []

    def tell(self, answers: object) -> None: ...

    def partition(self) -> list[list[int]]:
        return self._clusters

    def result(self) -> CountResult:
        seen = float(len(self._clusters))
        return CountResult(seen, seen - 1, seen + 2, 0.95, 4, 4, certain_low=seen)


def test_the_errors_of_two_sides_add_up_as_those_of_independent_counts_do() -> None:
    told: list[Any] = [_Told([[0], [1], [2]]), _Told([[3], [4]]), None]
    items = [np.array([0, 1, 2]), np.array([3, 4]), np.array([5])]
    both = SidedCount([Part(side, *of) for side, *of in zip(("left", "right", "other"), items, told, strict=True)], 6, 0.95)
    found = both.result()
    assert found.estimate == 6.0
    assert (round(found.low, 3), round(found.high, 3)) == (4.586, 8.828)
    assert (found.details["side: left"], found.details["side: right_high"], found.details["side: other"]) == (3.0, 4.0, 1.0)
    assert both.partition() == [[0], [1], [2], [3], [4], [5]]
    assert both.kept_to(Constraints(), [(0, 1, 1.0), (2, 3, 1.0)]).estimate == 5.0


def test_a_side_of_few_pictures_is_known_when_they_are_settled_and_groups_that_were_searched_for_move_by_one() -> None:
    class Silent(_Told):
        def result(self) -> CountResult:
            return CountResult(None, 1.0, 2.0, 0.95, 0, 0)

    both = SidedCount([Part("left", np.array([0, 1]), Silent([])), Part("right", np.array([2]), None)], 3, 0.95)  # type: ignore[arg-type]
    known = Constraints()
    assert both.kept_to(known).estimate is None
    known.add(0, 1, 1.0, "a")
    assert (both.kept_to(known).estimate, both.kept_to(known).low, both.kept_to(known).high) == (2.0, 2.0, 2.0)
    searched = CountResult(5.0, 4.0, 9.0, 0.95, 10, 20, certain_low=4.0, details={"drawn": 6.0})
    fewer = corrected(searched, [[0, 1], [2], [3], [4]], [(1, 2, 1.0)], 100)
    assert (fewer.estimate, fewer.low, fewer.high, fewer.certain_low) == (4.0, 3.0, 8.0, 3.0)

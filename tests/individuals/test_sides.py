"""What pictures say about sides goes in, and what both sides of an animal are worth is said with its bounds."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.census import MadeCensus, plan_census
from cccount_dist.embedding.readers.sides import with_sides
from cccount_dist.individuals.sidecount import Meetings, animals, meetings_of
from cccount_dist.individuals.sides import of_census, set_side
from cccount_dist.sampling.sided import side_lists
from storage.collection import LEFT, RIGHT, collection_table
from storage.errors import InputError
from tests.individuals.made import make_census


def groups_by_side(census: MadeCensus, season: str) -> list[Meetings]:
    """What a perfect grouping knows that joins sides only where both were met at once."""
    met: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for photo in census.of(season):
        met[photo.animal][photo.encounter].add(photo.side)
    found: list[Meetings] = []
    for encounters in met.values():
        left, right, both = meetings_of(encounters.values())
        found += [(left, right, both)] if both else [one for one in ((left, 0, 0), (0, right, 0)) if any(one)]
    return found


def test_the_bounds_hold_always_and_the_interval_as_often_as_it_says() -> None:
    """The long form, 100 runs in each of six settings, is `make sides`."""
    right = 0
    for seed in range(100, 112):
        census = plan_census(40, encounters=3.0, stations=3, seed=seed)
        truth = len(census.animals("season1"))
        found = animals(groups_by_side(census, "season1"), seed=seed)
        assert found.certain_low <= truth <= found.certain_high
        assert found.estimate is not None
        low, high = float(found.low or 0), float(found.high or 0)
        assert found.certain_low <= low <= found.estimate <= high <= found.certain_high
        right += low <= truth <= high
    assert right >= 9  # of 12 at 95 %: fewer than once in 400


def test_a_count_that_joins_no_sides_is_nearly_double() -> None:
    met: list[Meetings] = [(2, 0, 0)] * 30 + [(0, 2, 0)] * 30
    found = animals(met)
    assert (found.certain_low, found.certain_high, found.joined, found.estimate) == (30, 60, 0, None)


def test_lists_of_one_side_are_full_and_hold_nobody_else() -> None:
    rng = np.random.default_rng(0)
    neighbors = np.array([rng.permutation(np.delete(np.arange(60), i))[:20] for i in range(60)], np.int32)
    own = np.arange(60) % 3 > 0
    lists, (beside,) = side_lists(neighbors, own, (neighbors.astype(np.float32), -5.0))
    for item in range(60):
        row = lists[item]
        if not own[item]:
            assert (row == -1).all()
            continue
        assert (row >= 0).all()
        assert own[row].all()
        assert item not in row
        assert len(set(row.tolist())) == len(row)
        there = [n for n in neighbors[item].tolist() if own[n]][: len(row)]
        assert row[: len(there)].tolist() == there
        assert beside[item][: len(there)].tolist() == there


def test_sides_come_from_names_and_a_picture_of_both_is_two_items_of_one_animal() -> None:
    names = ["a_L.jpg", "b_R.jpg", "c.jpg", "d.jpg"]
    table = collection_table(names, side=[None, None, "both", None], uri=["/1", "/2", "/3", "/4"])
    found = with_sides(table, r"_([LR])\.")
    assert found.column("id").to_pylist() == ["a_L.jpg", "b_R.jpg", "c.jpg", "c.jpg#right", "d.jpg"]
    assert found.column("side").to_pylist() == [LEFT, RIGHT, LEFT, RIGHT, None]
    assert found.column("item").to_pylist() == [0, 1, 2, 3, 4]
    with pytest.raises(InputError, match="--side-from x: no id names a side"):
        with_sides(collection_table(["c.jpg"]), "x")


def test_a_side_is_set_and_taken_back_and_the_list_says_it(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    before = set_side(individuals.workspace, [0, 1, 2], LEFT)
    assert before == {0: None, 1: None, 2: None}
    set_side(individuals.workspace, [3, 4], RIGHT)
    assert individuals.census().find(1).sides == (LEFT,)
    figures = of_census(individuals.census(), individuals.workspace.collection().sides())
    assert {name: one.estimate for name, one in figures.of_side.items()} == {"left": 1, "right": 1, "no side": 1}
    assert (figures.least, figures.most, figures.joined) == (1, 3, 0)
    individuals.merge(1, [2], annotator="ana")
    figures = of_census(individuals.census(), individuals.workspace.collection().sides())
    assert (figures.least, figures.most, figures.joined) == (1, 2, 1)
    with pytest.raises(InputError, match="one of the sides left, right, other, not 'up'"):
        set_side(individuals.workspace, [0], "up")

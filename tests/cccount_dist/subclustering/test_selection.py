"""The chosen swap is the best one, the cost never rises, overlap never rises, R grows when stuck."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.similarity.metrics import prepare
from cccount_dist.subclustering.candidates import Candidates, candidate_order
from cccount_dist.subclustering.distances import nearest_items, nearest_items_on_all_cores, unit, whole_rows
from cccount_dist.subclustering.passive import Options, subcluster
from cccount_dist.subclustering.selection import Selection
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs
from tests.cccount_dist.subclustering.reference import best_change, cost_of


def collection(seed: int, items: int = 60, *, duplicates: bool = False) -> NDArray[np.float32]:
    x = np.random.default_rng(seed).standard_normal((items, 3)).astype(np.float32)
    if duplicates:
        x[items // 2 : items // 2 + 8] = x[:8]
    return prepare(x, "cosine")


def candidates_of(vectors: NDArray[np.float32], count: int, size: int, seed: int = 0) -> Candidates:
    return Candidates(vectors, candidate_order(np.arange(len(vectors)), seed), count, size)


def exact(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    return whole_rows(vectors).numbers.astype(np.float64) / unit(vectors.shape[1])


def answers(seed: int, items: NDArray[np.int64], count: int) -> Constraints:
    """Answers about candidates that do not contradict each other: items are the same if their numbers are, modulo 7."""
    known = Constraints()
    pairs = np.random.default_rng(seed).choice(items, (count, 2))
    for number, (u, v) in enumerate(pairs.tolist()):
        if u != v:
            known.add(u, v, float(u % 7 == v % 7), str(number))
    return known


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**20), st.booleans(), st.integers(0, 30), st.integers(1, 5), st.floats(0.05, 2.0))
def test_every_swap_is_the_best_one_and_the_cost_never_rises(
    seed: int, duplicates: bool, answered: int, size: int, scale: float
) -> None:
    vectors = collection(seed, 40, duplicates=duplicates)
    candidates = candidates_of(vectors, 14, size, seed)
    known = answers(seed, candidates.items, answered)
    selection = Selection(candidates, known, np.arange(4), scale)
    for item in candidates.items.tolist():
        selection.relate(item, item)
    points = exact(vectors)
    for _ in range(12):
        before, overlap = selection.cost(), selection.overlap()
        assert before == pytest.approx(cost_of(candidates, known, selection.chosen.tolist(), scale, points), abs=1e-6)
        expected = best_change(candidates, known, selection.chosen.tolist(), scale, points)
        swapped = selection.swap()
        assert swapped == (expected is not None)
        if expected is None:
            break
        after = selection.cost()
        assert after <= before
        assert selection.overlap() <= overlap
        assert (after[0] - before[0], after[1] - before[1]) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**20), st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), min_size=1, max_size=25))
def test_answers_one_by_one_leave_the_same_costs_as_all_at_once(seed: int, pairs: list[tuple[int, int]]) -> None:
    vectors = collection(seed, 50)
    candidates = candidates_of(vectors, 20, 4, seed)
    known = Constraints()
    gradual = Selection(candidates, known, np.arange(5), 0.5)
    for number, (a, b) in enumerate(pairs):
        u, v = int(candidates.items[a]), int(candidates.items[b])
        if u != v:
            known.add(u, v, float(u % 5 == v % 5), str(number))
            gradual.relate(u, v)
    at_once = Selection(candidates, known, np.arange(5), 0.5)
    for a, b in pairs:
        at_once.relate(int(candidates.items[a]), int(candidates.items[b]), revised=True)
    assert gradual.cost() == at_once.cost()
    assert gradual.separate() == at_once.separate()
    assert gradual.chosen.tolist() == at_once.chosen.tolist()
    gradual.optimise()
    at_once.optimise()
    assert gradual.chosen.tolist() == at_once.chosen.tolist()


def test_the_restricted_set_grows_when_all_candidates_are_of_known_classes() -> None:
    vectors, labels = blobs((30, 30, 3), noise=0.2)
    order = np.concatenate([np.flatnonzero(labels < 2)[:12], np.setdiff1d(np.arange(63), np.flatnonzero(labels < 2)[:12])])
    candidates = Candidates(vectors, order, 12, 3)
    known = Constraints()
    selection = Selection(candidates, known, np.arange(3), 0.3)
    for item in candidates.items[1:].tolist():
        known.add(int(candidates.items[0]), item, float(labels[item] == labels[candidates.items[0]]), f"a{item}")
        selection.relate(int(candidates.items[0]), item)
    for item in np.flatnonzero(labels == 1)[:12].tolist():
        if item in candidates.items and item != candidates.items[1]:
            known.add(int(candidates.items[1]), item, float(labels[item] == labels[candidates.items[1]]), f"b{item}")
            selection.relate(int(candidates.items[1]), item)
    selection.optimise()
    assert selection.infinite_pairs == 0
    assert len(candidates) > 12


def test_more_centroids_than_classes_are_reported_as_surplus() -> None:
    vectors, _ = blobs((12,), noise=0.2)
    candidates = candidates_of(vectors, 12, 2)
    known = Constraints()
    selection = Selection(candidates, known, np.arange(3), 0.3)
    for item in range(1, 12):
        known.add(0, item, 1.0, str(item))
        selection.relate(0, item)
    selection.optimise()
    assert selection.infinite_pairs == 3
    assert selection.surplus().tolist() == [False, True, True]


@pytest.mark.parametrize("start", ["random", "pam"])
def test_passive_subclusters_are_distinct_images_with_the_centroid_first(start: str) -> None:
    vectors, _ = blobs((20, 15, 10, 10), noise=0.4)
    vectors[7] = np.nan
    found = subcluster(vectors, Options(4, 5, start=start))
    assert found.members.shape == (4, 5)
    assert len(np.unique(found.members)) == 20
    assert 7 not in found.members
    assert (found.distance[:, 0] == 0).all()
    assert (found.distance[:, 1:] > 0).all()
    assert found.checked.sum() == 4


def test_places_that_nothing_is_left_for_stay_empty() -> None:
    found = subcluster(collection(0, 7), Options(3, 4))
    assert found.empty == 5
    assert np.isnan(found.distance[found.members < 0]).all()


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 9))
def test_lists_are_the_nearest_images_whoever_finds_them(seed: int, count: int) -> None:
    vectors = collection(seed, 40, duplicates=True)
    vectors[5] = np.nan
    items = np.random.default_rng(seed).permutation(np.delete(np.arange(40), 5))[:12]
    index, squared = nearest_items(vectors, items, count)
    for one, other in zip((index, squared), nearest_items_on_all_cores(vectors, items, count), strict=True):
        assert (one == other).all()
    points = whole_rows(vectors).numbers.astype(np.int64)
    for row, item in enumerate(items.tolist()):
        distance = ((points - points[item]) ** 2).sum(axis=1)
        expected = sorted((int(distance[other]), other) for other in range(40) if other not in (5, item))[:count]
        assert list(zip(squared[row].tolist(), index[row].tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clusters": 80}, "80, but 60 items have a vector"),
        ({"clusters": 5, "restricted": 4}, "too few for 5 centroids"),
        ({"clusters": 5, "size": 0}, "1 image or more"),
        ({"clusters": 5, "start": "best"}, "use random or pam"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        subcluster(collection(0), Options(**options))  # type: ignore[arg-type]


def test_rows_that_are_not_prepared_are_refused() -> None:
    with pytest.raises(InputError, match="longer than 1"):
        subcluster(3 * collection(0), Options(3))

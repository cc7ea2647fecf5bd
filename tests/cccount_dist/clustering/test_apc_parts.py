"""The parts of APC: FPC, the isotonic map, merge probabilities, purity, labels that respect answers, and theorem 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import nmi
from cccount_dist.clustering.apc import probability
from cccount_dist.clustering.apc.clusters import Looks
from cccount_dist.clustering.apc.fpc import fpc
from cccount_dist.clustering.apc.parameters import PROBABILITIES, parameters_from
from cccount_dist.clustering.apc.probability import PairMap, entropy_drop, fit_map, fit_pairs, merge_probability, refitted
from cccount_dist.clustering.apc.stages import attached
from cccount_dist.clustering.apc.steps import Ground
from cccount_dist.clustering.distance import dot, padded, squared_distance
from cccount_dist.clustering.present import PresentRows
from cccount_dist.clustering.respecting import respecting
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

Labels = NDArray[np.int64]
UNPADDED, CLASSES = blobs((30, 20, 12, 6, 2), noise=0.4)
VECTORS = padded(UNPADDED)
NEIGHBORS = neighbors_in_memory(VECTORS, 20).index


def a_map() -> PairMap:
    pairs = fit_pairs(VECTORS, NEIGHBORS, seed=0)
    return fit_map(pairs.squared, CLASSES[pairs.first] == CLASSES[pairs.second])


def test_a_map_is_the_same_however_many_pairs_are_looked_at_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted() -> list[PairMap]:
        sample = fit_pairs(VECTORS, NEIGHBORS, seed=0)
        np.testing.assert_array_equal(sample.same(CLASSES), CLASSES[sample.first] == CLASSES[sample.second])
        links = [(0, 35, 0.0), (1, 2, 1.0), (52, 60, 0.0)]
        return [fit_map(sample.squared, sample.same(CLASSES)), refitted(sample, CLASSES, CLASSES // 2, links)]

    expected = fitted()
    monkeypatch.setattr(probability, "_PAIRS", 37)
    for found, other in zip(fitted(), expected, strict=True):
        assert (found.low, found.scale) == (other.low, other.scale)
        np.testing.assert_array_equal(found.odds, other.odds)


def all_odds(pairs: PairMap) -> NDArray[np.float64]:
    squared = np.square(VECTORS[:, None].astype(float) - VECTORS[None]).sum(axis=2)
    odds = pairs.odds[pairs.bins(squared)]
    np.fill_diagonal(odds, 0.0)
    return odds


def objective(labels: Labels, pairs: PairMap) -> float:
    """L, the slow obvious way."""
    return float((all_odds(pairs) * (labels[:, None] == labels)).sum() / 2)


def test_the_objective_of_fpc_never_falls_and_at_the_end_no_move_raises_it() -> None:
    pairs = a_map()
    reached = [objective(fpc(VECTORS, NEIGHBORS, pairs, sweeps=sweeps), pairs) for sweeps in range(6)]
    assert np.diff(reached).min() >= 0.0
    assert reached[0] == 0.0 < reached[1]
    labels = fpc(VECTORS, NEIGHBORS, pairs)
    odds = all_odds(pairs)
    for item in range(len(labels)):
        here = odds[item, labels == labels[item]].sum()
        others = [odds[item, labels == labels[near]].sum() for near in NEIGHBORS[item] if labels[near] != labels[item]]
        assert here >= max([0.0, *others]) - 1e-5


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from([0.2, 0.5, 0.8]))
def test_loose_items_go_where_they_are_likeliest(seed: int, nearest: int, least: float) -> None:
    random, pairs = np.random.default_rng(seed), a_map()
    label, loose = random.integers(0, 12, len(VECTORS)), np.flatnonzero(random.random(len(VECTORS)) < 0.5)
    ground = Ground(
        PresentRows(VECTORS, NEIGHBORS, np.arange(len(VECTORS))),
        pairs,
        parameters_from({"nearest": nearest, "attach": least}),
        0,
        fit_pairs(VECTORS, NEIGHBORS, seed=0),
        CLASSES,
    )
    expected = label.copy()
    for item in loose.tolist():
        near = [int(one) for one in NEIGHBORS[item] if one >= 0 and one not in loose]
        squared = np.array([squared_distance(VECTORS, item, one) for one in near])
        same = pairs.same[pairs.bins(squared)]
        plus = {}
        for cluster in dict.fromkeys(label[near].tolist()):
            closest = same[label[near] == cluster][:nearest]
            plus[cluster] = (1.0 + sum(closest.tolist())) / (2.0 + len(closest))
        if plus and max(plus.values()) > least:
            expected[item] = max(plus, key=lambda cluster: plus[cluster])
    assert attached(ground, label, loose).tolist() == expected.tolist()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(20, 60))
def test_pruning_by_the_nearest_member_loses_no_move(seed: int, items: int) -> None:
    random = np.random.default_rng(seed)
    vectors = padded(random.standard_normal((items, 3)).astype(np.float32))
    near = neighbors_in_memory(vectors, items - 1, "euclidean").index
    classes = random.integers(4, size=items)
    sample = fit_pairs(vectors, near, seed=1)
    pairs = fit_map(sample.squared, classes[sample.first] == classes[sample.second])
    labels = fpc(vectors, near, pairs)
    squared = np.square(vectors[:, None].astype(float) - vectors[None]).sum(axis=2)
    odds = pairs.odds[pairs.bins(squared)]
    np.fill_diagonal(odds, 0.0)
    total = np.stack([odds[:, labels == label].sum(axis=1) for label in range(labels.max() + 1)], axis=1)
    assert np.all(total[np.arange(items), labels] >= np.maximum(total.max(axis=1), 0.0) - 1e-5)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 128, 300])
def test_distances_are_exact_for_duplicates_and_right_to_rounding_as_dot_products_are(columns: int) -> None:
    rows = padded(np.random.default_rng(columns).standard_normal((3, columns)).astype(np.float32))
    expected = np.square(rows[0].astype(float) - rows[1]).sum()
    assert squared_distance(rows, 0, 1) == pytest.approx(expected, rel=1e-5)
    assert squared_distance(np.concatenate([rows, rows]), 2, 5) == 0.0
    assert dot(rows[0].astype(float), rows[1].astype(float)) == pytest.approx(float(rows[0].astype(float) @ rows[1]), rel=1e-9)


def test_probability_falls_with_the_distance_and_goes_to_its_floor_beyond_the_neighbours() -> None:
    pairs = a_map()
    assert np.all(np.diff(pairs.same) <= 0.0)
    assert pairs.same[0] > 0.9
    assert pairs.same[-1] == pytest.approx(1e-4)
    only_neighbours = fit_map(np.array([0.1, 0.2, 0.3]), np.array([True, True, False]))
    assert only_neighbours.same[only_neighbours.bins(np.array([9.0]))][0] == pytest.approx(1e-4)


@pytest.mark.parametrize(("kind", "added"), [*((kind, 0.0) for kind in PROBABILITIES), ("plus", 1.0)])
def test_merge_probabilities_equal_the_equations_and_p_plus_may_have_pairs_added(kind: str, added: float) -> None:
    pairs = a_map()
    first, second = np.flatnonzero(CLASSES == 1)[:7], np.flatnonzero(CLASSES == 2)[:5]
    squared = np.square(VECTORS[second][:, None].astype(float) - VECTORS[first][None]).sum(axis=2)
    same = pairs.same[pairs.bins(squared)]  # rows: the smaller cluster
    nearest = -np.sort(-same, axis=1)[:, :3]
    central = np.array([first[0], second[0]])
    expected = {
        "all": same.prod() / (same.prod() + (1 - same).prod()),
        "times": nearest.prod() / (nearest.prod() + (1 - nearest).prod()),
        "plus": (added + nearest.sum()) / (2 * added + nearest.size),  # added = 0: equation 4; 1 is our default
        "centre": same[0, 0],
    }
    clusters = np.concatenate([first, second]), np.array([0, 7, 12])
    found = merge_probability(kind, VECTORS, pairs, clusters, (np.array([0]), np.array([1])), central, nearest=3, added=added)
    assert found[0] == pytest.approx(expected[kind], rel=1e-6)


@settings(deadline=None)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=8))
def test_the_entropy_falls_by_delta_h(sizes: list[int]) -> None:
    def entropy(parts: list[int]) -> float:
        share = np.array(parts) / sum(parts)
        return float(-(share * np.log(share)).sum())

    drop = entropy_drop(np.array([float(sizes[0])]), np.array([float(sizes[1])]), sum(sizes))[0]
    assert drop == pytest.approx(entropy(sizes) - entropy([sizes[0] + sizes[1], *sizes[2:]]), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_joining_two_pure_clusters_of_one_class_never_lowers_nmi(seed: int) -> None:
    """Theorem 1: purity t ≥ 0.7 of both, NMI ≥ 2 (1.0586 - min t): then NMI does not fall."""
    random = np.random.default_rng(seed)
    classes = random.integers(2, 6)
    truth = np.repeat(np.arange(classes), random.integers(10, 60, size=classes))
    # Every class is cut into parts, and a few items are put elsewhere.
    labels = truth * 4 + random.integers(4, size=len(truth)) % random.integers(1, 5, size=classes)[truth]
    stray = random.random(len(truth)) < random.choice([0.0, 0.01, 0.05])
    labels = np.where(stray, random.permutation(labels), labels)
    before = nmi(truth, labels)
    counts = {int(label): np.bincount(truth[labels == label], minlength=classes) for label in np.unique(labels)}
    for a in counts:
        for b in counts:
            if a < b and counts[a].argmax() == counts[b].argmax():
                purity = min(counts[x].max() / counts[x].sum() for x in (a, b))
                if purity >= 0.7 and before >= 2 * (1.0586 - purity):
                    assert nmi(truth, np.where(labels == b, a, labels)) >= before - 1e-12


def test_a_mixed_cluster_is_less_compact_than_a_pure_one() -> None:
    pairs = a_map()
    pure = Looks(VECTORS, pairs, np.flatnonzero(CLASSES == 0))
    mixed = Looks(VECTORS, pairs, np.flatnonzero(CLASSES <= 2))
    assert pure.compactness() > mixed.compactness() + 0.2
    assert mixed.other(0) != mixed.leader
    assert mixed.other(0) == mixed.other(0)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=8, max_size=8), st.lists(st.integers(0, 4), min_size=8, max_size=8), st.data())
def test_labels_are_made_to_respect_every_link(truth: list[int], found: list[int], data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]), max_size=12))
    links = [(u, v, float(truth[u] == truth[v])) for u, v in pairs]
    labels = respecting(np.array(found), links)
    assert all((labels[u] == labels[v]) == bool(value) for u, v, value in links)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"probability": "minus"}, "use one of plus, times, all, centre"),
        ({"compactness": 1.5}, "must be at least 0 and below 1"),
        ({"nearest": "four"}, "must be a whole number"),
        ({"speed": 1}, "apc has no parameter 'speed'"),
    ],
)
def test_a_wrong_parameter_is_named(given_: dict[str, str | int | float | bool], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parameters_from(given_)

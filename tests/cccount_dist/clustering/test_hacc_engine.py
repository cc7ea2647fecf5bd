"""The fast engine asks what trying every pair would ask, with the same value."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmarks.hacc_reference import best_of, expected_changes
from benchmarks.hacc_reference import cluster as reference_cluster
from cccount_dist.clustering.hacc import realrun
from cccount_dist.clustering.hacc.beliefs import EXCLUDED, Beliefs
from cccount_dist.clustering.hacc.engine import Engine
from cccount_dist.clustering.hacc.forest import Forest, Order, grow, order_of
from cccount_dist.sampling.constraints import Constraints

RUNS = 20


@dataclass
class Case:
    """Units with known labels, what is believed about them, and what has been answered."""

    order: Order
    weight: NDArray[np.int64]
    beliefs: Beliefs
    labels: NDArray[np.int64]
    clusters: int
    known: Constraints
    must: NDArray[np.int64]
    cannot: NDArray[np.int64]

    def answer(self, i: int, j: int) -> None:
        same = bool(self.labels[i] == self.labels[j])
        if self.known.known(i, j) is None:
            self.known.add(i, j, float(same), f"{i}-{j}")
            if same:
                self.must = np.vstack((self.must, [[i, j]]))
            else:
                self.cannot = np.vstack((self.cannot, [[i, j]]))

    def forest(self) -> Forest:
        return grow(self.order, self.weight, self.must, self.cannot, self.clusters)

    def probability(self) -> NDArray[np.float64]:
        return np.where(self.beliefs.agreements == EXCLUDED, np.nan, self.beliefs.probability()[self.beliefs.agreements])

    def reference(self) -> NDArray[np.float64]:
        first, second = self.order.first, self.order.second
        return expected_changes(first, second, self.weight, self.must, self.cannot, self.clusters, self.probability())


def make_case(
    seed: int, items: int, classes: int, *, ties: bool, told: int, weights: bool = False, excluded: float = 0.0
) -> Case:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, items)
    x = generator.standard_normal((classes, 2))[labels] * generator.choice([0.5, 1, 2, 4]) + generator.standard_normal((items, 2))
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)
    agreements = generator.integers(0, RUNS + 1, (items, items)).astype(np.uint8)
    if seed % 2:  # beliefs with some truth in them
        agreements = np.rint(RUNS * np.exp(-distance) * generator.choice([0.7, 1.0])).astype(np.uint8)
    agreements[generator.random((items, items)) < excluded] = EXCLUDED
    agreements = np.maximum(agreements, agreements.T)
    weight = generator.integers(1, 5, items) if weights else np.ones(items, np.int64)
    none = np.empty((0, 2), np.int64)
    order = order_of(np.round(distance) if ties else distance)
    return Case(order, weight, Beliefs(agreements, RUNS), labels, told, Constraints(), none, none)


cases = st.builds(
    make_case,
    st.integers(0, 2**32),
    st.integers(2, 26),
    st.integers(1, 7),
    ties=st.booleans(),
    told=st.integers(1, 8),
    weights=st.booleans(),
    excluded=st.sampled_from([0.0, 0.0, 0.2]),
)


@pytest.mark.parametrize("fewest", [3, 128])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=cases, chance=st.randoms(use_true_random=False), questions=st.integers(1, 25))
def test_the_fast_engine_asks_what_trying_every_pair_asks(
    case: Case, chance: random.Random, questions: int, fewest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realrun, "_FEWEST", fewest)  # 3: with shortened rows already in so small a case
    for _ in range(questions):
        best = best_of(case.reference())
        found = Engine(case.order, case.forest(), case.beliefs).best(np.zeros(case.forest().clusters, np.uint8))
        assert (found is None) == (best is None)
        if found is None or best is None:
            return
        assert (found.first, found.second, found.value) == best
        case.answer(found.first, found.second)
        i, j = chance.choice(range(len(case.labels))), chance.choice(range(len(case.labels)))
        if i != j:
            case.answer(i, j)


@pytest.mark.parametrize("seed", range(4))
def test_dead_ends_are_scored_exactly(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realrun, "_FEWEST", 3 if seed > 1 else 128)  # with shortened rows, and without
    case = make_case(seed, 24, 6, ties=bool(seed % 2), told=3)
    dead = 0
    while (best := best_of(case.reference())) is not None:
        forest = case.forest()
        found = Engine(case.order, forest, case.beliefs).best(np.zeros(forest.clusters, np.uint8))
        assert found is not None
        assert (found.first, found.second, found.value) == best
        dead += forest.dead_end
        case.answer(*best[:2])
    assert dead > 5
    assert case.forest().clusters == len(np.unique(case.labels))


@settings(max_examples=60, deadline=None)
@given(cases, st.randoms(use_true_random=False), st.integers(0, 40))
def test_the_clustering_is_that_of_the_slow_reference_and_respects_every_answer(
    case: Case, chance: random.Random, answers: int
) -> None:
    for _ in range(answers):
        i, j = chance.choice(range(len(case.labels))), chance.choice(range(len(case.labels)))
        if i != j:
            case.answer(i, j)
    forest = case.forest()
    labels = forest.labels()
    slow = reference_cluster(len(labels), case.order.first, case.order.second, case.must, case.cannot, case.clusters)
    assert ((labels[:, None] == labels) == (slow[:, None] == slow)).all()
    assert all(labels[i] == labels[j] for i, j in case.must)
    assert all(labels[i] != labels[j] for i, j in case.cannot)
    assert forest.clusters == len(np.unique(labels))
    assert forest.clusters == case.clusters or forest.dead_end or forest.leaves < case.clusters


def test_threads_change_nothing() -> None:
    case = make_case(5, 420, 12, ties=False, told=12)
    generator = np.random.default_rng(0)
    for i, j in generator.integers(0, 420, (150, 2)):
        if i != j:
            case.answer(int(i), int(j))
    one, two = (Engine(case.order, case.forest(), case.beliefs, threads=threads) for threads in (1, 2))
    taken = np.zeros(case.forest().clusters, np.uint8)
    while (choice := one.best(taken)) is not None:
        assert two.best(taken) == choice
        taken[case.forest().labels()[[choice.first, choice.second]]] = 1
    assert two.best(taken) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(4, 22), st.integers(2, 5))
def test_neither_the_numbering_nor_a_monotone_transform_of_the_distances_matters(seed: int, items: int, told: int) -> None:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((items, 3))
    distance = np.linalg.norm(x[:, None] - x[None], axis=2)
    counts = generator.permutation(items * items).reshape(items, items) % 251  # few equal values
    agreements = np.triu(counts, 1).astype(np.uint8)
    agreements += agreements.T
    shuffle = generator.permutation(items)
    weight, none = np.ones(items, np.int64), np.empty((0, 2), np.int64)
    cannot = np.array([[0, 1], [1, 2]], np.int64)
    place = np.argsort(shuffle)
    found = []
    for way in (np.arange(items), shuffle):
        for transform in (np.asarray, np.exp):
            order = order_of(transform(distance)[np.ix_(way, way)])
            links = cannot if way is not shuffle else place[cannot]
            forest = grow(order, weight, none, links, told)
            best = Engine(order, forest, Beliefs(agreements[np.ix_(way, way)], 250)).best(np.zeros(forest.clusters, np.uint8))
            labels = forest.labels()
            together = {frozenset(way[labels == one].tolist()) for one in range(forest.clusters)}
            found.append((together, best and best.value))
    assert all(one == found[0] for one in found)


def test_the_paper_s_toy_situation_asks_about_the_two_clusters_that_may_be_one() -> None:
    # Two far clusters with A between them, and two near clusters D and E that k-means often puts together.
    b, c, d, e = (np.arange(start, start + 3) for start in (0, 3, 7, 10))
    a = 6
    place = np.array([0, 0.1, 0.2, 5, 5.1, 5.2, 1.2, 10, 10.1, 10.2, 11.5, 11.6, 11.7])
    order = order_of(np.abs(place[:, None] - place))
    agreements = np.zeros((13, 13), np.uint8)
    for group in (b, c, d, e):
        agreements[np.ix_(group, group)] = 20
    agreements[a, b] = agreements[b, a] = 12
    agreements[a, c] = agreements[c, a] = 8
    agreements[np.ix_(d, e)] = agreements[np.ix_(e, d)] = 9
    none = np.empty((0, 2), np.int64)
    forest = grow(order, np.ones(13, np.int64), none, none, 4)
    best = Engine(order, forest, Beliefs(agreements, RUNS)).best(np.zeros(forest.clusters, np.uint8))
    assert best is not None
    assert (best.first in d, best.second in e, best.split) == (True, True, False)

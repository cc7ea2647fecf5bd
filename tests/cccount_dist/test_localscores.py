"""Local matches as a second score: what it is, that answers decide its worth, and that it changes nothing where it is 0."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.placing.looks import Looks
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.freezing import freeze
from cccount_dist.sampling.methods import Start
from cccount_dist.sampling.oracles import FunctionOracle
from cccount_dist.sampling.thawing import thaw
from cccount_dist.sampling.types import Sampler
from cccount_dist.similarity.inmemory import Neighbors, neighbors_in_memory
from cccount_dist.similarity.localscores import LocalScores, local_score, reordered
from cccount_dist.similarity.metrics import prepare

Matches = NDArray[np.int16]
CLASSES, EACH = 24, 8


def collection() -> tuple[NDArray[np.float32], NDArray[np.int64], Neighbors]:
    """Classes that vectors hardly tell apart."""
    rng = np.random.default_rng(2)
    labels = np.repeat(np.arange(CLASSES), EACH)
    vectors = rng.normal(size=(CLASSES, 16))[labels] + 1.1 * rng.normal(size=(len(labels), 16))
    unit = prepare(vectors.astype(np.float32), "cosine")
    return unit, labels, neighbors_in_memory(unit, 20)


def telling(near: Neighbors, labels: NDArray[np.int64]) -> Matches:
    """Matches that are right most of the time."""
    same = labels[near.index] == labels[:, None]
    rng = np.random.default_rng(5)
    found = np.where(same & (rng.random(same.shape) < 0.6), rng.integers(8, 30, same.shape), rng.integers(0, 5, same.shape))
    return np.asarray(found, np.int16)


def grouper(method: str, vectors: NDArray[np.float32], near: Neighbors, matches: Matches | None) -> Sampler:  # type: ignore[type-arg]
    parameters = grouping_method(method).frozen({}, Start(simulated=True))
    inputs = GroupingInputs(vectors, near.index, near.similarity, 0, parameters=parameters, matches=matches)
    return make_grouper(method, inputs)


def counter(vectors: NDArray[np.float32], near: Neighbors, matches: Matches | None) -> Sampler:  # type: ignore[type-arg]
    given = counting_method("placing").frozen({"space": "given"}, Start(simulated=True))
    local = None if matches is None else LocalScores(near.index, matches)
    return make_counter("placing", vectors=vectors, degree=np.zeros(len(vectors)), parameters=given, local=local)


def asked_of(sampler: Sampler, labels: NDArray[np.int64], budget: int) -> list[tuple[int, int]]:  # type: ignore[type-arg]
    asked: list[tuple[int, int]] = []

    def oracle(u: int, v: int) -> bool:
        asked.append((u, v))
        return bool(labels[u] == labels[v])

    drive(sampler, FunctionOracle(oracle), budget=budget, items=len(labels), constraints=Constraints())
    return asked


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(2, 12), st.integers(1, 5))
def test_scores_are_the_same_in_both_directions_and_those_of_the_larger_number(seed: int, items: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, items - 1)
    lists = np.stack([rng.permutation(np.delete(np.arange(items), i))[:k] for i in range(items)]).astype(np.int32)
    matches = rng.integers(-1, 40, (items, k)).astype(np.int16)
    slow: dict[tuple[int, int], float] = {}
    for u, v, m in zip(np.repeat(np.arange(items), k).tolist(), lists.ravel().tolist(), matches.ravel().tolist(), strict=True):
        for pair in ((u, v), (v, u)):
            slow[pair] = max(slow.get(pair, 0.0), float(local_score(np.array([m], np.int16))[0]))
    scores = LocalScores(lists, matches)
    found = {(u, int(v)): float(s) for u in range(items) for v, s in zip(*scores.of(u), strict=True)}
    assert found == {pair: score for pair, score in slow.items() if score > 0}


def test_a_list_has_the_same_neighbours_in_another_order_and_stays_where_nothing_matches() -> None:
    _, labels, near = collection()
    found = reordered(near.index, near.similarity, telling(near, labels)[:, :10])
    np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(near.index, axis=1))
    first = (labels[found[:, 0]] == labels).mean()
    assert first > (labels[near.index[:, 0]] == labels).mean() + 0.1
    nothing = np.zeros((len(labels), 10), np.int16)
    np.testing.assert_array_equal(reordered(near.index, near.similarity, nothing), near.index)
    short = near.index.copy()
    short[:, 5:] = -1
    assert (reordered(short, near.similarity, telling(near, labels))[:, 5:] == -1).all()


def test_the_feature_of_placing_is_the_best_score_with_a_member_of_each_cluster() -> None:
    vectors, labels, near = collection()
    local = LocalScores(near.index, telling(near, labels))
    sampler = PlacingSampler(vectors, np.zeros(len(labels)), local=local)
    asked_of(sampler, labels, 150)
    state = sampler._engine.state
    looks: Looks = state.looks
    features, _ = looks.against(len(looks.items) - 1, state.clusters)
    item, scores = looks.items[-1], local.rows.toarray()
    expected = [
        max(scores[item, state.item(j, p)] for p in range(int(state.clusters.held[j]))) for j in range(len(state.clusters))
    ]
    np.testing.assert_array_equal(features[:, -1], expected)
    assert looks.further == 1
    assert state.chances.weights[-1] > 0.5, "answers taught that matches speak for the same"


@pytest.mark.parametrize("method", ["placing", "evidence", "catalogue"])
def test_pictures_without_texture_change_no_question(method: str) -> None:
    vectors, labels, near = collection()
    asked = []
    for matches in (None, np.zeros(near.index.shape, np.int16)):
        sampler = counter(vectors, near, matches) if method == "placing" else grouper(method, vectors, near, matches)
        asked.append(asked_of(sampler, labels, 120))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("method", ["evidence", "catalogue"])
def test_matches_that_tell_make_a_grouping_better_with_the_same_effort(method: str) -> None:
    vectors, labels, near = collection()
    rights = []
    for matches in (None, telling(near, labels)):
        sampler = grouper(method, vectors, near, matches)
        asked_of(sampler, labels, 100)
        rights.append(ari(labels, sampler.result().labels))
    assert rights[1] > rights[0] + 0.05


def test_matches_that_mislead_lose_their_weight_in_a_catalogue() -> None:
    vectors, labels, near = collection()
    different = labels[near.index] != labels[:, None]  # one background behind two animals
    rng = np.random.default_rng(1)
    matches = np.where(different & (rng.random(different.shape) < 0.3), 20, 0).astype(np.int16)
    rights = []
    for compared in (None, matches):
        sampler = grouper("catalogue", vectors, near, compared)
        asked_of(sampler, labels, 150)
        rights.append(ari(labels, sampler.result().labels))
    assert sampler._look().fit.weight[-1] < 0.05  # type: ignore[attr-defined]
    assert rights[1] > rights[0] - 0.05


@pytest.mark.parametrize("method", ["placing", "evidence", "catalogue"])
def test_a_sampler_with_matches_goes_on_from_a_snapshot_as_if_nothing_had_happened(method: str) -> None:
    vectors, labels, near = collection()
    matches = telling(near, labels)
    given = {"vectors": vectors, "neighbors": near.index, "similarity": near.similarity, "matches": matches}
    sampler = counter(vectors, near, matches) if method == "placing" else grouper(method, vectors, near, matches)
    asked_of(sampler, labels, 60)
    again = thaw(freeze(sampler, given), given)
    assert asked_of(again, labels, 40) == asked_of(sampler, labels, 40)

"""PCK-means: its objective, that links pull, how questions are chosen, and that a campaign is its log."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import accuracy
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.pair_choosers import ExplorePairs
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.rows import degree
from storage.errors import InputError
from storage.settings import Scalar
from tests.cccount_dist.samplers import answered, blobs, counter

VECTORS, LABELS = blobs((20, 15, 10, 5), noise=0.5, seed=1)
ITEMS = len(LABELS)
NONE = np.empty((0, 2), np.int64)
METHODS = ("pckmeans-random", "pckmeans-explore")


def links(labels: NDArray[np.int64], count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    pairs = np.random.default_rng(seed).integers(0, len(labels), (count, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    return pairs[same], pairs[~same]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 200), st.integers(0, 10**6), st.sampled_from([(1.0, 1.0), (0.3, 2.0), (0.0, 0.0)]))
def test_the_objective_is_that_of_its_labels_and_no_single_move_lowers_it(
    clusters: int, count: int, seed: int, weights: tuple[float, float]
) -> None:
    must, cannot = links(LABELS, count, seed)
    alpha, beta = weights
    fit = pckmeans(VECTORS, clusters, must, cannot, alpha=alpha, beta=beta, seed=seed)

    def objective(labels: NDArray[np.int64]) -> float:
        distance = np.square(VECTORS - fit.centres[labels]).sum()
        apart = (labels[must[:, 0]] != labels[must[:, 1]]).sum()
        together = (labels[cannot[:, 0]] == labels[cannot[:, 1]]).sum()
        return float(distance + alpha * apart + beta * together)

    assert fit.objective == pytest.approx(objective(fit.labels), rel=1e-5)
    free = np.setdiff1d(np.arange(ITEMS), np.concatenate([must.ravel(), cannot.ravel()]))
    for item in free[:10]:
        for cluster in range(clusters):
            moved = fit.labels.copy()
            moved[item] = cluster
            assert objective(moved) >= fit.objective - 1e-5


def test_without_links_it_is_k_means() -> None:
    fit = pckmeans(VECTORS, 4, NONE, NONE)
    nearest = np.square(VECTORS[:, None] - fit.centres).sum(axis=2).argmin(axis=1)
    assert fit.labels.tolist() == nearest.tolist()


def test_heavy_links_are_kept_and_make_the_clusters_better() -> None:
    must, cannot = links(LABELS, 400, 3)
    without = pckmeans(VECTORS, 4, NONE, NONE)
    fit = pckmeans(VECTORS, 4, must, cannot, alpha=10.0, beta=10.0)
    assert accuracy(LABELS, fit.labels) >= max(0.95, accuracy(LABELS, without.labels))
    assert (fit.labels[must[:, 0]] == fit.labels[must[:, 1]]).mean() > 0.98


def test_every_item_its_own_cluster_and_one_cluster_work() -> None:
    assert pckmeans(VECTORS, ITEMS, NONE, NONE).objective == pytest.approx(0.0, abs=1e-6)
    assert set(pckmeans(VECTORS, 1, NONE, NONE).labels) == {0}
    assert pckmeans(np.ones((5, 2), np.float32), 3, NONE, NONE).objective == 0.0


def test_what_cannot_be_clustered_is_refused() -> None:
    with pytest.raises(InputError, match="50 items cannot be put into 51 clusters"):
        pckmeans(VECTORS, 51, NONE, NONE)
    with pytest.raises(InputError, match=r"-1\.0 and 1"):
        pckmeans(VECTORS, 2, NONE, NONE, alpha=-1.0)


def explored(clusters: int | None = None, seed: int = 0) -> tuple[ExplorePairs, list[tuple[int, int]]]:
    chooser = ExplorePairs(VECTORS, seed, clusters=clusters)
    pairs: list[tuple[int, int]] = []
    while (pair := chooser.next()) is not None:
        chooser.told(len(pairs), float(LABELS[pair[0]] == LABELS[pair[1]]))
        pairs.append(pair)
    return chooser, pairs


def test_explore_takes_the_farthest_item_and_finds_every_cluster() -> None:
    chooser, pairs = explored()
    assert chooser.done
    assert chooser.different == 4
    assert len({LABELS[founder] for founder in chooser._founders}) == 4
    order = [chooser._taken[0].item]
    for u, _ in pairs:
        if u not in order:
            order.append(u)
    x = VECTORS.astype(np.float64)
    for step in range(1, ITEMS):
        distance = np.square(x[:, None] - x[order[:step]]).sum(axis=2).min(axis=1)
        assert distance[order[step]] >= distance.max() - 1e-5


def test_consolidate_begins_when_all_clusters_are_found_and_asks_the_nearest_set_first() -> None:
    chooser, pairs = explored(clusters=4)
    _, other = explored()
    assert chooser.different == 4
    assert pairs != other
    asked: dict[int, list[int]] = {}
    for u, v in pairs:
        asked.setdefault(u, []).append(v)
    for u, founders in asked.items():
        distance = np.square(VECTORS[founders] - VECTORS[u]).sum(axis=1)
        assert (np.diff(distance) >= -1e-6).all()


def test_an_answer_that_is_heard_twice_founds_one_set() -> None:
    chooser = ExplorePairs(np.array([[1, 0], [0, 1]], np.float32), 0)
    assert chooser.next() is not None
    for _ in range(2):
        chooser.told(0, 0.0)
    assert chooser.different == 2


def test_an_unsure_answer_never_founds_a_set() -> None:
    chooser = ExplorePairs(VECTORS, 0)
    for number in range(60):
        assert chooser.next() is not None
        assert chooser.next() is None  # one question at a time
        chooser.told(number, None)
        if chooser.done:
            break
    assert chooser.different == 1


def test_a_revised_answer_moves_an_item_and_no_bound_is_claimed_any_more() -> None:
    chooser = ExplorePairs(VECTORS, 0)
    chooser.next()
    chooser.told(0, 0.0)
    assert chooser.different == 2
    chooser.told(0, 1.0)
    assert (chooser.different, len(chooser._founders)) == (1, 1)
    chooser.told(0, 0.0)
    assert len(chooser._founders) == 2


@pytest.mark.parametrize("method", METHODS)
def test_with_answers_it_counts_and_gives_the_certain_interval(method: str) -> None:
    sampler = counter(VECTORS, method)
    assert sampler.result() == CountResult(None, 1.0, ITEMS, 0.95, 0, 0)
    drive(sampler, LabelOracle(LABELS), budget=60)
    result = sampler.result()
    assert result.estimate is not None
    assert 2 <= result.estimate <= 6
    assert (result.low, result.high) == (4.0 if method == "pckmeans-explore" else 1.0, ITEMS)


def test_the_estimate_changes_only_when_the_answers_have_grown_by_a_quarter() -> None:
    sampler = counter(VECTORS, "pckmeans-random")
    questions = list(sampler.ask(24))
    estimates = []
    for answer in answered(questions, LABELS):
        sampler.tell([answer])
        estimates.append(sampler.result().estimate)
    assert estimates[:15] == [None] * 15
    assert len(set(estimates[15:19])) == 1
    assert len(set(estimates[19:])) == 1


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(METHODS), st.integers(0, 10**6), st.lists(st.integers(0, 9), max_size=20), st.randoms())
def test_a_replayed_log_leads_to_the_same_questions_and_the_same_result(
    method: str, seed: int, batches: list[int], chance: random.Random
) -> None:
    live = counter(VECTORS, method, seed)
    rounds: list[Round] = []
    log: list[Answer] = []
    asked: list[Question] = []
    for number, limit in enumerate(batches):
        rounds.append(Round(number, len(log), live.ask(limit)))
        asked += rounds[-1].questions
        replies = [
            Answer(a.question_id, a.u, a.v, None if chance.random() < 0.1 else float(chance.random() < 0.1) or a.value)
            for a in answered(asked, LABELS)
            if a.question_id == len(asked) - 1 or chance.random() < 0.1
        ]
        live.tell(replies)
        log += replies
    again = counter(VECTORS, method, seed)
    replay(again, rounds, log)
    assert again.ask(4) == live.ask(4)
    assert again.result() == live.result()


@pytest.mark.parametrize("method", METHODS)
def test_items_without_a_vector_are_neither_asked_about_nor_counted(method: str) -> None:
    vectors = np.insert(VECTORS, [0, 30], np.nan, axis=0)
    kept = np.flatnonzero(np.isfinite(vectors[:, 0]))
    assert _asked(counter(vectors, method)) == [(kept[u], kept[v]) for u, v in _asked(counter(VECTORS, method))]
    assert counter(vectors, method).result().high == ITEMS


def _asked(sampler: Sampler[CountResult]) -> list[tuple[int, int]]:
    pairs = []
    for _ in range(30):
        questions = list(sampler.ask(1))
        pairs += [(q.u, q.v) for q in questions]
        sampler.tell([Answer(q.id, q.u, q.v, 0.0) for q in questions])
    return pairs


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("pckmeans-random", {"clusters": 3}, "pckmeans-random has no parameter 'clusters': it has alpha, beta"),
        ("pckmeans-explore", {"clusters": -1}, "clusters of pckmeans-explore must be a whole number, 0 or more, not -1"),
        ("pckmeans-explore", {"alpha": "much"}, "alpha of pckmeans-explore must be a number, not 'much'"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(method: str, parameters: dict[str, Scalar], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_counter(method, vectors=VECTORS, degree=degree(VECTORS), parameters=parameters)


def test_an_answer_to_something_else_is_refused() -> None:
    sampler = counter(VECTORS, "pckmeans-random")
    (question,) = sampler.ask(1)
    for bad in (Answer(1, 0, 1, 1.0), Answer(0, 0, 0, 1.0), Answer(0, question.u, question.v, 0.5)):
        with pytest.raises(InputError, match=f"question {bad.question_id}"):
            sampler.tell([bad])

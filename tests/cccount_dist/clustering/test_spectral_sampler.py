"""IU_RED, S&T and random ratings as samplers: honest start, completeness, batches, replay, noise, more than two groups."""

import random as chances
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist import PairwiseClusterer
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import GroupingInputs, grouping_methods, make_grouper, without_vectors
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.spectral.spectral_sampler import SpectralSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle, SimilarityOracle
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.clustering.spectral_reference import Floats, laplacian
from tests.cccount_dist.samplers import blobs

TRUTH = np.arange(16) % 2
INTERLEAVED = pytest.mark.parametrize("method", grouping_methods(ratings=True))


def similarities(seed: int = 0, groups: NDArray[np.int64] = TRUTH) -> Floats:
    random = np.random.default_rng(seed)
    found = np.where(groups[:, None] == groups, 0.7, 0.2) + 0.25 * random.random((len(groups), len(groups)))
    found = np.triu(found, 1) + np.triu(found, 1).T
    return np.asarray(found)


def grouper(method: str, items: int = 16, clusters: int | None = None, seed: int = 0, **parameters: float) -> Sampler[Grouping]:
    return make_grouper(method, without_vectors(np.ones(items, np.bool_), seed, clusters, parameters))


def rated(questions: list[Question], similarity: Floats) -> list[Answer]:
    return [Answer(q.id, q.u, q.v, float(similarity[q.u, q.v])) for q in questions]


def complete_split(similarity: Floats) -> NDArray[np.int64]:
    return (np.linalg.eigh(laplacian(similarity))[1][:, 1] > 0.0).astype(np.int64)


@INTERLEAVED
def test_all_pairs_are_asked_once_and_the_end_is_the_complete_solution(method: str) -> None:
    similarity = similarities(3)
    sampler = SpectralSampler(16, 2, seed=1, repeats=1) if method == "iu-red" else grouper(method, seed=1, repeats=1)
    asked = []
    while questions := list(sampler.ask(1)):
        assert questions[0].kind == "rating"
        asked += [(q.u, q.v) for q in questions]
        sampler.tell(rated(questions, similarity))
    assert sorted(asked) == list(combinations(range(16), 2))
    assert sampler.done
    assert ari(complete_split(similarity), sampler.result().labels) == 1.0
    if isinstance(sampler, SpectralSampler):
        vector = np.linalg.eigh(sampler._graph.dense())[1][:, 1]
        complete = np.linalg.eigh(laplacian(similarity))[1][:, 1]
        np.testing.assert_allclose(np.abs(vector @ complete), 1.0, rtol=1e-12)


@INTERLEAVED
def test_there_is_no_grouping_before_the_ratings_connect_the_items(method: str) -> None:
    similarity, sampler = similarities(), grouper(method)
    start = sampler.result()
    assert (start.clusters, set(start.labels.tolist())) == (0, {-1})
    assert "16 parts" in str(start.warning)
    for left in range(15, 0, -1):
        questions = list(sampler.ask(1))
        assert questions[0].purpose == "connect"
        sampler.tell(rated(questions, similarity))
        assert f"{left} parts" in str(sampler.result().warning) or left == 1
    assert "parts" not in str(sampler.result().warning)
    assert sampler.ask(1)[0].purpose != "connect"


def test_no_grouping_is_made_up_where_the_second_eigenvalue_is_multiple() -> None:
    sampler = SpectralSampler(7, 2, interleaved=False, repeats=1)
    for leaf in range(1, 7):  # a star of equal weights
        (question,) = sampler.ask(1)
        sampler._graph.close(question.u, question.v)
        sampler._pairs[-1] = (0, leaf)
        if not sampler._graph.has(0, leaf):
            sampler._graph.add(np.array([0]), np.array([leaf]))
        sampler.tell([Answer(question.id, 0, leaf, 0.5)])
    assert sampler.result().clusters == 0
    assert "two eigenvalues are equal" in str(sampler.result().warning)
    assert sampler.ask(1)[0].purpose == "random"


@pytest.mark.parametrize("method", ["iu-red", "iu-red-pure", "s-and-t-pure"])
def test_numbering_the_items_otherwise_changes_no_choice(method: str) -> None:
    similarity = similarities(5)
    order = np.random.default_rng(2).permutation(16)
    plain, turned = grouper(method, repeats=1), grouper(method, repeats=1)
    # The start and random questions are drawn by number: both are told the same pairs until the first chosen question.
    first, second = SpectralSampler(16, 2, interleaved=False, repeats=1), SpectralSampler(16, 2, interleaved=False, repeats=1)
    for sampler, names in ((first, np.arange(16)), (second, np.argsort(order))):
        sampler._rule = "s-and-t" if method == "s-and-t-pure" else "iu-red"
        for u, v in [(i, i + 1) for i in range(15)] + [(0, 5), (3, 9), (2, 11), (4, 10)]:
            low, high = sorted((int(names[u]), int(names[v])))
            sampler._graph.add(np.array([low]), np.array([high]))
            sampler._graph.set(low, high, float(similarity[u, v]), 0.0)
            sampler._asked.add((low, high))
    (one,), (other,) = first.ask(1), second.ask(1)
    assert {one.u, one.v} == {int(order[other.u]), int(order[other.v])}
    assert plain.ask(3) == turned.ask(3)


@given(
    st.sampled_from(["iu-red", "iu-red-pure", "s-and-t", "random-ratings"]),
    st.sampled_from([2, 3]),
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=14),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_a_campaign_that_was_killed_asks_the_same_questions_when_it_is_resumed(
    method: str, clusters: int, cuts: list[tuple[int, int]], chance: chances.Random
) -> None:
    clusters = 2 if method == "s-and-t" else clusters
    live = grouper(method, clusters=clusters)
    similarity = similarities()
    rounds, questions, answers = [], list[Question](), list[Answer]()
    for number, (asked, given_back) in enumerate(cuts):
        new = list(live.ask(asked))
        rounds.append(Round(number, len(answers), new))
        questions += new
        for _ in range(given_back):
            if questions:
                question = chance.choice(questions)  # an answer may be replaced, or taken back
                value = (
                    None if chance.random() < 0.15 else round(float(similarity[question.u, question.v]) + chance.random() / 9, 2)
                )
                answers.append(Answer(question.id, question.u, question.v, value))
                live.tell(answers[-1:])
        if chance.random() < 0.5:
            live.result()  # to read a result changes nothing
    resumed = grouper(method, clusters=clusters)
    replay(resumed, [one for one in rounds if one.questions], answers)
    np.testing.assert_array_equal(resumed.result().labels, live.result().labels)
    assert resumed.ask(5) == live.ask(5)


@given(st.sampled_from(["iu-red", "s-and-t-pure"]), st.integers(0, 30), st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_how_a_batch_is_cut_changes_no_question(method: str, told: int, first: int, second: int) -> None:
    cut, whole = grouper(method), grouper(method)
    for sampler in (cut, whole):
        sampler.tell(rated(list(sampler.ask(told)), similarities()))
    assert [*cut.ask(first), *cut.ask(second)] == list(whole.ask(first + second))


def test_questions_of_a_batch_are_about_different_items_and_never_the_same_pair() -> None:
    sampler = grouper("iu-red-pure", repeats=3)
    sampler.tell(rated(list(sampler.ask(30)), similarities()))
    batch = list(sampler.ask(10))
    assert len({(q.u, q.v) for q in batch}) == 10
    assert sum(q.purpose == "uncertain" for q in batch) >= 5


def test_a_preview_asks_nothing_and_begins_with_the_next_question() -> None:
    sampler = SpectralSampler(16, 2, interleaved=False)
    assert sampler.preview(3) == []
    sampler.tell(rated(sampler.ask(30), similarities()))
    ahead = sampler.preview(3)
    assert len(ahead) == 3
    assert sampler.preview(3) == ahead
    assert sampler.ask(1) == ahead[:1]


def test_a_pair_that_nobody_is_sure_about_is_not_asked_again() -> None:
    sampler, similarity = grouper("iu-red", repeats=3), similarities()
    unsure, seen = set(), set()
    for number in range(300):
        questions = list(sampler.ask(1))
        if not questions:
            break
        pair = questions[0].u, questions[0].v
        assert pair not in unsure
        seen.add(pair)
        value = None if number % 3 == 0 else float(similarity[pair])
        unsure |= {pair} if value is None else set()
        sampler.tell([Answer(questions[0].id, *pair, value)])
    assert len(seen) == 120
    assert ari(TRUTH, sampler.result().labels) == 1.0


def test_repeats_are_chosen_where_ratings_are_noisy_and_end_at_the_maximum() -> None:
    random = np.random.default_rng(0)
    sampler, similarity = grouper("iu-red", repeats=3), similarities()
    times: dict[tuple[int, int], int] = {}
    repeated = 0
    for _ in range(10_000):
        questions = list(sampler.ask(1))
        if not questions:
            break
        q = questions[0]
        times[q.u, q.v] = times.get((q.u, q.v), 0) + 1
        repeated += q.purpose == "repeat"
        sampler.tell([Answer(q.id, q.u, q.v, float(np.clip(similarity[q.u, q.v] + random.normal(0, 0.25), 0, 1)))])
    assert set(times.values()) == {3}
    assert len(times) == 120
    assert sampler.done
    assert repeated == 240
    assert ari(complete_split(similarity), sampler.result().labels) == 1.0


def test_exact_ratings_are_hardly_repeated() -> None:
    sampler = grouper("iu-red", repeats=3)
    tally = drive(sampler, FunctionOracle(lambda u, v: float(similarities()[u, v])), budget=110, batch=1)
    assert tally.questions == 110
    assert sampler.result().clusters == 2


@pytest.mark.parametrize("error_rate", [0.0, 0.1])
def test_same_and_different_answers_give_the_groups(error_rate: float) -> None:
    truth = np.arange(40) % 2
    sampler = grouper("iu-red", 40)
    drive(sampler, LabelOracle(truth, error_rate=error_rate), budget=300, batch=1)
    assert ari(truth, sampler.result().labels) > 0.8


def test_three_groups_are_found_by_several_eigenvectors() -> None:
    truth = np.arange(45) % 3
    similarity = similarities(0, truth)
    found = {}
    for method in ("iu-red", "random-ratings"):
        sampler = grouper(method, 45, 3)
        drive(sampler, FunctionOracle(lambda u, v: float(similarity[u, v])), budget=400, batch=1)
        found[method] = ari(truth, sampler.result().labels)
    assert found["iu-red"] == 1.0
    assert found["iu-red"] >= found["random-ratings"]


def test_a_prior_from_the_vectors_stands_until_a_pair_is_rated() -> None:
    vectors, labels = blobs((20, 20), noise=0.3, seed=1)
    near = neighbors_in_memory(vectors, 6)
    inputs = GroupingInputs(vectors, near.index, near.similarity, 0, 2, {"prior": 0.2})
    sampler = make_grouper("iu-red", inputs)
    drive(sampler, SimilarityOracle(vectors, noise=0.05), budget=150, batch=1)
    assert ari(labels, sampler.result().labels) > 0.8
    first = make_grouper("iu-red", inputs).ask(1)[0]
    assert first.purpose in ("connect", "uncertain")


def test_objects_without_vectors_are_grouped_from_a_function() -> None:
    similarity = similarities()
    calls = []

    def rate(u: int, v: int) -> float:
        calls.append((u, v))
        return float(similarity[u, v])

    fitted = PairwiseClusterer(method="iu-red", n_clusters=2, budget=90).fit(None, oracle=rate, items=16)
    assert ari(TRUTH, fitted.labels_) == 1.0
    assert (fitted.n_questions_, fitted.n_clusters_, fitted.n_features_in_, fitted.warning_) == (len(calls), 2, 0, None)
    with_x = PairwiseClusterer(method="iu-red", n_clusters=2, budget=90).fit(np.eye(16), oracle=rate)
    np.testing.assert_array_equal(fitted.labels_, with_x.labels_)
    early = PairwiseClusterer(method="iu-red", budget=3).fit(None, oracle=rate, items=16)
    assert (early.n_clusters_, early.labels_.max()) == (0, -1)
    assert "13 parts" in str(early.warning_)


@pytest.mark.parametrize(("items", "clusters", "groups"), [(5, 1, 1), (3, 3, 3), (1, 1, 1), (2, 2, 2), (3, 2, 2)])
def test_few_items_and_few_groups_are_no_problem(items: int, clusters: int, groups: int) -> None:
    sampler = grouper("iu-red", items, clusters)
    drive(sampler, FunctionOracle(lambda u, v: 0.9 if u + v == 1 else 0.1), budget=20, batch=1)
    assert sampler.result().clusters == groups


def test_what_cannot_be_done_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="use iu-red for more"):
        grouper("s-and-t", clusters=3)
    with pytest.raises(InputError, match="works up to 2,000 items"):
        grouper("s-and-t", items=2001)
    with pytest.raises(InputError, match="there are 16 items"):
        grouper("iu-red", clusters=17)
    with pytest.raises(InputError, match="no parameter 'runs'"):
        grouper("iu-red", runs=3)
    with pytest.raises(InputError, match="repeats is 0"):
        grouper("iu-red", repeats=0)
    with pytest.raises(InputError, match="prior is 2"):
        make_grouper("iu-red", without_vectors(np.ones(4, np.bool_), 0, 2, {"prior": 2.0}))
    with pytest.raises(InputError, match="items=n"):
        PairwiseClusterer(method="iu-red").fit(None, oracle=lambda _u, _v: 0.5)
    with pytest.raises(InputError, match="groups by vectors"):
        PairwiseClusterer(method="hacc", n_clusters=2).fit(None, oracle=lambda _u, _v: True, items=9)
    with pytest.raises(InputError, match="asks same or different"):
        SimilarityOracle(np.eye(3, dtype=np.float32)).answer(Question(0, 0, 1))


def test_an_item_that_could_not_be_read_is_never_asked_about() -> None:
    usable = np.array([True, True, False, True, True, True])
    sampler = make_grouper("iu-red", without_vectors(usable, 0, 2))
    drive(sampler, FunctionOracle(lambda u, v: 0.9 if (u < 3) == (v < 3) else 0.2), budget=40, batch=1)
    assert sampler.result().labels.tolist() == [0, 0, -1, 1, 1, 1]

"""Active-HACC as a sampler: batches, replay, unsure answers, contradictions, missing vectors, condensation."""

import random
import re
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris

from cccount_dist.clustering.agreement import jcc, rwcp
from cccount_dist.clustering.hacc.build import knowledge_of
from cccount_dist.clustering.hacc.knowledge import HaccGrouping
from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs, play

VECTORS, LABELS = blobs((9, 6, 4, 4, 3), noise=0.4)


def make_inputs(
    vectors: NDArray[np.float32], clusters: int | None, parameters: Mapping[str, int | str], seed: int = 0, k: int = 8
) -> GroupingInputs:
    near = neighbors_in_memory(vectors, k)
    return GroupingInputs(vectors, near.index, near.similarity, seed, clusters, dict(parameters))


PLAIN = make_inputs(VECTORS, 5, {"runs": 10})
CONDENSED = make_inputs(VECTORS, 5, {"runs": 10, "units": 12})
LOCAL = make_inputs(VECTORS, 5, {"runs": 10, "effects": "local"})
INPUTS = st.sampled_from([PLAIN, CONDENSED, LOCAL])


def sampler(inputs: GroupingInputs = PLAIN) -> Sampler[Grouping]:
    return make_grouper("hacc", inputs)


@settings(max_examples=25, deadline=None)
@given(INPUTS, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=10), st.randoms(use_true_random=False))
def test_a_campaign_that_was_killed_asks_the_same_questions_when_it_is_resumed(
    inputs: GroupingInputs, cuts: list[tuple[int, int]], chance: random.Random
) -> None:
    live = sampler(inputs)
    log = play(live, cuts, LABELS, chance)
    again = log.resumed(sampler(inputs))
    assert repr(again.result()) == repr(live.result())
    assert again.ask(5) == live.ask(5)
    assert [question.id for question in log.questions] == list(range(len(log.questions)))


@settings(max_examples=25, deadline=None)
@given(INPUTS, st.lists(st.integers(0, 3), max_size=6), st.integers(0, 12))
def test_how_questions_are_cut_into_batches_does_not_change_them(inputs: GroupingInputs, batches: list[int], before: int) -> None:
    whole, cut = sampler(inputs), sampler(inputs)
    for one in (whole, cut):
        drive(one, LabelOracle(LABELS), budget=before)
    asked = [question for batch in batches for question in cut.ask(batch)]
    assert asked == list(whole.ask(sum(batches)))


@settings(max_examples=20, deadline=None)
@given(INPUTS, st.integers(0, 2**30), st.sampled_from([1, 4]), st.floats(0, 0.3))
def test_no_question_is_implied_by_the_answers_and_every_answer_that_holds_is_respected(
    inputs: GroupingInputs, seed: int, batch: int, error_rate: float
) -> None:
    one = sampler(inputs)
    closure = Constraints()
    oracle = LabelOracle(LABELS, error_rate=error_rate, seed=seed)
    pairs: set[tuple[int, int]] = set()
    while not one.done and len(pairs) < 60:
        questions = one.ask(batch)
        assert questions
        for question in questions:
            assert closure.known(question.u, question.v) is None
            pairs.add((question.u, question.v))
        answers = [Answer(q.id, q.u, q.v, oracle.answer(q)) for q in questions]
        one.tell(answers)
        for answer in answers:
            assert answer.value is not None
            assert closure.add(answer.u, answer.v, answer.value, str(answer.question_id))
        labels = one.result().labels
        for u, v in pairs:
            assert (labels[u] == labels[v]) == (closure.known(u, v) == 1.0)


def test_all_answers_lead_to_the_true_clusters() -> None:
    for inputs in (PLAIN, CONDENSED, LOCAL):
        one = sampler(inputs)
        tally = drive(one, LabelOracle(LABELS), budget=400, batch=1)
        assert tally.stopped == "done"
        assert tally.inferred == 0
        if inputs is not CONDENSED:
            assert jcc(LABELS, one.result().labels) == 1.0


def test_questions_of_a_batch_are_about_disjoint_clusters_and_a_pending_one_keeps_its_clusters() -> None:
    one = sampler()
    while len(first := one.ask(100)) < 2:
        one.tell([_truth(question) for question in first])
    labels = one.result().labels
    clusters = [{int(labels[q.u]), int(labels[q.v])} for q in first]
    assert len(set.union(*clusters)) == sum(map(len, clusters))
    one.tell([_truth(first[0])])
    labels = one.result().labels
    held = {int(labels[item]) for q in first[1:] for item in (q.u, q.v)}
    for question in one.ask(100):
        assert held.isdisjoint((int(labels[question.u]), int(labels[question.v])))


def _truth(question: Question) -> Answer:
    return Answer(question.id, question.u, question.v, float(LABELS[question.u] == LABELS[question.v]))


def test_unsure_is_not_different_and_is_not_asked_again() -> None:
    one = sampler()
    before = one.result().labels
    seen = set()
    for _ in range(40):
        questions = one.ask(1)
        assert (questions[0].u, questions[0].v) not in seen
        seen.add((questions[0].u, questions[0].v))
        one.tell([Answer(q.id, q.u, q.v, None) for q in questions])
    assert (one.result().labels == before).all()


def test_a_contradiction_is_kept_and_does_not_stop_the_campaign() -> None:
    one = sampler()
    asked = [one.ask(1)[0]]
    one.tell([Answer(0, asked[0].u, asked[0].v, 1.0)])
    while len(asked) < 12:
        asked += one.ask(1)
        one.tell([_truth(asked[-1])])
    # Everything was the same after all: later answers contradict what the earlier ones now imply.
    one.tell([Answer(q.id, q.u, q.v, 1.0) for q in asked])
    one.tell([Answer(asked[3].id, asked[3].u, asked[3].v, 0.0)])
    assert len(one.ask(3)) >= 1
    assert one.result().clusters >= 1


def test_more_clusters_come_out_when_answers_prove_more() -> None:
    one = sampler(make_inputs(VECTORS, 2, {"runs": 10}))
    drive(one, LabelOracle(LABELS), budget=400)
    result = one.result()
    assert isinstance(result, HaccGrouping)
    assert (result.wanted, result.proven, result.clusters) == (2, 5, 5)
    assert result.warning == "the answers prove 5 different items, and 2 clusters were asked for"
    assert jcc(LABELS, result.labels) == 1.0


def test_an_item_without_a_vector_is_left_out() -> None:
    vectors = np.insert(VECTORS, [3, 10], np.nan, axis=0)
    labels = np.insert(LABELS, [3, 10], -1)
    missing = [3, 11]
    one = sampler(make_inputs(vectors, 5, {"runs": 10}))
    drive(one, LabelOracle(labels), budget=400)
    result = one.result().labels
    assert np.flatnonzero(result < 0).tolist() == missing
    assert jcc(labels, result) == 1.0


def test_a_micro_cluster_that_answers_contradict_is_opened() -> None:
    labels = np.arange(len(LABELS)) % 5  # nothing that lies together belongs together
    one = sampler(CONDENSED)
    drive(one, LabelOracle(labels), budget=400, batch=1)
    result = one.result()
    assert isinstance(result, HaccGrouping)
    assert result.opened > 3
    assert re.search(
        r"26 items .* 12 micro-clusters of near items: of \d+ that were checked \d+ were wrong", result.warning or ""
    )
    assert jcc(labels, result.labels) > 0.9


def test_what_condensing_may_cost_is_said_before_anybody_was_asked_and_a_plain_grouping_has_no_caution() -> None:
    assert (sampler(CONDENSED).result().warning or "").endswith("micro-clusters of near items: none was checked yet")
    assert sampler(make_inputs(VECTORS, 5, {"runs": 10})).result().warning is None


def test_a_dead_end_is_said() -> None:
    # 1 and 2 are nearest and become one; 0 and 3 may then join neither it nor each other, though {0, 2} and {1, 3} would do.
    inputs = make_inputs(np.array([[0.0, 1.0], [1.0, 1.0], [1.1, 1.0], [2.2, 1.0]], np.float32), 2, {"runs": 10}, k=3)
    knowledge = knowledge_of(inputs, np.arange(4))
    for u, v in ((0, 1), (0, 3), (2, 3)):
        knowledge.tell([Answer(knowledge.ask(u, v), u, v, 0.0)])
    result = knowledge.grouping()
    assert result.labels.tolist() == [0, 1, 1, 2]
    assert result.dead_end
    assert result.warning == "the answers keep 3 clusters apart, and 2 were asked for"


@pytest.mark.parametrize(
    ("clusters", "parameters", "words"),
    [
        (None, {}, "needs the number of clusters"),
        (0, {}, "clusters is 0"),
        (27, {}, "26 items"),
        (3, {"runs": 255}, "runs is 255"),
        (3, {"units": -1}, "units is -1"),
        (3, {"unit": 5}, "no parameter 'unit'"),
        (3, {"effects": "some"}, "effects is 'some'"),
    ],
)
def test_wrong_parameters_are_refused_by_name(clusters: int | None, parameters: Mapping[str, int | str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        sampler(make_inputs(VECTORS, clusters, parameters))


@pytest.mark.parametrize("seed", range(3))
def test_iris_is_well_categorised_after_two_questions(seed: int) -> None:  # the paper needs three
    x, y = load_iris(return_X_y=True)
    x = ((x - x.min(axis=0)) / np.ptp(x, axis=0)).astype(np.float32)  # every feature from 0 to 1
    near = neighbors_in_memory(x, 10, "euclidean")
    one = sampler(GroupingInputs(x, near.index, near.similarity, seed, 3))
    drive(one, LabelOracle(y), budget=2, batch=1)
    assert round(rwcp(y, one.result().labels), 2) == 0.97

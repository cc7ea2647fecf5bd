"""The `apc` sampler: labels respect every answer, determinism, replay, undo, batches, odd collections, quality on digits."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.clustering.agreement import ari, nmi
from cccount_dist.clustering.apc.parameters import PROBABILITIES
from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import Answer, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.clustering.groups import Vectors, answer_all, digits, grouper, replies
from tests.cccount_dist.samplers import Played, blobs, play

VECTORS, LABELS = blobs((30, 20, 12, 6, 2), noise=0.6)


def with_parameters(vectors: Vectors, **parameters: str | int | float | bool) -> Sampler[Grouping]:
    found = neighbors_in_memory(vectors, min(50, len(vectors) - 1))
    return make_grouper("apc", GroupingInputs(vectors, found.index, found.similarity, seed=0, parameters=parameters))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 14)), max_size=8), st.randoms())
def test_any_prefix_of_a_log_leads_to_the_same_question_and_labels_respect_every_answer(
    cuts: list[tuple[int, int]], chance: random.Random
) -> None:
    live = grouper(VECTORS, "apc")

    def check(log: Played) -> None:
        again = log.resumed(grouper(VECTORS, "apc"))
        assert again.result().labels.tolist() == live.result().labels.tolist()
        assert again.done == live.done
        _check_respected(live.result().labels, log.answers)

    again = play(live, cuts, LABELS, chance, check).resumed(grouper(VECTORS, "apc"))
    assert again.ask(3) == live.ask(3)


def _check_respected(labels: np.ndarray, answers: list[Answer]) -> None:
    """All but those that contradict the answers before them; who changes their mind speaks last, who says it again does not."""
    known = Constraints()
    before: dict[int, float | None] = {}
    for answer in answers:
        if answer.question_id in before and before[answer.question_id] == answer.value:
            continue
        before[answer.question_id] = answer.value
        known.remove(str(answer.question_id))
        if answer.value is not None:
            known.add(answer.u, answer.v, answer.value, str(answer.question_id))
    refused = {conflict.answer_id for conflict in known.conflicts}
    last = {answer.question_id: answer for answer in answers}
    for number, answer in last.items():
        if answer.value is not None and str(number) not in refused:
            assert (labels[answer.u] == labels[answer.v]) == bool(answer.value)


def test_batches_cut_one_and_the_same_sequence() -> None:
    whole = grouper(VECTORS, "apc").ask(100)
    sampler = grouper(VECTORS, "apc")
    assert [q for limit in (1, 0, 2, 100, 5) for q in sampler.ask(limit)] == list(whole)
    assert [q.id for q in whole] == list(range(len(whole)))


def test_open_questions_are_about_different_clusters() -> None:
    vectors, labels = digits()
    sampler = with_parameters(vectors[:600], attach=0.0)
    for _ in range(5):
        found = sampler.result().labels
        questions = sampler.ask(8)
        clusters = [{found[q.u], found[q.v]} for q in questions]
        assert sum(map(len, clusters)) == len(set().union(*clusters))
        sampler.tell(replies(questions, labels))


def test_all_of_it_is_answered_in_the_end_and_nothing_twice() -> None:
    sampler = grouper(VECTORS, "apc")
    asked: set[tuple[int, int]] = set()
    known = Constraints()
    while questions := sampler.ask(4):
        for q in questions:
            assert known.known(q.u, q.v) is None
            asked.add((min(q.u, q.v), max(q.u, q.v)))
        for a in replies(questions, LABELS):
            known.add(a.u, a.v, float(a.value or 0.0), str(a.question_id))
            sampler.tell([a])
    assert sampler.done
    assert ari(LABELS, sampler.result().labels) > 0.8


@pytest.mark.parametrize("sizes", [(60,), (1,) * 40, (2,)])
def test_odd_collections_come_to_an_end(sizes: tuple[int, ...]) -> None:
    vectors, labels = blobs(sizes, noise=0.5)
    sampler = grouper(vectors, "apc")
    answer_all(sampler, labels, 2000)
    assert sampler.done
    assert np.all(labels[np.unique(sampler.result().labels, return_index=True)[1]] >= 0)


def test_duplicates_are_grouped() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 40, axis=0)
    labels = np.repeat(np.arange(3), 40)
    sampler = grouper(vectors, "apc")
    answer_all(sampler, labels, 60)
    assert ari(labels, sampler.result().labels) == 1.0


def test_an_item_without_a_vector_gets_no_label_and_is_never_asked_about() -> None:
    vectors = VECTORS.copy()
    vectors[[0, 33, 69]] = np.nan
    sampler = grouper(vectors, "apc")
    while questions := sampler.ask(1):
        assert not {0, 33, 69} & {questions[0].u, questions[0].v}
        sampler.tell(replies(questions, LABELS))
    assert np.flatnonzero(sampler.result().labels < 0).tolist() == [0, 33, 69]


def test_unsure_never_joins_and_never_splits() -> None:
    sampler = with_parameters(VECTORS, attach=0.0)
    before = sampler.result().labels
    while questions := sampler.ask(3):
        sampler.tell([Answer(q.id, q.u, q.v, None) for q in questions])
    assert sampler.result().labels.tolist() == before.tolist()


def test_a_changed_answer_takes_back_what_rested_on_it() -> None:
    sampler, straight = grouper(VECTORS, "apc"), grouper(VECTORS, "apc")
    (question,) = sampler.ask(1)
    straight.ask(1)
    (right,) = replies([question], LABELS)
    sampler.tell([Answer(0, question.u, question.v, 1.0 - float(right.value or 0.0))])
    sampler.tell([right])
    straight.tell([right])
    assert sampler.result().labels.tolist() == straight.result().labels.tolist()


@pytest.mark.parametrize("probability", PROBABILITIES)
@pytest.mark.parametrize("recall", ["descending", "top"])
def test_every_variant_of_the_ablation_runs_and_gains(probability: str, recall: str) -> None:
    vectors, labels = digits()
    sampler = with_parameters(vectors[:500], probability=probability, recall=recall)
    start = ari(labels[:500], sampler.result().labels)
    answer_all(sampler, labels[:500], 60)
    assert ari(labels[:500], sampler.result().labels) > start


def test_a_stop_limit_ends_it_early() -> None:
    vectors, labels = digits()
    sampler = with_parameters(vectors[:500], stop=0.02)
    assert answer_all(sampler, labels, 500) < 60
    assert sampler.done


def test_digits_are_grouped_with_150_questions() -> None:
    vectors, labels = digits()
    sampler = grouper(vectors, "apc")
    answer_all(sampler, labels, 150)
    found = sampler.result().labels
    assert nmi(labels, found) >= 0.91
    assert ari(labels, found) >= 0.89


def test_an_answer_that_cannot_be_is_refused() -> None:
    sampler = grouper(VECTORS, "apc")
    sampler.ask(1)
    with pytest.raises(InputError, match="only 1 were asked"):
        sampler.tell([Answer(5, 0, 1, 1.0)])
    with pytest.raises(InputError, match="an answer is 1, 0 or unsure"):
        sampler.tell([Answer(0, 0, 1, 0.4)])


def test_a_hopeless_start_is_called_so() -> None:
    vectors = np.random.default_rng(0).standard_normal((300, 40)).astype(np.float32)
    assert "hopeless" in str(grouper(vectors, "apc").result().warning)
    assert grouper(digits()[0], "apc").result().warning is None

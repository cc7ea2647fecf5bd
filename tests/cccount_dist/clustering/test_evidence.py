"""The evidence sampler: determinism, replay, batches, odd collections, wrong and unsure answers, and quality on digits."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import ari, nmi
from cccount_dist.clustering.evidence.cases import Asked, Cases
from cccount_dist.clustering.evidence.evidence_sampler import evidence_sampler
from cccount_dist.clustering.evidence.logistic import FLOOR, PRIOR_COVARIANCE, PRIOR_MEAN, Model, fit, prior
from cccount_dist.clustering.evidence.micro import Items, Micro, learned_micro, make_micro
from cccount_dist.clustering.evidence.partition import Units, agreement
from cccount_dist.clustering.evidence.representatives import pick
from cccount_dist.clustering.evidence.topics import Topic
from cccount_dist.clustering.evidence.worth import Counted, Rates
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer, KnownAnswer, OutsideAnswer, Question
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.clustering.groups import Labels, answer_all, digits, grouper, replies
from tests.cccount_dist.samplers import Played, blobs, play

VECTORS, LABELS = blobs((30, 20, 12, 6, 2), noise=0.5)


def same_partition(a: Labels, b: Labels) -> bool:
    return ari(a, b) == 1.0


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 14)), max_size=8), st.randoms())
def test_any_prefix_of_a_log_leads_to_the_same_question_and_the_same_result(
    cuts: list[tuple[int, int]], chance: random.Random
) -> None:
    live = grouper(VECTORS)

    def check(log: Played) -> None:
        again = log.resumed(grouper(VECTORS))
        assert again.result().labels.tolist() == live.result().labels.tolist()
        assert again.done == live.done

    again = play(live, cuts, LABELS, chance, check).resumed(grouper(VECTORS))
    assert again.ask(3) == live.ask(3)


def test_batches_cut_one_and_the_same_sequence() -> None:
    whole = grouper(VECTORS).ask(100)
    sampler = grouper(VECTORS)
    assert [q for limit in (1, 0, 2, 100, 5) for q in sampler.ask(limit)] == list(whole)
    assert [q.id for q in whole] == list(range(len(whole)))


def test_open_questions_are_about_different_blocks_and_no_pair_is_asked_twice() -> None:
    sampler = grouper(VECTORS)
    pairs = set()
    for _ in range(20):
        labels = sampler.result().labels
        questions = sampler.ask(8)
        blocks = [{labels[q.u], labels[q.v]} for q in questions]
        assert sum(map(len, blocks)) == len(set().union(*blocks))
        pairs |= {(min(q.u, q.v), max(q.u, q.v)) for q in questions}
        sampler.tell(replies(questions, LABELS))
        if not questions:
            break
    assert sampler.ask(1) == [] or len(pairs) == sampler.ask(1)[0].id - 1


def test_groups_are_found_without_being_told_how_many() -> None:
    vectors, labels = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)
    sampler = grouper(vectors)
    answer_all(sampler, labels, 40)
    assert same_partition(sampler.result().labels, labels)


@pytest.mark.parametrize("sizes", [(60,), (1,) * 40])
def test_all_the_same_and_all_different_are_learned(sizes: tuple[int, ...]) -> None:
    vectors, labels = blobs(sizes, noise=0.5)
    sampler = grouper(vectors)
    answer_all(sampler, labels, 400)
    assert sampler.result().clusters == len(sizes)


@pytest.mark.parametrize(("value", "clusters"), [(1.0, 1), (0.0, 2)])
def test_two_items_are_settled_by_one_answer(value: float, clusters: int) -> None:
    sampler = grouper(np.array([[1, 0], [0.8, 0.6]], np.float32))
    (question,) = sampler.ask(10)
    assert {question.u, question.v} == {0, 1}
    sampler.tell([Answer(0, 0, 1, value)])
    assert sampler.result().clusters == clusters
    assert sampler.ask(10) == []
    assert sampler.done


def test_duplicates_are_grouped() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 40, axis=0)
    labels = np.repeat(np.arange(3), 40)
    sampler = grouper(vectors)
    answer_all(sampler, labels, 60)
    assert same_partition(sampler.result().labels, labels)


def test_an_item_without_a_vector_gets_no_label_and_is_never_asked_about() -> None:
    vectors, labels = VECTORS.copy(), LABELS.copy()
    vectors[[0, 33, 69]] = np.nan
    sampler = grouper(vectors)
    asked: set[int] = set()
    for _ in range(30):
        questions = sampler.ask(1)
        asked |= {item for q in questions for item in (q.u, q.v)}
        sampler.tell(replies(questions, labels))
    assert np.flatnonzero(sampler.result().labels < 0).tolist() == [0, 33, 69]
    assert not asked & {0, 33, 69}


def test_unsure_never_counts_as_different_and_something_else_is_asked() -> None:
    sampler = grouper(VECTORS)
    before = sampler.result().labels
    asked: list[Question] = []
    for _ in range(40):
        questions = sampler.ask(1)
        asked += questions
        sampler.tell([Answer(q.id, q.u, q.v, None) for q in questions])
    assert sampler.result().labels.tolist() == before.tolist()
    blocks = {frozenset((before[q.u], before[q.v])) for q in asked}
    assert len(blocks) >= 8


def test_one_wrong_answer_is_out_voted() -> None:
    vectors, labels = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)
    sampler = grouper(vectors)
    for number in range(60):
        if questions := sampler.ask(1):
            right = replies(questions, labels)
            lie = number in (0, 7, 20)
            sampler.tell([Answer(a.question_id, a.u, a.v, 1.0 - float(a.value or 0.0) if lie else a.value) for a in right])
    assert same_partition(sampler.result().labels, labels)


def test_a_surprising_answer_about_many_items_moves_nothing_until_it_is_confirmed() -> None:
    vectors, labels = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)
    sampler = grouper(vectors)
    answer_all(sampler, labels, 20)
    surprised = False
    while not surprised:  # an answer about few items, which needs no confirmation, may come first
        before = sampler.result().labels
        (question,) = sampler.ask(1)
        together = bool(before[question.u] == before[question.v])
        sampler.tell([Answer(question.id, question.u, question.v, float(not together))])
        (again,) = sampler.ask(1)
        surprised = again.purpose == f"{question.purpose} again"
        assert surprised or question.id < 60
    assert sampler.result().labels.tolist() == before.tolist()
    sampler.tell(replies([again], labels))  # one each: a third vote decides
    (third,) = sampler.ask(1)
    assert third.purpose == again.purpose
    assert len({(q.u, q.v) for q in (question, again, third)}) == 3
    sampler.tell(replies([third], labels))
    assert sampler.result().labels.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("needs", "replies", "settled"),
    [
        (1, [1.0], True),
        (2, [1.0], False),
        (2, [1.0, 1.0], True),
        (2, [1.0, 0.0], False),
        (2, [1.0, 0.0, 0.0], True),
        (3, [1.0, 1.0], False),
        (3, [1.0, 1.0, 0.0], False),
        (3, [1.0, 1.0, 1.0], True),
        (3, [1.0, 0.0, 0.0], True),
        (3, [0.0], True),
    ],
)
def test_a_surprising_answer_counts_when_as_many_agree_as_it_needs(needs: int, replies: list[float], settled: bool) -> None:
    _, micro = make_micro(VECTORS, neighbors_in_memory(VECTORS, 50).index)
    left, right = ((tuple(range(start, start + 8))) for start in (0, 8))
    topic = Topic("confirm apart", left, right, np.ones(4), True, False, True, needs)
    cases = Cases()
    for number, value in enumerate(replies):
        items = pick(micro, left, right, cases.pairs)
        assert items is not None
        cases.add([Asked(number, *items, 0, topic)])
        cases.reply(number, value)
    count = cases.count(micro, Rates())
    assert count.unsettled.tolist() == ([] if settled else [0])
    assert (count.evidence != 0.0).all() == settled
    assert len(count.lessons) == int(settled)


def test_the_space_is_learned_from_pairs_that_were_called_the_same_and_not_out_voted() -> None:
    _, micro = make_micro(VECTORS, neighbors_in_memory(VECTORS, 50).index)
    topic = Topic("confirm apart", (0, 1, 2, 3), (4, 5, 6, 7), np.ones(4), True, False, True, 1)
    waiting = replace(topic, needs=2)
    cases = Cases()
    cases.add([Asked(0, 0, 4, 0, topic), Asked(1, 1, 5, 0, topic)])  # two of one case agree
    cases.add([Asked(2, 0, 5, 2, topic), Asked(3, 1, 6, 2, topic), Asked(4, 2, 7, 2, topic)])  # one against two
    cases.add([Asked(5, 3, 7, 5, waiting)])  # waits for a confirmation
    for number, value in enumerate((1.0, 1.0, 1.0, 0.0, 0.0, 1.0)):
        cases.reply(number, value)
    count = cases.count(micro, Rates())
    assert cases.same(count, Model(np.zeros(4), np.eye(4))).tolist() == [[0, 4], [1, 5]]
    assert cases.same(count, Model(np.full(4, -1.0), 1e-6 * np.eye(4))).tolist() == [[0, 4], [1, 5]]  # -4 against 2 · 2.94
    assert len(cases.same(count, Model(np.full(4, -3.0), 1e-6 * np.eye(4)))) == 0  # the model is clipped at -6, that is enough


@pytest.mark.parametrize(("most", "times"), [(75, 1), (74, 0)])
def test_the_space_of_a_large_collection_stays(most: int, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[Micro] = []

    def noted(items: Items, old: Micro, same: np.ndarray) -> Micro:
        learned.append(old)
        return old

    monkeypatch.setattr("cccount_dist.clustering.evidence.evidence_sampler.learned_micro", noted)
    monkeypatch.setattr("cccount_dist.clustering.evidence.evidence_sampler.LEARN_UP_TO", most)
    vectors, labels = blobs((30, 25, 20), dimensions=12, noise=0.9)
    answer_all(grouper(vectors), labels, 80)
    assert len(learned) == times


def test_a_run_in_which_the_space_was_learned_again_is_replayed_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    original = learned_micro

    def noted(items: Items, old: Micro, same: np.ndarray) -> Micro:
        learned.append(len(same))
        return original(items, old, same)

    monkeypatch.setattr("cccount_dist.clustering.evidence.evidence_sampler.learned_micro", noted)
    monkeypatch.setattr("cccount_dist.clustering.evidence.evidence_sampler.LEARN_AT", 40)
    vectors, labels = blobs((30, 25, 20, 15, 10) * 2, dimensions=12, noise=0.9)
    live, oracle = grouper(vectors), LabelOracle(labels, error_rate=0.1, seed=0)
    log: list[tuple[Question, Answer]] = []
    for number in range(100):
        if number % 3 == 0:
            live.result()  # looking changes nothing
        for q in live.ask(1):
            log.append((q, Answer(q.id, q.u, q.v, oracle.answer(q))))
            live.tell([log[-1][1]])
    assert len(set(learned)) >= 2
    again = grouper(vectors)
    for question, answer in log:
        assert again.ask(1) == [question]
        again.tell([answer])
    assert again.result().labels.tolist() == live.result().labels.tolist()
    assert again.ask(3) == live.ask(3)


def test_an_answer_to_a_question_that_was_not_asked_is_refused() -> None:
    sampler = grouper(VECTORS)
    (question,) = sampler.ask(1)
    with pytest.raises(InputError, match="only the questions 0 to 0 were asked"):
        sampler.tell([Answer(1, 0, 1, 1.0)])
    with pytest.raises(InputError, match="and its answer about"):
        sampler.tell([Answer(0, question.u, (question.v + 1) % len(VECTORS), 1.0)])
    with pytest.raises(InputError, match="an answer is 1, 0 or unsure"):
        sampler.tell([Answer(0, question.u, question.v, 7.0)])
    assert not sampler.done


@pytest.mark.parametrize(("wrong", "least"), [(0.0, 0.94), (0.05, 0.92)])
def test_digits_are_grouped_with_150_questions(wrong: float, least: float) -> None:
    vectors, labels = digits()
    sampler, oracle = grouper(vectors), LabelOracle(labels, error_rate=wrong, seed=1)
    for _ in range(150):
        sampler.tell([Answer(q.id, q.u, q.v, oracle.answer(q)) for q in sampler.ask(1)])
    found = sampler.result().labels
    assert nmi(labels, found) >= least
    assert ari(labels, found) >= least


def test_a_collection_without_structure_is_called_so_after_50_questions_and_digits_never() -> None:
    random_vectors = np.random.default_rng(0).standard_normal((400, 20)).astype(np.float32)
    labels = np.arange(400) // 2
    sampler = evidence_sampler(random_vectors, neighbors_in_memory(random_vectors, 50).index)
    assert sampler.warning() is None
    answer_all(sampler, labels, 70)
    assert "hardly tell the groups apart" in str(sampler.warning())
    vectors, known = digits()
    good = evidence_sampler(vectors, neighbors_in_memory(vectors, 50).index)
    answer_all(good, known, 70)
    assert good.warning() is None


def test_answers_are_worth_what_gold_says_and_what_is_taken_back_is_forgotten() -> None:
    counted = Counted()
    usual = counted.rates
    assert usual.evidence(np.array([True, False])) == pytest.approx([np.log(19), -np.log(19)])
    gold = [KnownAnswer(-1, 0, 1, value, truth=0.0) for value in (0.0, 1.0, 1.0, 0.0)] + [
        KnownAnswer(-1, 0, 1, 1.0, truth=1.0)
    ] * 80
    for answer in gold:
        counted.know(answer)
    assert counted.rates.miss == pytest.approx(0.01)
    assert counted.rates.false_same == pytest.approx(3 / 24)
    assert counted.rates.evidence(np.array([True]))[0] < usual.evidence(np.array([True]))[0]  # "same" is often wrong here
    for answer in gold:
        counted.know(replace(answer, times=-1))
    assert counted.rates == usual
    assert Counted((0.0, 0.9)).rates == Rates(0.01, 0.3)  # given ones: none is beyond doubt, none worth nothing


def test_nothing_new_is_asked_once_the_groups_are_expected_to_be_good_enough() -> None:
    vectors, labels = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)
    found = neighbors_in_memory(vectors, 50).index
    sampler = evidence_sampler(vectors, found, stop=0.9)
    asked = answer_all(sampler, labels, 500)
    assert 20 <= asked < 200
    assert sampler.done
    assert same_partition(sampler.result().labels, labels)


def test_nothing_new_is_asked_once_answers_no_longer_change_the_groups() -> None:
    vectors, labels = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)
    found = neighbors_in_memory(vectors, 50).index
    patient, hasty = (evidence_sampler(vectors, found, steady=steady) for steady in (60, 20))
    later, sooner = (answer_all(sampler, labels, 500) for sampler in (patient, hasty))
    assert 20 <= sooner < later <= sooner + 60
    assert hasty.done
    assert patient.done
    assert same_partition(hasty.result().labels, labels)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 5)), min_size=1, max_size=12))
def test_two_groupings_agree_as_far_as_the_pairs_that_they_join(micros: list[tuple[int, int, int]]) -> None:
    before, now, size = (np.array(column) for column in zip(*micros, strict=True))
    items = [(a, b) for a, b, count in micros for _ in range(count)]
    pairs = [(p[0] == q[0], p[1] == q[1]) for at, p in enumerate(items) for q in items[:at]]
    both, either = sum(a and b for a, b in pairs), sum(a + b for a, b in pairs)
    order, sizes = np.argsort(now, kind="stable"), np.bincount(now, weights=size, minlength=5).astype(np.float64)
    start = np.concatenate([[0], np.cumsum(np.bincount(now, minlength=5))])
    units = Units(order, start, sizes, np.empty((5, 0)), np.empty(5))
    assert agreement(before, units, size.astype(np.float64)) == pytest.approx(2 * both / either if either else 1.0)


def test_different_answers_about_pairs_of_middling_closeness_leave_close_pairs_together() -> None:
    middling, close = np.array([1.0, -3.0, 0.4, 3.0]), np.array([1.0, -1.0, 1.0, 3.0])
    before = prior()
    after = fit(np.tile(middling, (12, 1)), np.full(12, -2.9), before.weight)
    assert middling @ after.weight < middling @ before.weight - 2.0
    assert close @ after.weight > 0.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 20))
def test_every_fit_of_the_model_is_likelier_than_where_it_began(seed: int, cases: int) -> None:
    """As expectation and maximisation promise, with the prior and an unknown label for each case counted in."""
    random = np.random.default_rng(seed)
    features = np.column_stack(
        [np.ones(cases), random.uniform(-6, 0, cases), random.uniform(0, 1, cases), random.uniform(0, 3, cases)]
    )
    lessons = random.choice([-2.9, 2.9, 5.8], cases)

    def loss(weight: NDArray[np.float64]) -> float:
        z, away = features @ weight, weight - PRIOR_MEAN
        likelihood = np.logaddexp(z + lessons, 0.0) - np.logaddexp(z, 0.0)
        return float(0.5 * away @ np.linalg.solve(PRIOR_COVARIANCE, away) - likelihood.sum())

    once = fit(features, lessons, prior().weight).weight
    again = fit(features, lessons, once).weight
    assume((once > FLOOR).all() and (again > FLOOR).all())  # a floor is put under the weights at the end
    assert loss(once) <= loss(PRIOR_MEAN) + 1e-6
    assert loss(again) <= loss(once) + 1e-6


@pytest.mark.parametrize("rates", [None, (0.0, 0.0)])
@pytest.mark.parametrize("items", [3, 5, 8, 11, 16])
def test_a_handful_of_items_is_grouped_as_people_said_once_every_pair_was_answered(
    items: int, rates: tuple[float, float] | None
) -> None:
    """The neighbours of each are then all others: that these are near says nothing, and no answer may be outweighed by it."""
    for seed in range(6):
        rng = np.random.default_rng((items, seed))
        labels = rng.integers(0, max(1, items // 2), items)
        vectors = (rng.normal(size=(items, 12))[labels] + rng.normal(size=(items, 12))).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        lists = neighbors_in_memory(vectors, min(8, items - 1), "cosine").index
        sampler = evidence_sampler(vectors, lists, rates=rates)
        pairs = [(u, v) for v in range(items) for u in range(v)]
        sampler.know([OutsideAnswer(-1, u, v, float(labels[u] == labels[v])) for u, v in pairs])
        assert same_partition(sampler.result().labels, labels), (items, seed)

"""Inverse sampling: exact mean and variance for any sizes and weights, coverage, budgets that cut, revised answers, replay."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.counting.inverse import InverseSampler, inverse
from cccount_dist.counting.inverse_interval import inverse_result
from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError
from storage.settings import Scalar
from tests.cccount_dist.samplers import Labels, answered


def labels_of(*sizes: int) -> Labels:
    return np.repeat(np.arange(len(sizes)), sizes)


def run(sampler: InverseSampler, labels: Labels, budget: int) -> CountResult:
    """Answer at most `budget` questions; the closure is left out, because it changes what is paid for and not what is drawn."""
    asked = 0
    while asked < budget and (questions := list(sampler.ask(budget - asked))):
        sampler.tell(answered(questions, labels))
        asked += len(questions)
    return sampler.result()


def lengths(sampler: InverseSampler) -> NDArray[np.float64]:
    return np.array([replicate.length for replicate in sampler._replicates], float)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=7).filter(lambda sizes: sum(sizes) > 1),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 1.0, 3.0]),
)
def test_the_mean_is_the_number_of_clusters_for_any_sizes_and_weights(sizes: list[int], seed: int, skew: float) -> None:
    labels = labels_of(*sizes)
    weights = np.random.default_rng(seed).random(len(labels)) ** skew + 0.02
    share = np.bincount(labels, weights=weights) / weights.sum()
    clusters = len(sizes)
    variance = float((share * (2 / share**2 - 1 / share)).sum() - clusters**2)
    sampler = InverseSampler(weights, seed=seed, replicates=600)
    result = run(sampler, labels, 10**6)
    assert sampler.done
    assert result.anchors == 600
    assert result.estimate == pytest.approx(lengths(sampler).mean())
    assert abs((result.estimate or 0) - clusters) <= 4 * np.sqrt(variance / 600) + 1e-12


def test_the_variance_of_a_replicate_is_the_derived_one() -> None:
    labels = labels_of(6, 3, 3)
    share = np.array([0.5, 0.25, 0.25])
    variance = float((share * (2 / share**2 - 1 / share)).sum() - 9)  # E[2/p²] - E[1/p] - K²
    sampler = inverse(np.zeros(12), seed=2, replicates=8000)
    run(sampler, labels, 10**6)
    squares = (lengths(sampler) - 3) ** 2
    assert abs(squares.mean() - variance) < 4 * squares.std() / np.sqrt(8000)
    assert variance >= 9 - 3  # the bound that the interval uses: CV² ≥ 1 - 1/K


COVERED = 0.95 - 3 * np.sqrt(0.95 * 0.05 / 300)


@pytest.mark.parametrize(
    ("sizes", "budget", "alpha"),
    [
        ((25,) * 12, 60, 0.0),
        ((25,) * 12, 200, 0.0),
        ((25,) * 12, 150, 1.0),
        ((1,) * 30, 60, 0.0),
        ((300,), 20, 0.0),
        ((270, *(1,) * 30), 100, 0.0),
        ((270, *(1,) * 30), 250, 0.0),
    ],
    ids=["balanced, few", "balanced", "weighted", "singletons", "one cluster", "giant, few", "giant"],
)
def test_intervals_cover_when_a_budget_cuts(sizes: tuple[int, ...], budget: int, alpha: float) -> None:
    labels = labels_of(*sizes)
    degrees = np.random.default_rng(0).random(len(labels)) * 10
    results = [run(inverse(degrees, seed=seed, alpha=alpha), labels, budget) for seed in range(300)]
    assert all(1 <= result.low <= result.high <= len(labels) for result in results)
    assert np.mean([result.low <= len(sizes) <= result.high for result in results]) >= COVERED


@pytest.mark.parametrize(("sizes", "budget"), [((30,) * 10, 120), ((60, 60, 40, 40, 20, 20, 10, 10), 150)])
def test_a_budget_that_cuts_the_last_replicate_does_not_bias_the_estimate(sizes: tuple[int, ...], budget: int) -> None:
    labels = labels_of(*sizes)
    found = np.array([run(inverse(np.zeros(len(labels)), seed=seed), labels, budget).estimate or np.nan for seed in range(400)])
    error = found.std() / np.sqrt(len(found))
    assert abs(found.mean() - len(sizes)) < 4 * error + 0.02 * len(sizes)  # what is left is of second order in 1/R


def test_one_cluster_is_1_exactly() -> None:
    result = run(inverse(np.zeros(50), replicates=40), labels_of(50), 10**4)
    assert (result.estimate, result.low, result.anchors) == (1.0, 1.0, 40)
    assert 1 < result.high < 10  # 40 replicates do not exclude a few small clusters


def test_only_the_certain_is_said_with_fewer_than_two_replicates() -> None:
    assert inverse_result([], 7, 90, 0.95) == (None, 1.0, 90.0)
    assert inverse_result([4], 0, 90, 0.95)[1:] == (1.0, 90.0)


def test_few_replicates_do_not_exclude_a_long_tail() -> None:
    assert inverse_result([9, 12, 7, 11], 0, 500, 0.95)[2] == 500.0
    assert inverse_result([9, 12, 7, 11] * 5, 0, 500, 0.95)[2] < 25


def test_equal_lengths_do_not_make_the_interval_narrower_than_is_possible() -> None:
    _, low, high = inverse_result([10] * 30, None, 1000, 0.95)
    assert high / low > 1.9


def truth(questions: list[Question], labels: Labels, chance: random.Random) -> list[Answer]:
    return [Answer(a.question_id, a.u, a.v, None if chance.random() < 0.2 else a.value) for a in answered(questions, labels)]


def slow_result(sampler: InverseSampler, answers: dict[int, float | None]) -> tuple[list[int], int | None]:
    """Lengths of the complete replicates up to the first that is not, and of that one, from the sampler's draws alone."""
    found: list[int] = []
    for index, replicate in enumerate(sampler._replicates):
        numbers = {draw: number for number, (i, draw, _) in enumerate(sampler._where) if i == index}
        length = 0
        for draw in range(replicate.issued):
            if draw in numbers and numbers[draw] not in answers:
                return found, length
            value = answers[numbers[draw]] if draw in numbers else 1.0
            length += value is not None
            if value == 1.0:
                break
        else:
            return found, length
        found.append(length)
    return found, 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 12), min_size=1, max_size=25), st.randoms())
def test_result_and_questions_follow_from_the_log_with_unsure_late_and_revised_answers(
    seed: int, batches: list[int], chance: random.Random
) -> None:
    labels = labels_of(5, 3, 2, 1)
    live = inverse(np.zeros(11), seed=seed)
    rounds: list[Round] = []
    log: list[Answer] = []
    asked: list[Question] = []
    for number, limit in enumerate(batches):
        rounds.append(Round(number, len(log), live.ask(limit)))
        asked += rounds[-1].questions
        some = [q for q in asked if chance.random() < 0.7]
        replies = truth(some, labels, chance)
        if asked and chance.random() < 0.2:
            wrong = chance.choice(asked)
            replies.append(Answer(wrong.id, wrong.u, wrong.v, 1.0))
        live.tell(replies)
        log += replies
        found, cut = slow_result(live, {a.question_id: a.value for a in log})
        result = live.result()
        assert (result.estimate, result.low, result.high) == inverse_result(found, cut, 11, 0.95)
        assert result.anchors == len(found)
    again = inverse(np.zeros(11), seed=seed)
    replay(again, rounds, log)
    assert repr(again.result()) == repr(live.result())
    assert again.ask(5) == live.ask(5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 7), max_size=12))
def test_how_a_round_is_cut_into_batches_changes_nothing(seed: int, batches: list[int]) -> None:
    labels = labels_of(8, 6, 4)
    whole, cut = inverse(np.zeros(18), seed=seed), inverse(np.zeros(18), seed=seed)
    for _ in range(6):
        expected = list(whole.ask(sum(batches)))
        assert [question for batch in batches for question in cut.ask(batch)] == expected
        whole.tell(answered(expected, labels))
        cut.tell(answered(expected, labels)[::-1])
    assert whole.result() == cut.result()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 9), min_size=1, max_size=15), st.randoms(use_true_random=False))
def test_it_does_not_matter_which_answers_come_together_not_even_replaced_ones(
    seed: int, counts: list[int], chance: random.Random
) -> None:
    labels = labels_of(5, 3, 2, 1)
    together, singly = (inverse(np.zeros(len(labels)), seed=seed) for _ in range(2))
    asked: list[Question] = []
    for count in counts:
        asked += (found := together.ask(3))
        assert list(singly.ask(3)) == found
        some = [chance.choice(asked) for _ in range(count)]
        replies = [Answer(q.id, q.u, q.v, chance.choice([0.0, 1.0, None])) for q in some]
        together.tell(replies)
        for reply in replies:
            singly.tell([reply])
            singly.tell([])
    assert singly.ask(20) == together.ask(20)
    assert singly.result() == together.result()


def test_a_larger_budget_goes_on_with_the_same_questions() -> None:
    labels = labels_of(*(20,) * 8)
    logs: list[list[tuple[int, int]]] = []
    for budget in (50, 200):
        logs.append([])
        drive(
            inverse(np.zeros(160), seed=3),
            LabelOracle(labels),
            budget=budget,
            batch=1,
            on_batch=lambda replies: logs[-1].extend((r.question.u, r.question.v) for r in replies),
        )
    assert logs[1][: len(logs[0])] == logs[0]


def test_unsure_is_never_different() -> None:
    sampler = inverse(np.zeros(40), seed=1)
    for _ in range(50):
        questions = list(sampler.ask(10))
        sampler.tell([Answer(q.id, q.u, q.v, None) for q in questions])
    result = sampler.result()
    # Only a draw of the anchor itself ends a replicate here, and nothing before it counts.
    assert result.answers == 0
    assert set(lengths(sampler)[: result.anchors]) <= {1.0}


def test_few_questions_are_asked_ahead_in_vain() -> None:
    labels = labels_of(*(50,) * 20)
    sampler = inverse(np.zeros(1000), replicates=60)
    asked = 0
    while not sampler.done:
        questions = list(sampler.ask(10**6))
        sampler.tell(answered(questions, labels))
        asked += len(questions)
    assert asked < 1.25 * lengths(sampler).sum()


def test_items_without_a_vector_are_not_counted_and_weights_favour_isolated_items() -> None:
    degrees = np.array([0.0, np.nan, 99.0, 99.0, 99.0, np.nan, 0.0])
    questions = [q for seed in range(200) for q in inverse(degrees, seed=seed, alpha=1.0).ask(1)]
    seen = [item for q in questions for item in (q.u, q.v)]
    assert set(seen) <= {0, 2, 3, 4, 6}
    assert np.isin(seen, [0, 6]).mean() > 0.9
    assert inverse(degrees).result().high == 5.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 3.0}, "alpha of inverse must be between 0 and 2, not 3.0"),
        ({"replicates": 0}, "replicates of inverse must be a whole number, 1 or more, not 0"),
        ({"ratio": 7}, "inverse has no parameter 'ratio': it has alpha, replicates"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(parameters: dict[str, Scalar], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_counter("inverse", vectors=np.eye(3, dtype=np.float32), degree=np.zeros(3), parameters=parameters)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0, 0.0, 1.0], "above 0"), ([1.0, np.inf], "finite"), ([1.0, np.nan], "at least 2 items with a vector, not 1")],
)
def test_weights_that_cannot_be_used_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        InverseSampler(np.array(weights))


def test_an_answer_to_something_else_is_refused_and_nothing_of_its_batch_is_taken() -> None:
    sampler = inverse(np.zeros(9), seed=4)
    (question,) = sampler.ask(1)
    good = Answer(0, question.u, question.v, 0.0)
    for bad in (Answer(1, 0, 1, 1.0), Answer(0, -1, 5, 1.0), Answer(0, question.u, question.v, 0.5)):
        with pytest.raises(InputError, match=f"question {bad.question_id}"):
            sampler.tell([good, bad])
    assert sampler.result().answers == 0


def test_the_first_questions_of_a_seed_are_the_same_on_every_machine() -> None:
    sampler = inverse(np.zeros(20), seed=1)
    pairs = []
    for _ in range(4):
        questions = list(sampler.ask(5))
        pairs += [(q.u, q.v) for q in questions]
        sampler.tell([Answer(q.id, q.u, q.v, 0.0) for q in questions])
    # A change here would make every campaign that people have begun impossible to replay.
    assert pairs == [(13, 3), (13, 12), (13, 6), (13, 1)]

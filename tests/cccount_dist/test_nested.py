"""Nested sampling: the paper's example, expectations that are enumerated, unbiased degrees, the schedule, odd inputs."""

from collections import Counter
from itertools import combinations_with_replacement
from math import factorial, isqrt, prod
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.nested import NestedSampler, Proposal
from cccount_dist.counting.nested_mc import UniformProposal
from cccount_dist.counting.nis import ImportanceProposal
from cccount_dist.counting.parameters import UNIFORM
from cccount_dist.counting.schedule import Schedule
from cccount_dist.counting.similarities import metric_similarity
from cccount_dist.sampling.types import Answer, Question
from cccount_dist.similarity.rows import degree
from storage.errors import InputError
from tests.cccount_dist.samplers import answered, blobs, counter

METHODS = ("nis", "nested-mc")
VECTORS, LABELS = blobs((4, 3, 2), dimensions=4, noise=0.8, seed=5)  # the sizes of the paper's figure 2
ITEMS = len(LABELS)
SAME = (LABELS[:, None] == LABELS).astype(float) - np.eye(ITEMS)
Weights = NDArray[np.float64]


class EveryPair:
    """A proposal that goes through all anchors and all draws in turn, so that every degree is exact."""

    name = "every-pair"
    items = ITEMS

    def __init__(self) -> None:
        self.next = 0

    def anchor(self, uniform: float) -> tuple[int, float]:
        self.next += 1
        return (self.next - 1) % ITEMS, 1.0 / ITEMS

    def draw(self, u: int, uniform: Weights) -> tuple[NDArray[np.int64], Weights]:
        others = np.delete(np.arange(ITEMS), u)
        return np.resize(others, len(uniform)), np.full(len(uniform), 1.0 / (ITEMS - 1))


def test_the_example_of_figure_2_gives_exactly_3() -> None:
    # 72 anchors are every item 8 times, and 7 · 72 draws are every other item 63 times: lemma 1 without any chance.
    sampler = NestedSampler(EveryPair(), seed=0)
    sampler.tell(answered(list(sampler.ask(7 * 72**2)), LABELS))
    result = sampler.result()
    assert (result.estimate, result.anchors, result.answers) == (3.0, 72, 7 * 72**2)


def proposals(method: str) -> tuple[Weights, Weights]:
    """Return Q (n,) and q (n, n) as the paper and the defensive mixture say, in plain numpy."""
    if method == "nested-mc":
        return np.full(ITEMS, 1 / ITEMS), np.full((ITEMS, ITEMS), 1 / (ITEMS - 1))
    x = VECTORS.astype(np.float64)
    similarity = np.clip(x @ x.T, 0, 1) * (1 - np.eye(ITEMS))
    outer = 1 / (1 + similarity.sum(axis=1))
    inner = (1 - UNIFORM) * similarity / similarity.sum(axis=1, keepdims=True) + UNIFORM / (ITEMS - 1)
    return outer / outer.sum(), inner


def enumerated_expectation(method: str, draws: int) -> float:
    """Sum Q(u) · 1/Q(u) · 1/(1 + d̂) over every anchor and every outcome of its draws: equations 6 and 7."""
    _, q = proposals(method)
    total = 0.0
    for u in range(ITEMS):
        members = np.flatnonzero(SAME[u])
        chances = {**{1 / q[u, v]: 0.0 for v in members}, 0.0: 1 - q[u, members].sum()}
        for v in members:
            chances[1 / q[u, v]] += q[u, v]
        for outcome in combinations_with_replacement(list(chances), draws):
            times = Counter(outcome)
            ways = factorial(draws) // prod(factorial(count) for count in times.values())
            chance = ways * prod(chances[value] ** count for value, count in times.items())
            total += chance / (1 + sum(outcome) / draws)
    return total


@pytest.mark.parametrize("method", METHODS)
def test_the_mean_estimate_is_the_enumerated_expectation(method: str) -> None:
    degrees = degree(VECTORS)
    estimates = []
    for seed in range(2500):
        sampler = make_counter(method, vectors=VECTORS, degree=degrees, seed=seed)
        sampler.tell(answered(list(sampler.ask(28)), LABELS))
        result = sampler.result()
        assert result.anchors == 2
        estimates.append(result.estimate)
    found = np.array(estimates, dtype=float)
    error = found.std(ddof=1) / np.sqrt(len(found))
    assert abs(found.mean() - enumerated_expectation(method, 14)) < 4 * error
    assert error < 0.05  # the test has teeth: it would see a bias of 0.2


@pytest.mark.parametrize(
    "proposal", [ImportanceProposal(metric_similarity(VECTORS, degree(VECTORS))), UniformProposal(degree(VECTORS))]
)
def test_the_degree_estimate_is_unbiased_and_the_draws_have_the_stated_probability(proposal: Proposal) -> None:
    Q, q = proposals(proposal.name)
    random = np.random.default_rng(8)
    for u in range(ITEMS):
        v, stated = proposal.draw(u, random.random((40_000, 2)))
        assert not (v == u).any()
        np.testing.assert_allclose(stated, q[u, v], rtol=1e-5)
        terms = SAME[u, v] / stated
        assert abs(terms.mean() - SAME[u].sum()) < 4 * terms.std() / np.sqrt(len(terms))
    anchors = [proposal.anchor(uniform) for uniform in random.random(5000)]
    assert dict(anchors) == {u: pytest.approx(Q[u], rel=1e-5) for u in range(ITEMS)}
    frequency = np.bincount([u for u, _ in anchors], minlength=ITEMS) / 5000
    assert (abs(frequency - Q) < 4 * np.sqrt(Q * (1 - Q) / 5000)).all()


def slow_result(
    questions: list[Question], values: dict[int, float | None], method: str, level: float
) -> tuple[float, float, float]:
    """The estimate and its interval, anchor by anchor, from plain lists."""
    Q, q = proposals(method)
    anchors: dict[str, list[Question]] = {}
    for question in questions:
        anchors.setdefault(question.purpose, []).append(question)
    settled = {name: [question for question in mine if question.id in values] for name, mine in anchors.items()}
    reached = max((n for n in range(99) if sum(len(mine) >= 7 * n for mine in settled.values()) >= n), default=0)
    terms = []
    for mine in settled.values():
        known = [(question, value) for question in mine if (value := values[question.id]) is not None]
        if len(mine) >= 7 * reached and known:
            d_hat = sum(value / q[question.u, question.v] for question, value in known) / len(known)
            terms.append(1 / Q[mine[0].u] / (1 + d_hat))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    half = z * np.std(terms, ddof=1) / np.sqrt(len(terms))
    return float(np.mean(terms)), float(np.mean(terms) - half), float(np.mean(terms) + half)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(METHODS), st.integers(28, 500), st.integers(0, 10**6), st.sampled_from([0.8, 0.95]))
def test_result_equals_a_direct_computation_with_open_and_unsure_questions(
    method: str, asked: int, seed: int, level: float
) -> None:
    sampler = counter(VECTORS, method, seed, level)
    questions = list(sampler.ask(asked))
    random = np.random.default_rng(seed)
    values: dict[int, float | None] = {}
    for question in questions:
        chance = random.random()
        if chance < 0.9 or question.id < 28:
            values[question.id] = None if chance < 0.1 else SAME[question.u, question.v]
    order = random.permutation(list(values)).tolist()
    sampler.tell([Answer(number, questions[number].u, questions[number].v, values[number]) for number in order])
    result = sampler.result()
    assert (result.estimate, result.low, result.high) == pytest.approx(slow_result(questions, values, method, level), rel=1e-5)
    assert result.answers == sum(value is not None for value in values.values())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**13), st.integers(0, 300))
def test_every_place_of_the_sequence_keeps_the_ratio_of_1_to_7(start: int, count: int) -> None:
    anchor, draw = Schedule().locate(start, start + count)
    for number, a, j in zip(range(start, start + count), anchor.tolist(), draw.tolist(), strict=True):
        level = isqrt(number // 7)
        assert 7 * level**2 <= number < 7 * (level + 1) ** 2
        expected = 7 * level**2 + (7 * level + j if a == level else 7 * a + j - 7 * level)
        assert expected == number
        assert (a < level and 7 * level <= j < 7 * level + 7) or (a == level and 0 <= j < 7 * (level + 1))


def test_at_each_level_every_anchor_has_the_same_draws() -> None:
    for level in range(1, 12):
        anchor, draw = Schedule().locate(0, 7 * level**2)
        assert sorted(zip(anchor.tolist(), draw.tolist(), strict=True)) == [
            (a, j) for a in range(level) for j in range(7 * level)
        ]
        assert Schedule().anchors_after(7 * level**2) == level


@pytest.mark.parametrize("method", METHODS)
def test_with_fewer_than_two_anchors_the_interval_is_the_certain_one(method: str) -> None:
    sampler = counter(VECTORS, method)
    questions = list(sampler.ask(28))
    seen = []
    for question in questions:
        result = sampler.result()
        seen.append((result.anchors, result.estimate is None))
        if result.anchors < 2:
            assert (result.low, result.high) == (1.0, ITEMS)
        sampler.tell(answered([question], LABELS))
    assert seen[:7] == [(0, True)] * 7
    assert seen[7:21] == [(1, False)] * 14
    assert sampler.result().anchors == 2


def test_a_later_answer_replaces_an_earlier_one_and_unsure_takes_it_back() -> None:
    sampler, other = counter(VECTORS), counter(VECTORS)
    questions = list(sampler.ask(63))
    truth = answered(questions, LABELS)
    other.ask(63)
    wrong = [Answer(a.question_id, a.v, a.u, 1.0 - (a.value or 0.0)) for a in truth]
    sampler.tell(wrong)
    sampler.tell(truth)
    other.tell(truth[::-1])
    assert sampler.result() == other.result()
    sampler.tell([Answer(a.question_id, a.u, a.v, None) for a in truth])
    assert (sampler.result().estimate, sampler.result().answers) == (None, 0)


def test_unsure_is_never_different() -> None:
    sampler = counter(VECTORS)
    answers = answered(list(sampler.ask(63)), LABELS)
    sampler.tell([answer if answer.value else Answer(answer.question_id, answer.u, answer.v, None) for answer in answers])
    few = sampler.result().estimate
    sampler.tell(answers)
    many = sampler.result().estimate
    assert few is not None
    assert many is not None
    assert few < many


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(7, 0, 1, 1.0), "question 7 was answered, but only the questions 0 to 6 were asked"),
        (Answer(-1, 0, 1, 1.0), "question -1"),
        (Answer(0, 0, 0, 1.0), r"question 0 is about \(\d, \d\), and its answer about \(0, 0\)"),
        (Answer(0, -1, -1, 2.0), "question 0 is about"),
    ],
)
def test_an_answer_to_something_else_is_refused_and_nothing_of_its_batch_is_taken(answer: Answer, message: str) -> None:
    sampler = counter(VECTORS)
    questions = list(sampler.ask(7))
    with pytest.raises(InputError, match=message):
        sampler.tell([*answered(questions, LABELS), answer])
    assert sampler.result().answers == 0


@pytest.mark.parametrize("value", [2.0, -0.5, float("nan")])
def test_a_value_outside_0_and_1_is_refused(value: float) -> None:
    sampler = counter(VECTORS)
    (question,) = sampler.ask(1)
    with pytest.raises(InputError, match="question 0 was answered with"):
        sampler.tell([Answer(0, question.u, question.v, value)])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((5, 3)),
        np.tile([[0.6, 0.8]], (5, 1)),
        np.array([[1.0], [-1.0]]),
        np.eye(5),
        np.array([[0.0, 0.0], [1.0, 0.0], [1, 0]]),
    ],
    ids=["zero vectors", "duplicates", "two items", "all similarities 0", "one zero vector"],
)
def test_odd_collections_are_counted_with_finite_numbers(method: str, vectors: Weights) -> None:
    sampler = counter(vectors.astype(np.float32), method)
    questions = list(sampler.ask(2000))
    assert all(question.u != question.v for question in questions)
    sampler.tell([Answer(q.id, q.u, q.v, 0.0) for q in questions])
    result = sampler.result()
    assert result.estimate is not None
    assert np.isfinite([result.estimate, result.low, result.high]).all()
    seen = {frozenset((q.u, q.v)) for q in questions}
    assert len(seen) == len(vectors) * (len(vectors) - 1) // 2  # every pair has a chance


@pytest.mark.parametrize("method", METHODS)
def test_an_item_without_a_vector_is_not_counted(method: str) -> None:
    vectors = VECTORS.copy()
    vectors[[0, 6]] = np.nan
    sampler = counter(vectors, method)
    assert sampler.result().high == ITEMS - 2
    questions = sampler.ask(2000)
    assert {item for q in questions for item in (q.u, q.v)} == set(range(ITEMS)) - {0, 6}
    kept = np.delete(np.arange(ITEMS), [0, 6])
    without = counter(np.delete(VECTORS, [0, 6], axis=0), method).ask(2000)
    assert [(q.u, q.v) for q in questions] == [(kept[q.u], kept[q.v]) for q in without]


@pytest.mark.parametrize(
    ("degrees", "seed", "level", "message"),
    [
        (np.array([1.0, np.nan, np.nan]), 0, 0.95, "at least 2 items with a vector, not 1"),
        (np.array([1.0, -1.0, 0.0]), 0, 0.95, "degrees"),
        (np.array([1.0, np.inf, 0.0]), 0, 0.95, "degrees"),
        (np.zeros(2), 0, 0.95, "3 vectors and 2 degrees"),
        (np.zeros(3), -4, 0.95, "-4"),
        (np.zeros(3), 0, 1.0, "level"),
    ],
)
def test_inputs_that_cannot_be_used_are_refused(degrees: Weights, seed: int, level: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_counter("nis", vectors=np.eye(3, dtype=np.float32), degree=degrees, seed=seed, level=level)


def test_the_first_questions_of_a_seed_are_the_same_on_every_machine() -> None:
    vectors = (np.arange(24).reshape(8, 3) % 7 / 16).astype(np.float32)
    pairs = [(q.u, q.v) for q in counter(vectors, seed=1).ask(10)]
    # A change here would make every campaign that people have begun impossible to replay.
    assert pairs == [(5, 4), (5, 1), (5, 1), (5, 3), (5, 2), (5, 6), (5, 2), (5, 6), (5, 4), (5, 6)]

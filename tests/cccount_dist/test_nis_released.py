"""The released form: against a direct computation, and its known bias against the formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.released import FLOOR, ReleasedProposal, ReleasedSampler, ReleasedUniform, SelfProposal
from cccount_dist.counting.schedule import Schedule
from cccount_dist.counting.similarities import metric_similarity, softmax_similarity
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.rows import degree
from tests.cccount_dist.samplers import answered, blobs, counter

VECTORS, LABELS = blobs((4, 3, 2), dimensions=4, noise=0.8, seed=5)
DEGREE = degree(VECTORS)
ITEMS = len(LABELS)
SIZE = np.bincount(LABELS)[LABELS]
Weights = NDArray[np.float64]


def dense(method: str) -> tuple[Weights, Weights]:
    """Q (n,) and q (n, n), whole matrices in float64."""
    if method == "nested-mc-released":
        return np.full(ITEMS, 1 / ITEMS), np.full((ITEMS, ITEMS), 1 / ITEMS)
    x = VECTORS.astype(np.float64)
    if method == "metric":
        similarity = np.clip(x @ x.T, FLOOR, 1)
        np.fill_diagonal(similarity, 1.0)
        outer = 1 / (1 + DEGREE)
    else:
        cosine = x @ x.T
        np.fill_diagonal(cosine, 1.0)
        similarity = np.exp(cosine / 0.5)
        outer = np.ones(ITEMS)
    return outer / outer.sum(), similarity / similarity.sum(axis=1, keepdims=True)


def proposal_of(method: str) -> SelfProposal:
    if method == "nested-mc-released":
        return ReleasedUniform(DEGREE)
    return ReleasedProposal(metric_similarity(VECTORS, DEGREE) if method == "metric" else softmax_similarity(VECTORS, DEGREE))


@pytest.mark.parametrize("method", ["metric", "nis-released", "nested-mc-released"])
def test_draws_have_the_stated_probability_and_the_size_has_the_known_bias(method: str) -> None:
    Q, q = dense(method)
    proposal = proposal_of(method)
    sampler = ReleasedSampler(proposal, seed=0)
    random = np.random.default_rng(3)
    assert dict(proposal.anchor(uniform) for uniform in random.random(3000)) == {
        u: pytest.approx(Q[u], rel=1e-4) for u in range(ITEMS)
    }
    for u in range(ITEMS):
        v, stated = proposal.draw(u, random.random((30_000, 2)))
        np.testing.assert_allclose(stated, q[u, v], rtol=1e-4)
        assert proposal.own(u) == pytest.approx(q[u, u], rel=1e-4)
        terms = (LABELS[v] == LABELS[u]) / stated
        draws = 5  # M - 1
        sizes = np.array([sampler._size(u, hits, draws) for hits in terms.reshape(-1, draws).sum(axis=1)])
        expected = (draws * SIZE[u] + 1 / q[u, u]) / (draws + 1)
        assert abs(sizes.mean() - expected) < 4 * sizes.std() / np.sqrt(len(sizes))
        assert sizes.min() >= 1 / ((draws + 1) * q[u, u]) * (1 - 1e-4)  # so one anchor's term is never above M q(u, u)/Q(u)


def slow_estimate(method: str, seed: int, draws: int, ratio: int) -> tuple[float, float, int, int]:
    """The estimate after so many draws with every answer known, anchor by anchor, from the definition."""
    Q, q = dense(method)
    anchor, _ = Schedule(ratio).locate(0, draws)
    terms, questions, level = [], 0, int(np.sqrt(draws // ratio))
    for index in range(anchor.max() + 1):
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(index,))))
        u = int(np.searchsorted(np.cumsum(Q), random.random(), side="right"))
        count = int((anchor == index).sum())
        v = np.searchsorted(np.cumsum(q[u]), random.random((256, 2))[:count, 1], side="right")
        questions += int((v != u).sum())
        if count >= ratio * level:
            n_bar = (1 / q[u, u] + ((LABELS[v] == LABELS[u]) / q[u, v]).sum()) / (1 + count)
            terms.append(1 / (Q[u] * n_bar))
    half = 1.959964 * np.std(terms) / np.sqrt(len(terms))  # their variance is divided by N
    return float(np.mean(terms)), float(half), len(terms), questions


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["nis-released", "nested-mc-released"]), st.integers(0, 10**6), st.integers(2, 5), st.sampled_from([1, 7]))
def test_the_result_equals_a_direct_computation(method: str, seed: int, level: int, ratio: int) -> None:
    sampler = make_counter(method, vectors=VECTORS, degree=DEGREE, seed=seed, parameters={"ratio": ratio})
    assert isinstance(sampler, ReleasedSampler)
    sampler.tell(answered(list(sampler.ask(ratio * level**2)), LABELS))
    estimate, half, anchors, questions = slow_estimate(method, seed, sampler._drawn, ratio)
    result = sampler.result()
    assert result.estimate == pytest.approx(estimate, rel=1e-4)
    assert (result.anchors, result.answers) == (anchors, questions)
    if anchors > 1:
        assert (result.low, result.high) == pytest.approx((estimate - half, estimate + half), rel=1e-3, abs=1e-3)


def test_the_anchor_itself_is_never_asked_about_and_costs_nothing() -> None:
    sampler = counter(VECTORS, "nested-mc-released")
    assert isinstance(sampler, ReleasedSampler)
    questions = sampler.ask(400)
    assert [q.id for q in questions] == list(range(400))
    assert all(q.u != q.v for q in questions)
    assert sampler._drawn > 420  # one draw in nine is of the anchor itself


def test_a_similarity_that_leaves_nothing_to_ask_ends_the_campaign() -> None:
    # Two opposite items at τ = 0.1: a draw is of the other item once in e²⁰ times.
    vectors = np.array([[1.0], [-1.0]], np.float32)
    sampler = make_counter("nis-released", vectors=vectors, degree=np.zeros(2), parameters={"tau": 0.1})
    assert list(sampler.ask(5)) == []
    assert sampler.done
    assert drive(sampler, LabelOracle(np.array([0, 1])), budget=5).stopped == "done"
    assert sampler.result().estimate is None


@pytest.mark.parametrize("method", ["nis-released", "nested-mc-released"])
def test_unsure_answers_are_left_out_and_an_anchor_of_nothing_else_too(method: str) -> None:
    sampler = counter(VECTORS, method)
    questions = list(sampler.ask(60))
    sampler.tell([Answer(q.id, q.u, q.v, None) for q in questions])
    before = sampler.result().anchors
    assert before <= 2  # anchors whose few draws were all of themselves
    first = questions[0].purpose
    sampler.tell([a for q, a in zip(questions, answered(questions, LABELS), strict=True) if q.purpose == first])
    assert sampler.result().anchors == before + 1


def test_the_released_form_starts_low_and_the_printed_one_high() -> None:
    vectors, labels = blobs((10,) * 10, dimensions=8, noise=0.5)
    degrees = degree(vectors)
    means = {}
    for method in ("nested-mc", "nested-mc-released"):
        estimates = []
        for seed in range(60):
            sampler = make_counter(method, vectors=vectors, degree=degrees, seed=seed, parameters={"ratio": 1})
            sampler.tell(answered(list(sampler.ask(49)), labels))
            estimates.append(sampler.result().estimate)
        means[method] = float(np.mean([e for e in estimates if e is not None]))
    assert means["nested-mc-released"] < 10 < means["nested-mc"]

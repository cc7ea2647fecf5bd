"""`nis --preset paper` and `nested-mc --preset paper` against algorithm 1 of the paper, written out line by line."""

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.schedule import Schedule
from cccount_dist.counting.similarities import soft_similarity
from cccount_dist.sampling.methods import PAPER
from cccount_dist.sampling.types import Answer, Question
from cccount_dist.similarity.rows import degree
from storage.settings import Scalar
from tests.cccount_dist.samplers import blobs

Matrix = NDArray[np.float64]
SEED, K_MEANS, SIGMA, LENGTH = 5, 4, 7.0, 30.0
VECTORS, LABELS = blobs((6, 5, 4, 3, 1, 1), noise=0.6)
TWINS = np.concatenate([VECTORS, VECTORS[[0, 6]]])  # two items that look exactly like others: ties
TWIN_LABELS = np.concatenate([LABELS, LABELS[[0, 7]]])


def equation_10_and_11() -> Matrix:
    """ŝ(u, v): the correlation of k-means soft assignments, 0 where it is negative."""
    centres = kmeans(TWINS, K_MEANS, seed=SEED).centres.astype(np.float64)
    scaled = LENGTH * TWINS.astype(np.float64)  # rows of length 1 as rows of the length that σ = 7 is meant for
    w = np.array([[np.exp(-np.sum((x - LENGTH * c) ** 2) / (2 * SIGMA**2)) for c in centres] for x in scaled])
    centred = w - w.mean(axis=1, keepdims=True)
    s = np.array([[a @ b / (np.linalg.norm(a) * np.linalg.norm(b)) for b in centred] for a in centred])
    np.fill_diagonal(s, 0.0)
    return np.asarray(np.clip(s, 0.0, 1.0), np.float64)


def algorithm_1(s: Matrix, same: NDArray[np.bool_], anchors: int, draws: int) -> tuple[list[tuple[int, int]], float, float]:
    """Return the pairs that are asked, the estimate and half of its interval; chance as the sampler draws it."""
    n = len(s)
    outer = 1 / (1 + s.sum(axis=1))
    outer /= outer.sum()
    pairs, terms = [], []
    for i in range(anchors):
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(SEED, spawn_key=(i,))))
        u = int(np.searchsorted(np.cumsum(outer), random.random(), side="right"))
        q = s[u] / s[u].sum() if s[u].sum() else np.where(np.arange(n) == u, 0.0, 1 / (n - 1))
        numbers = random.random((256, 2))[:draws, 1]
        v = np.searchsorted(np.cumsum(q), numbers, side="right")
        pairs += [(u, int(one)) for one in v]
        d = np.mean(same[u, v] / q[v])  # equation 7
        terms.append(1 / outer[u] * 1 / (1 + d))
    half = NormalDist().inv_cdf(0.975) * np.std(terms, ddof=1) / np.sqrt(anchors)
    return pairs, float(np.mean(terms)), float(half)  # equation 6


def run(method: str, parameters: dict[str, Scalar], budget: int) -> tuple[list[Question], CountResult]:
    known = counting_method(method)
    sampler = make_counter(
        method, vectors=TWINS, degree=degree(TWINS), seed=SEED, parameters=known.preset(PAPER, parameters) | parameters
    )
    questions = list(sampler.ask(budget))
    sampler.tell([Answer(q.id, q.u, q.v, float(TWIN_LABELS[q.u] == TWIN_LABELS[q.v])) for q in questions])
    return questions, sampler.result()


@pytest.mark.parametrize("anchors", [2, 3, 5])
def test_the_preset_is_algorithm_1_with_equations_6_7_10_and_11(anchors: int) -> None:
    s, same = equation_10_and_11(), TWIN_LABELS[:, None] == TWIN_LABELS
    questions, found = run("nis", {"clusters": K_MEANS}, 7 * anchors**2)
    pairs, estimate, half = algorithm_1(s, same, anchors, 7 * anchors)
    assert sorted((q.u, q.v) for q in questions) == sorted(pairs)
    assert found.estimate == pytest.approx(estimate, rel=1e-5)
    assert (found.low, found.high) == pytest.approx((estimate - half, estimate + half), rel=1e-4)


def test_nested_mc_is_equations_3_and_4() -> None:
    n = len(TWINS)
    questions, found = run("nested-mc", {}, 7 * 9)
    by_anchor: dict[int, list[Question]] = {}
    for question in questions:
        by_anchor.setdefault(int(question.purpose.split()[-1]), []).append(question)
    terms = []
    for asked in by_anchor.values():
        assert len(asked) == 21
        d = (n - 1) / len(asked) * sum(TWIN_LABELS[q.u] == TWIN_LABELS[q.v] for q in asked)  # equation 3
        terms.append(1 / (1 + d))
    assert found.estimate == pytest.approx(n / len(terms) * sum(terms))  # equation 4


@pytest.mark.parametrize(("ratio", "alpha"), [(7.0, 0.5), (2.5, 0.5), (0.3, 0.5), (3.0, 0.6), (4.0, 1.0), (1.5, 0.35)])
def test_n_and_m_are_free_and_every_draw_of_every_anchor_comes_once(ratio: float, alpha: float) -> None:
    schedule = Schedule(ratio, alpha)
    for anchors in (1, 2, 5, 9):
        each = schedule.draws_of_each(anchors)
        anchor, draw = schedule.locate(0, anchors * each)
        assert sorted(zip(anchor.tolist(), draw.tolist(), strict=True)) == [(a, d) for a in range(anchors) for d in range(each)]
        assert schedule.anchors_after(anchors * each) == anchors
    wide = 400
    total = wide * schedule.draws_of_each(wide)
    assert wide == pytest.approx((total / ratio) ** alpha, rel=0.35 if ratio < 1 else 0.1)  # N ∝ T^α


def test_a_uniform_part_of_0_never_draws_a_similarity_of_0() -> None:
    s = equation_10_and_11()
    assert (s == 0).any()
    questions, _ = run("nis", {"clusters": K_MEANS}, 700)
    assert all(s[q.u, q.v] > 0 for q in questions)
    more, _ = run("nis", {"clusters": K_MEANS, "uniform": 0.1}, 700)
    assert any(s[q.u, q.v] == 0 for q in more)


def test_sigma_acts_only_in_the_unit_that_it_is_meant_for() -> None:
    def weights(sigma: float, length: float | None) -> Matrix:
        found = soft_similarity(TWINS, seed=SEED, clusters=K_MEANS, sigma=sigma, length=length)
        return np.array([found.weights(u, np.arange(len(TWINS))) for u in range(len(TWINS))], np.float64)

    assert np.abs(weights(4.0, None) - weights(7.0, None)).max() < 0.02  # on rows of length 1 hardly anything changes
    assert np.abs(weights(4.0, LENGTH) - weights(7.0, LENGTH)).max() > 0.1

"""Soft assignments and softmax against whole matrices, the elbow, and what a user may set."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.counting import similarities
from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.nis import ImportanceProposal
from cccount_dist.counting.parameters import UNIFORM
from cccount_dist.counting.similarities import soft_similarity, softmax_similarity
from cccount_dist.similarity.rows import ALL, degree
from storage.errors import InputError
from storage.settings import Scalar
from tests.cccount_dist.samplers import answered, blobs

VECTORS, LABELS = blobs((30, 20, 10, 5), noise=0.5)
ITEMS = len(LABELS)


def dense_soft(vectors: NDArray[np.float32], clusters: int, sigma: float | None = None) -> NDArray[np.float64]:
    """Equations 10 and 11 with whole matrices, clipped to [0, 1], 0 on the diagonal."""
    centres = kmeans(vectors, clusters).centres
    squared = np.square(vectors.astype(np.float64)[:, None] - centres).sum(axis=2)
    sigma = float(np.sqrt(squared.min(axis=1)).mean()) if sigma is None else sigma
    similarity: NDArray[np.float64] = np.clip(np.corrcoef(np.exp(-squared / (2 * sigma**2))), 0, 1)
    np.fill_diagonal(similarity, 0.0)
    return similarity


@pytest.mark.parametrize(("clusters", "sigma"), [(4, None), (7, 0.8)])
def test_soft_rows_and_degrees_are_the_correlations_of_equation_11(clusters: int, sigma: float | None) -> None:
    expected = dense_soft(VECTORS, clusters, sigma)
    found = soft_similarity(VECTORS, clusters=clusters, sigma=sigma)
    rows = np.stack([found.weights(u, ALL) for u in range(ITEMS)])
    np.testing.assert_allclose(rows, expected, atol=2e-6)
    np.testing.assert_allclose(found.degree, expected.sum(axis=1), rtol=1e-5)


def test_soft_assignments_use_the_clusters_at_the_elbow() -> None:
    clusters = kmeans_elbow(VECTORS).clusters
    np.testing.assert_allclose(soft_similarity(VECTORS).weights(3, ALL), dense_soft(VECTORS, clusters)[3], atol=2e-6)


def test_items_far_from_every_centre_keep_finite_rows() -> None:
    # Without taking out the common factor, exp(-d²/2σ²) would be 0 for all centres.
    found = soft_similarity(VECTORS, clusters=4, sigma=0.01)
    assert np.isfinite(found.degree).all()
    assert np.isfinite(found.weights(0, ALL)).all()


def test_degrees_of_large_collections_are_estimated_from_some_of_the_items(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = soft_similarity(VECTORS, clusters=4).degree
    monkeypatch.setattr(similarities, "_EXACT", 10)
    monkeypatch.setattr(similarities, "_COLUMNS", 40)
    runs = np.stack([similarities._degree(similarities.soft_assignments(VECTORS, kmeans(VECTORS, 4)), s) for s in range(200)])
    error = runs.std(axis=0) / np.sqrt(len(runs))
    assert (abs(runs.mean(axis=0) - exact) < 5 * error + 1e-6).all()
    assert np.corrcoef(runs[0], exact)[0, 1] > 0.9


@pytest.mark.parametrize("tau", [0.5, 0.1])
def test_softmax_draws_have_the_probability_of_the_softmax_without_the_anchor(tau: float) -> None:
    cosine = VECTORS.astype(np.float64) @ VECTORS.astype(np.float64).T
    weights = np.exp(cosine / tau)
    np.fill_diagonal(weights, 0.0)
    expected = weights / weights.sum(axis=1, keepdims=True)
    proposal = ImportanceProposal(softmax_similarity(VECTORS, degree(VECTORS), tau=tau))
    random = np.random.default_rng(1)
    for u in (0, 31, 64):
        v, q = proposal.draw(u, random.random((20_000, 2)))
        # The smallest weights, e⁻²⁰ of the largest, are rounded up to whole numbers: the stated q is exact for the draws.
        np.testing.assert_allclose(q, expected[u, v], rtol=1e-3, atol=1e-7)
        frequency = np.bincount(v, minlength=ITEMS) / len(v)
        assert (abs(frequency - expected[u]) < 5 * np.sqrt(expected[u] / len(v)) + 1e-3).all()
    assert [proposal.anchor(x)[1] for x in (0.0, 0.5, 0.99)] == [pytest.approx(1 / ITEMS)] * 3


def test_soft_draws_mix_in_one_uniform_draw_in_ten() -> None:
    similarity = dense_soft(VECTORS, 4)
    expected = (1 - UNIFORM) * similarity / similarity.sum(axis=1, keepdims=True) + UNIFORM / (ITEMS - 1)
    proposal = ImportanceProposal(soft_similarity(VECTORS, clusters=4))
    v, q = proposal.draw(7, np.random.default_rng(0).random((5000, 2)))
    np.testing.assert_allclose(q, expected[7, v], rtol=1e-4)


@pytest.mark.parametrize("method", ["nis", "nis-released"])
@pytest.mark.parametrize("similarity", ["metric", "soft", "softmax"])
def test_every_similarity_counts_well_with_many_answers(method: str, similarity: str) -> None:
    sampler = make_counter(method, vectors=VECTORS, degree=degree(VECTORS), parameters={"similarity": similarity, "ratio": 20})
    sampler.tell(answered(list(sampler.ask(20 * 40**2)), LABELS))
    result = sampler.result()
    assert result.estimate is not None
    assert abs(result.estimate - 4) < 3 * (result.high - result.low) / 2 / 1.96 + 0.2


@pytest.mark.parametrize("similarity", ["soft", "softmax"])
def test_items_without_a_vector_are_left_out_and_change_nothing_else(similarity: str) -> None:
    vectors = np.insert(VECTORS, [0, 40], np.nan, axis=0)
    sampler = make_counter("nis", vectors=vectors, degree=degree(vectors), parameters={"similarity": similarity})
    without = make_counter("nis", vectors=VECTORS, degree=degree(VECTORS), parameters={"similarity": similarity})
    kept = np.flatnonzero(np.isfinite(vectors[:, 0]))
    assert [(q.u, q.v) for q in sampler.ask(500)] == [(kept[q.u], kept[q.v]) for q in without.ask(500)]


def test_the_same_seed_asks_the_same_questions() -> None:
    pairs = [
        [(q.u, q.v) for q in make_counter("nis", vectors=VECTORS, degree=degree(VECTORS), seed=seed, parameters=soft).ask(300)]
        for seed in (4, 4, 5)
        for soft in [{"similarity": "soft"}]
    ]
    assert pairs[0] == pairs[1] != pairs[2]


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("nis", {"similarity": "magic"}, "similarity of nis must be one of metric, soft, softmax, not 'magic'"),
        ("nis", {"tau": 0.5}, "nis has no parameter 'tau': it has similarity, ratio, alpha, uniform"),
        ("nis", {"similarity": "softmax", "tau": 0.01}, "tau of nis must be at least 0.1, not 0.01"),
        ("nis", {"similarity": "softmax", "tau": "warm"}, "tau of nis must be a number, not 'warm'"),
        ("nis", {"ratio": 0}, "ratio of nis must be above 0, not 0"),
        ("nis", {"similarity": "soft", "sigma": -1.0}, "sigma of nis must be at least 0, not -1.0"),
        ("nis", {"similarity": "soft", "clusters": 66}, "65 items cannot be put into 66 clusters"),
        ("nested-mc", {"similarity": "soft"}, "nested-mc has no parameter 'similarity': it has ratio"),
        ("nested-mc-released", {"ratio": True}, "ratio"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_by_name(method: str, parameters: dict[str, Scalar], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make_counter(method, vectors=VECTORS, degree=degree(VECTORS), parameters=parameters)

"""The space of `evidence`: what mutual neighbours differ by counts equally in all directions; its lists are right."""

import numpy as np
import pytest

from cccount_dist.clustering.evidence.space import ROUNDS, sharpened
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.whitening import MUTUAL, SHRINK
from tests.cccount_dist.samplers import blobs


def plainly(x: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """One round, pair by pair: |L⁻¹(x - y)|² is (x - y)ᵀ W⁻¹ (x - y)."""
    first = [set(row[:MUTUAL].tolist()) for row in lists]
    pairs = [(i, j) for i in range(len(x)) for j in first[i] if i < j and i in first[j]]
    within = np.mean([np.outer(x[i] - x[j], x[i] - x[j]) / 2 for i, j in pairs], axis=0)
    within = within + SHRINK * np.trace(within) / len(within) * np.eye(len(within))
    apart = x[:, None] - x[None]
    distances: np.ndarray = np.einsum("ijk,kl,ijl->ij", apart, np.linalg.inv(within), apart)
    return distances


def test_the_space_and_its_lists_equal_a_computation_over_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cccount_dist.clustering.evidence.space.ROUNDS", 1)
    vectors, _ = blobs((30, 20, 12), dimensions=6, noise=0.6)
    vectors = vectors * np.array([1, 1, 1, 5, 0.2, 1], np.float32)  # no unit rows
    given = neighbors_in_memory(vectors, 61, "euclidean").index
    found, lists = sharpened(vectors, given)
    wanted = plainly(vectors.astype(np.float64), given)
    np.testing.assert_allclose(np.square(found[:, None] - found[None]).sum(axis=2), wanted, rtol=1e-3, atol=1e-3)
    np.fill_diagonal(wanted, -1.0)
    assert (lists[:, :10] == np.argsort(wanted, axis=1, kind="stable")[:, 1:11]).mean() > 0.999  # float32 may turn two round


def test_noise_that_neighbours_share_is_taken_out_and_unit_rows_stay_unit_rows() -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 25)
    signal = random.normal(size=(12, 8))[labels] + 0.3 * random.normal(size=(300, 8))
    vectors = prepare(np.hstack([signal, 3.0 * random.normal(size=(300, 2))]).astype(np.float32), "cosine")
    given = neighbors_in_memory(vectors, 50).index
    found, lists = sharpened(vectors, given)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)
    pure = [float((labels[one[:, :20]] == labels[:, None]).mean()) for one in (given, lists)]
    assert pure[1] > pure[0] + 0.1
    assert ROUNDS == 2


def test_copies_leave_everything_as_it_was() -> None:
    vectors = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    given = neighbors_in_memory(vectors, 9).index
    found, lists = sharpened(vectors, given)
    assert found is vectors
    assert lists is given

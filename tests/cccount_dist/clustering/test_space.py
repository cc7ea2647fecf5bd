"""The space of `evidence`: what neighbours, or pairs that people called the same, differ by counts less; its lists are right."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from cccount_dist.clustering.evidence.space import PRIOR, ROUNDS, SMOOTH, STRETCH, learned, sharpened
from cccount_dist.clustering.evidence.space import SHRINK as LITTLE
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


def by_definition(x: np.ndarray, lists: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Squared distances in the learned space after one round, from matrices that are added up pair by pair."""

    def shape(pairs: list[np.ndarray]) -> np.ndarray:
        total = np.sum([np.outer(apart, apart) for apart in pairs], axis=0)
        return np.asarray(total * len(total) / np.trace(total))

    first = [set(row[:MUTUAL].tolist()) for row in lists]
    near = shape([x[i] - x[j] for i in range(len(x)) for j in first[i] if i < j and i in first[j]])
    mean = [np.mean([x[i], *x[lists[i, :SMOOTH]]], axis=0) for i in range(len(x))]
    told = shape([mean[i] - mean[j] for i, j in same])
    little = LITTLE * np.eye(len(near))
    within = (PRIOR * near + len(same) * told) / (PRIOR + len(same)) + little
    overall = shape(list(x - x.mean(axis=0))) + little
    # M = W^-½ (W^-½ T W^-½)^(2 · stretch) W^-½: any square root of W gives the same one.
    value, axes = np.linalg.eigh(within)
    root = axes / np.sqrt(value) @ axes.T
    ratio, turned = np.linalg.eigh(root @ overall @ root)
    metric = root @ (turned * ratio ** (2 * STRETCH)) @ turned.T @ root
    apart = x[:, None] - x[None]
    distances: np.ndarray = np.einsum("ijk,kl,ijl->ij", apart, metric, apart)
    return distances


def test_the_learned_space_is_what_its_definition_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cccount_dist.clustering.evidence.space.ROUNDS", 1)
    vectors, labels = blobs((30, 20, 12), dimensions=6, noise=0.6)
    vectors = vectors * np.array([1, 1, 1, 5, 0.2, 1], np.float32)
    given = neighbors_in_memory(vectors, 61, "euclidean").index
    random = np.random.default_rng(0)
    same = np.array([random.choice(np.flatnonzero(labels == c), 2, replace=False) for c in (0, 0, 1, 1, 2)])
    found, lists = learned(vectors, given, same)
    wanted = by_definition(vectors.astype(np.float64), given, same)
    np.testing.assert_allclose(np.square(found[:, None] - found[None]).sum(axis=2), wanted, rtol=1e-3, atol=1e-3)
    np.fill_diagonal(wanted, -1.0)
    assert (lists[:, :10] == np.argsort(wanted, axis=1, kind="stable")[:, 1:11]).mean() > 0.999


def poses() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes of two poses each: what parts the poses is the same in all classes, and larger than what parts classes."""
    random = np.random.default_rng(0)
    labels, pose = np.repeat(np.arange(10), 40), np.tile(np.repeat([0, 1], 20), 10)
    x = np.hstack([random.normal(size=(10, 8))[labels], np.where(pose, 3.0, -3.0)[:, None] * [1.0, 0.5]])
    return prepare((x + 0.35 * random.normal(size=x.shape)).astype(np.float32), "cosine"), labels, pose


def test_pairs_that_people_called_the_same_draw_the_poses_of_a_class_together() -> None:
    vectors, labels, pose = poses()
    sharp = sharpened(vectors, neighbors_in_memory(vectors, 50).index)[1]
    same = np.array([np.flatnonzero((labels == c) & (pose == side))[c] for c in range(10) for side in (0, 1)]).reshape(-1, 2)
    found = [learned(vectors, sharp, pairs)[0] for pairs in (same[:0], same)]
    centres = [np.array([[x[(labels == c) & (pose == side)].mean(axis=0) for side in (0, 1)] for c in range(10)]) for x in found]
    poses_apart = [np.square(c[:, 0] - c[:, 1]).sum(axis=1).mean() for c in centres]
    classes_apart = [np.square(c[:-1, 0] - c[1:, 0]).sum(axis=1).mean() for c in centres]
    assert poses_apart[1] / classes_apart[1] < 0.5 * poses_apart[0] / classes_apart[0]


def test_the_learned_space_has_the_same_bits_on_any_number_of_cores() -> None:
    vectors, labels, _ = poses()
    sharp = sharpened(vectors, neighbors_in_memory(vectors, 50).index)[1]
    same = np.array([np.flatnonzero(labels == c)[[0, 30]] for c in range(10)])
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(learned(vectors, sharp, same))
    assert all((one == other).all() for one, other in zip(*found, strict=True))


def test_nothing_is_learned_from_copies() -> None:
    vectors = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    given = neighbors_in_memory(vectors, 9).index
    found, lists = learned(vectors, given, np.array([[0, 1]]))
    assert found is vectors
    assert lists is given

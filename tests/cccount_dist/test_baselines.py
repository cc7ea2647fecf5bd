"""Counts without people, against scikit-learn and whole matrices on small sets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans, MeanShift

from cccount_dist.clustering import kmeans as kmeans_module
from cccount_dist.clustering.agreement import accuracy
from cccount_dist.clustering.elbow import cluster_grid, kmeans_elbow, knee
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.counting.baselines.components import components_elbow, within_squares
from cccount_dist.counting.baselines.meanshift import mean_shift_modes
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

VECTORS, LABELS = blobs((30, 25, 20, 15), dimensions=6, noise=0.25, seed=2)
ITEMS = len(LABELS)
ALL = neighbors_in_memory(VECTORS, ITEMS - 1)
SOME = neighbors_in_memory(VECTORS, 12)


def dense_squares(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> float:
    x = vectors.astype(np.float64)
    return float(sum(np.square(x[labels == c] - x[labels == c].mean(axis=0)).sum() for c in np.unique(labels[labels >= 0])))


def test_kmeans_is_that_of_scikit_learn_and_the_objective_that_of_its_labels() -> None:
    fit = kmeans(VECTORS, 4, seed=3)
    reference = KMeans(4, n_init=1, random_state=3, max_iter=100).fit(VECTORS)
    assert accuracy(reference.labels_, fit.labels) == 1.0
    assert fit.objective == pytest.approx(reference.inertia_, rel=1e-4)
    assert accuracy(LABELS, fit.labels) > 0.95


def test_large_collections_are_clustered_in_mini_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = kmeans(VECTORS, 4).objective
    monkeypatch.setattr(kmeans_module, "_LLOYD_ITEMS", 50)
    fit, again = kmeans(VECTORS, 4), kmeans(VECTORS, 4)
    assert fit.objective < 1.3 * exact
    assert fit.labels.tolist() == again.labels.tolist()


def test_duplicates_leave_clusters_empty_and_no_warning() -> None:
    assert kmeans(np.ones((6, 2), np.float32), 3).objective == 0.0


def test_the_elbow_finds_clusters_that_are_far_apart() -> None:
    centres = np.eye(12)[:8] * 10
    random = np.random.default_rng(0)
    x = (np.repeat(centres, 30, axis=0) + 0.3 * random.standard_normal((240, 12))).astype(np.float32)
    elbow = kmeans_elbow(x)
    assert 6 <= elbow.clusters <= 12
    assert elbow.tried == tuple(cluster_grid(240))
    assert elbow.fit.objective == elbow.objective[elbow.tried.index(elbow.clusters)]


def test_the_elbow_is_the_point_farthest_below_the_chord() -> None:
    x = [1.0, 2.0, 4.0, 8.0, 16.0]
    y = [100.0, 40.0, 15.0, 10.0, 8.0]
    below = [(1 - (a - 1) / 15) - (b - 8) / 92 for a, b in zip(x, y, strict=True)]
    assert knee(x, y) == int(np.argmax(below))
    assert knee([1, 2, 3], [5.0, 5.0, 5.0]) == 0


def test_items_without_a_vector_are_left_out_of_every_baseline() -> None:
    vectors = np.insert(VECTORS, [0, 50], np.nan, axis=0)
    near = neighbors_in_memory(vectors, 12)
    assert kmeans_elbow(vectors).clusters == kmeans_elbow(VECTORS).clusters
    assert mean_shift_modes(vectors, near.index) == mean_shift_modes(VECTORS, SOME.index)
    found = components_elbow(vectors, near.index, near.similarity)
    expected = components_elbow(VECTORS, SOME.index, SOME.similarity)
    assert found.labels[np.isfinite(vectors[:, 0])].tolist() == expected.labels.tolist()
    assert (found.labels[np.isnan(vectors[:, 0])] == -1).all()


@pytest.mark.parametrize("width", [None, 0.3, 0.6, 1.0])
def test_modes_are_those_of_scikit_learn_when_all_neighbours_are_known(width: float | None) -> None:
    found = mean_shift_modes(VECTORS, ALL.index, bandwidth=width)
    nearest = np.sqrt(np.square(VECTORS - VECTORS[ALL.index[:, 0]]).sum(axis=1)).mean()
    assert found.bandwidth == pytest.approx(nearest if width is None else width, rel=1e-5)
    reference = MeanShift(bandwidth=found.bandwidth).fit(VECTORS.astype(np.float64))
    assert found.clusters == pytest.approx(len(reference.cluster_centers_), abs=1)


def test_few_stored_neighbours_are_enough_for_the_width_of_the_nearest_one() -> None:
    assert mean_shift_modes(VECTORS, SOME.index).clusters == pytest.approx(mean_shift_modes(VECTORS, ALL.index).clusters, abs=2)


def test_duplicates_are_one_mode() -> None:
    vectors = prepare(np.repeat(np.eye(3, dtype=np.float32), 5, axis=0), "cosine")
    assert mean_shift_modes(vectors, neighbors_in_memory(vectors, 8).index).clusters == 3


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([3, 7, 8192]))
def test_within_squares_equals_a_sum_over_clusters_for_any_block(seed: int, clusters: int, block: int) -> None:
    from cccount_dist.counting.baselines import components

    labels = np.random.default_rng(seed).integers(-1, clusters, ITEMS)
    before, components._BLOCK_ROWS = components._BLOCK_ROWS, block
    try:
        assert within_squares(VECTORS, labels) == pytest.approx(dense_squares(VECTORS, labels), abs=1e-6)
    finally:
        components._BLOCK_ROWS = before


def test_components_and_their_curve_are_those_of_the_whole_similarity_graph() -> None:
    found = components_elbow(VECTORS, ALL.index, ALL.similarity)
    similarity = np.zeros((ITEMS, ITEMS))
    np.put_along_axis(similarity, ALL.index, ALL.similarity, axis=1)
    similarity = np.maximum(similarity, similarity.T)
    for threshold, objective in zip(found.thresholds, found.objective, strict=True):
        _, labels = connected_components(similarity >= threshold, directed=False)
        assert objective == pytest.approx(dense_squares(VECTORS, labels.astype(np.int64)), abs=1e-6)
    count, labels = connected_components(similarity >= found.threshold, directed=False)
    assert found.clusters == count
    assert accuracy(labels, found.labels) == 1.0


def test_few_stored_neighbours_give_the_same_components_above_their_similarity() -> None:
    found = components_elbow(VECTORS, SOME.index, SOME.similarity)
    whole = components_elbow(VECTORS, ALL.index, ALL.similarity)
    assert found.thresholds[-1] == whole.thresholds[-1]
    assert accuracy(LABELS, found.labels) > 0.3
    assert found.clusters == components_elbow(VECTORS, SOME.index, SOME.similarity).clusters


def test_inputs_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(InputError, match="89 vectors and neighbours of 90 items"):
        components_elbow(VECTORS[:-1], SOME.index, SOME.similarity)
    with pytest.raises(InputError, match="89 vectors"):
        mean_shift_modes(VECTORS[:-1], SOME.index)
    with pytest.raises(InputError, match="at least 2 items with a vector, not 1"):
        kmeans_elbow(np.array([[1.0], [np.nan]], np.float32))

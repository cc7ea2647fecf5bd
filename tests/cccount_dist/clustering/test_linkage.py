"""Average linkage on sparse similarities, and the Jaccard similarity that it works on, against slow obvious references."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from cccount_dist.clustering.evidence import micro, reciprocal
from cccount_dist.clustering.evidence.linkage import average_linkage, cut
from cccount_dist.clustering.evidence.reciprocal import jaccard_similarity
from cccount_dist.similarity.inmemory import neighbors_in_memory
from tests.cccount_dist.samplers import blobs


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.floats(0.05, 1.0), st.integers(0, 10**6), st.data())
def test_it_equals_scipys_average_linkage(items: int, filled: float, seed: int, data: st.DataObject) -> None:
    random = np.random.default_rng(seed)
    similarity = np.triu(random.random((items, items)) * (random.random((items, items)) < filled), 1)
    clusters = data.draw(st.integers(1, items))
    merges, heights = average_linkage(sparse.csr_matrix(similarity), clusters, least=1e-9)
    labels = cut(items, merges, clusters)
    tree = linkage(squareform(1.0 - similarity - similarity.T - np.eye(items), checks=False), "average")
    reachable = max(clusters, items - int((tree[:, 2] < 1.0 - 1e-9).sum()))
    assert labels.max() + 1 == reachable
    assert np.allclose(heights, 1.0 - tree[: items - reachable, 2])
    if reachable < items:  # scipy's cut may also take merges of the very same height; random numbers have none
        assert adjusted_rand_score(fcluster(tree, tree[items - reachable - 1, 2] + 1e-12, "distance"), labels) == 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(4, 40), st.integers(0, 10**6), st.data())
def test_it_can_go_on_from_clusters_and_their_sizes(items: int, seed: int, data: st.DataObject) -> None:
    similarity = np.triu(np.random.default_rng(seed).random((items, items)), 1)
    middle = data.draw(st.integers(2, items))
    merges, _ = average_linkage(sparse.csr_matrix(similarity), 1)
    found = cut(items, merges, middle)
    member = np.eye(middle)[found]
    between = np.triu(member.T @ (similarity + similarity.T) @ member, 1)
    more, _ = average_linkage(sparse.csr_matrix(between), 1, size=member.sum(axis=0))
    clusters = data.draw(st.integers(1, middle))
    assert adjusted_rand_score(cut(items, merges, clusters), cut(middle, more, clusters)[found]) == 1.0


def test_equal_similarities_do_not_stop_it() -> None:
    everything = sparse.csr_matrix(np.triu(np.ones((30, 30)), 1))
    merges, heights = average_linkage(everything, 1)
    labels = cut(30, merges, 1)
    assert labels.max() == 0
    assert np.allclose(heights, 1.0)


def test_items_without_similarity_stay_alone() -> None:
    merges, heights = average_linkage(sparse.csr_matrix((5, 5)), 1)
    assert cut(5, merges, 1).tolist() == [0, 1, 2, 3, 4]
    assert len(heights) == 0


def reference(neighbors: np.ndarray, vectors: np.ndarray, size: int, rows: int) -> np.ndarray:
    """Jaccard similarity at one scale, written down from its definition with sets and a dense matrix."""
    items = len(vectors)

    def mutual(i: int, k: int) -> set[int]:
        return {int(j) for j in neighbors[i, :k] if i in neighbors[j, :k]} | {i}

    weights = np.zeros((items, items))
    for i in range(items):
        core = mutual(i, size)
        wide = set(core)
        for j in core - {i}:
            half = mutual(j, max(1, (size + 1) // 2))
            if 3 * len(half & core) > 2 * len(half):
                wide |= half
        scale = np.square(vectors[i] - vectors[neighbors[i, size - 1]]).sum()
        for j in wide:
            weights[i, j] = np.exp(-np.square(vectors[i] - vectors[j]).sum() / scale)
        weights[i] /= weights[i].sum()
    averaged = np.array([weights[[i, *neighbors[i, : rows - 1]]].mean(axis=0) for i in range(items)])
    shared = np.minimum(averaged[:, None], averaged[None]).sum(axis=2)
    return np.triu(shared / (2 - shared), 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_jaccard_similarity_is_what_its_definition_says(seed: int) -> None:
    vectors, _ = blobs((30, 20, 15), noise=0.4, seed=seed)
    neighbors = neighbors_in_memory(vectors, 25).index
    expected = (reference(neighbors, vectors, 10, 3) + reference(neighbors, vectors, 20, 6)) / 2
    assert np.allclose(jaccard_similarity(neighbors, vectors).toarray(), expected, atol=1e-5)


@pytest.mark.parametrize("room", [1, 50, 1000])
def test_similarities_are_the_same_whatever_is_made_at_a_time(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, _ = blobs((30, 20, 15), noise=0.4)
    neighbors = neighbors_in_memory(vectors, 25).index.copy()
    neighbors[3] = neighbors[11, 4:] = -1
    told: list[tuple[int, int]] = []
    expected = jaccard_similarity(neighbors, vectors, found=lambda rows, pairs: told.append((rows, pairs)))
    assert told == [(65, expected.nnz)]
    monkeypatch.setattr(reciprocal, "BLOCK", room)
    found = jaccard_similarity(neighbors, vectors, found=lambda rows, pairs: told.append((rows, pairs)))
    assert told[-1] == told[0]
    assert len(told) > 2
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_similarities_in_two_spaces_are_averaged() -> None:
    vectors, _ = blobs((30, 20, 15), noise=0.4)
    moved = vectors * np.linspace(0.5, 1.5, vectors.shape[1], dtype=np.float32)
    lists, others = (neighbors_in_memory(space, 25).index for space in (vectors, moved))
    one, other = jaccard_similarity(lists, vectors), jaccard_similarity(others, moved)
    mean = jaccard_similarity(others, moved, before=one)
    expected = ((one + other) * np.float32(0.5)).tocsr()
    expected.sort_indices()
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(mean, name), getattr(expected, name))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_links_of_micro_clusters_are_the_sums_over_their_pairs_of_items(seed: int) -> None:
    random = np.random.default_rng(seed)
    similarity = np.triu(random.random((60, 60)) * (random.random((60, 60)) < 0.3), 1).astype(np.float32)
    label = random.integers(12, size=60).astype(np.int32)
    given = sparse.csr_matrix(similarity)
    a, b = random.integers(12, size=(2, 20)).astype(np.int32)
    first, second, link = micro._linked(given.indptr, given.indices, given.data, label, a, b, 12)
    member = np.eye(12)[label]
    between = member.T @ (similarity + similarity.T).astype(np.float64) @ member
    wanted = {(i, j) for i in range(12) for j in range(i + 1, 12) if between[i, j] > 0}
    wanted |= {(int(min(u, v)), int(max(u, v))) for u, v in zip(a, b, strict=True) if u != v}
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == sorted(wanted)
    assert np.allclose(link, between[first, second])

"""URASC (Xiong, Johnson and Corso 2016): active spectral clustering of the sample whose place is most uncertain. Told K.

A neighbour graph with self-tuned weights, in which links are written as 1 and 0; its first K eigenvectors, k-means on them. The
uncertainty is the entropy of an item's similarity, in the eigenvectors' space, to the known sets. Of the paper this is the
structure model only: its first-order estimate of how much an answer would change the eigenvectors is left out.
O(n K² + n k) for each item.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Neighbourhoods, Vectors
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.threads import one_thread

_NEIGHBORS, _SCALE = 20, 7  # of the graph, and the one whose distance is an item's own scale


def urasc(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:
    """Return the clusters when the budget is used."""
    graph = neighbor_graph(vectors)
    random = np.random.default_rng(seed)
    sets = Neighbourhoods(asker, int(random.integers(len(vectors))))
    places = linked_places(graph, asker, clusters, seed)
    try:
        while len(sets.items) < len(vectors):
            near = np.stack([np.exp(places @ places[one].mean(axis=0) / 0.1) for one in sets.sets], axis=1)
            share = near / near.sum(axis=1, keepdims=True)
            entropy = -(share * np.log(share + 1e-12)).sum(axis=1)
            value = entropy if share.shape[1] > 1 else random.random(len(vectors))
            value[sets.items] = -1.0
            item = int(value.argmax())
            sets.place(item, np.argsort(-share[item], kind="stable"))
            places = linked_places(graph, asker, clusters, seed)
    except BudgetUsed:
        pass
    return kmeans(linked_places(graph, asker, clusters, seed), clusters, seed=seed).labels


def neighbor_graph(vectors: Vectors) -> sparse.csr_array:
    count = min(_NEIGHBORS, len(vectors) - 1)
    near = neighbors_in_memory(vectors, count, "euclidean").index
    squared = np.square(vectors[:, None] - vectors[near]).sum(axis=2).astype(np.float64)
    own = np.sqrt(squared[:, min(_SCALE, count) - 1]) + 1e-12
    weight = np.exp(-squared / (own[:, None] * own[near]))
    rows = np.repeat(np.arange(len(vectors)), count)
    graph = sparse.csr_array((weight.ravel(), (rows, near.ravel())), shape=(len(vectors), len(vectors)))
    return sparse.csr_array((graph + graph.T) / 2)


def linked_places(graph: sparse.csr_array, asker: Asker, clusters: int, seed: int) -> Vectors:
    """Return the unit rows of the first K eigenvectors of the graph with all links in it."""
    changed = graph.tolil()
    for links, value in zip(asker.links(), (1.0, 0.0), strict=True):
        changed[links[:, 0], links[:, 1]] = value
        changed[links[:, 1], links[:, 0]] = value
    weights = sparse.csr_array(changed)
    root = 1.0 / np.sqrt(np.asarray(weights.sum(axis=1)).ravel() + 1e-9)
    scaled = sparse.diags_array(root) @ weights @ sparse.diags_array(root)
    start = np.random.default_rng(seed).random(graph.shape[0])
    with one_thread():
        _, found = eigsh(scaled, k=min(clusters, graph.shape[0] - 1), v0=start)
    rows = found / (np.linalg.norm(found, axis=1, keepdims=True) + 1e-12)
    return np.asarray(rows, np.float32)

"""What subclustering is compared with: complete clusterings cut down to n images each, and Bregman bubbles. For comparisons.

Each returns members (K, n), the centroid first, -1 where a cluster has fewer images. `k_medoids` and `fasterpam` need the package
kmedoids (GPL, the extra `benchmarks`) and the full matrix of distances, 4 n² bytes; the others O(n (k + d)) memory.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.kmeans import nearest_centres
from cccount_dist.subclustering.distances import Floats, Int64s, distances_from
from cccount_dist.subclustering.fast_pam import Medoids
from cccount_dist.subclustering.result import EMPTY
from storage.errors import InputError

MOST_ITEMS = 20_000  # of the methods that need all distances: 1.6 GB
_ROUNDS = 100
_PRESSURE = 0.9  # share of the surplus images that BBC-S keeps from round to round


def all_distances(vectors: Floats) -> Floats:
    """Return the distances of all items to each other (n, n); refused where they would not fit."""
    if len(vectors) > MOST_ITEMS:
        raise InputError(
            f"{len(vectors):,} items are too many for all distances, {MOST_ITEMS:,} at most: use restricted Fast-PAM"
        )
    return distances_from(vectors, np.arange(len(vectors)))


def from_medoids(vectors: Floats, found: Medoids, centroids: Int64s, size: int) -> Int64s:
    """Return each medoid with the nearest images of its cluster; `centroids` are the items that the medoids are."""
    return _nearest_members(vectors, found.labels, vectors[centroids], size)


def from_labels(vectors: Floats, labels: NDArray[np.integer], clusters: int, size: int) -> Int64s:
    """Return of each of the K largest clusters the image nearest to its mean, and the n - 1 images nearest to that one."""
    names, counts = np.unique(labels[labels >= 0], return_counts=True)
    largest = names[np.argsort(-counts, kind="stable")[:clusters]]
    number = np.full(int(names.max()) + 1, -1)
    number[largest] = np.arange(len(largest))
    own = np.where(labels >= 0, number[np.maximum(labels, 0)], -1)
    means = np.array([vectors[own == k].mean(axis=0) for k in range(len(largest))])
    central = _nearest_members(vectors, own, means, 1)[:, 0]
    return _nearest_members(vectors, own, vectors[central], size)


def normalised_cut(vectors: Floats, clusters: int, size: int, *, neighbors: int = 10, seed: int = 0) -> Int64s:
    """Return subclusters of a normalised cut of the neighbour graph (Shi and Malik), by scikit-learn."""
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(
        clusters, affinity="nearest_neighbors", n_neighbors=neighbors, random_state=seed, assign_labels="cluster_qr"
    )
    with warnings.catch_warnings():  # a graph in parts is no fault of whoever runs this: its parts are groups
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        labels = model.fit_predict(vectors)
    return from_labels(vectors, labels, clusters, size)


def k_medoids(distances: Floats, clusters: int, *, seed: int = 0) -> Medoids:
    """Return the paper's k-medoids baseline: like k-means, with the medoid in the place of the mean."""
    return _library("alternating", distances, clusters, seed)


def fasterpam(distances: Floats, clusters: int, *, seed: int = 0) -> Medoids:
    """Return the result of the fastest k-medoids library that is known, on the full matrix and one core."""
    return _library("fasterpam", distances, clusters, seed)


def _library(name: str, distances: Floats, clusters: int, seed: int) -> Medoids:
    try:
        import kmedoids
    except ImportError as error:
        raise InputError(f"{name} needs the package kmedoids: pip install 'cccount[benchmarks]'") from error
    options = {"n_cpu": 1} if name == "fasterpam" else {}
    found = getattr(kmedoids, name)(distances, clusters, init="random", random_state=seed, **options)
    swaps = int(found.n_swap or 0)  # the alternating form counts none
    return Medoids(found.medoids.astype(np.int64), found.labels.astype(np.int64), float(found.loss), swaps)


def bregman_bubbles(vectors: Floats, clusters: int, size: int, *, seed: int = 0) -> Int64s:
    """Return K dense groups by BBC-S (Gupta and Ghosh), adapted: K n images belong to bubbles, and n to each in the end.

    In each round the images nearest to the centres of their bubbles stay, at first all of them and fewer from round to round
    (pressurisation); the centres move to their means.
    """
    random = np.random.default_rng(seed)
    centres = vectors[random.permutation(len(vectors))[:clusters]].astype(np.float64)
    wanted, kept = clusters * size, float(len(vectors))
    before: Int64s | None = None
    for _ in range(_ROUNDS):
        labels, squared = nearest_centres(vectors, centres)
        inside = np.argsort(squared, kind="stable")[: max(int(kept), wanted)]
        for k in np.unique(labels[inside]).tolist():
            centres[k] = vectors[inside[labels[inside] == k]].mean(axis=0, dtype=np.float64)
        if int(kept) <= wanted and before is not None and np.array_equal(before, labels):
            break
        before, kept = labels, max(wanted + (kept - wanted) * _PRESSURE - 1, wanted)
    return _nearest_members(vectors, labels, centres, size)


def _nearest_members(vectors: Floats, labels: NDArray[np.integer], centres: NDArray[np.floating], size: int) -> Int64s:
    """Return of each cluster the images nearest to its centre."""
    found = np.full((len(centres), size), EMPTY, np.int64)
    for k, centre in enumerate(centres):
        members = np.flatnonzero(labels == k)
        squared = np.square(vectors[members].astype(np.float64) - centre).sum(axis=1)
        nearest = members[np.argsort(squared, kind="stable")[:size]]
        found[k, : len(nearest)] = nearest
    return found

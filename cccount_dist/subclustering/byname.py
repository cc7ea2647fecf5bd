"""What subclustering is compared with, by name: each takes vectors, K, n and a seed, and returns members (K, n)."""

from collections.abc import Callable

from cccount_dist.subclustering.baselines import all_distances, bregman_bubbles, from_medoids, normalised_cut
from cccount_dist.subclustering.clarans import alternating, clarans
from cccount_dist.subclustering.distances import Floats, Int64s
from cccount_dist.subclustering.fast_pam import restricted_pam

Baseline = Callable[[Floats, int, int, int], Int64s]


def _fast_pam(vectors: Floats, clusters: int, size: int, seed: int) -> Int64s:
    found, centroids = restricted_pam(vectors, clusters, seed=seed)
    return from_medoids(vectors, found, centroids, size)


def _clarans(vectors: Floats, clusters: int, size: int, seed: int) -> Int64s:
    found = clarans(all_distances(vectors), clusters, seed=seed, searches=4)
    return from_medoids(vectors, found, found.medoids, size)


def _k_medoids(vectors: Floats, clusters: int, size: int, seed: int) -> Int64s:
    found = alternating(all_distances(vectors), clusters, seed=seed)
    return from_medoids(vectors, found, found.medoids, size)


def _normalised_cut(vectors: Floats, clusters: int, size: int, seed: int) -> Int64s:
    return normalised_cut(vectors, clusters, size, seed=seed)


def _bregman_bubbles(vectors: Floats, clusters: int, size: int, seed: int) -> Int64s:
    return bregman_bubbles(vectors, clusters, size, seed=seed)


BASELINES: dict[str, Baseline] = {
    "fast-pam": _fast_pam,
    "clarans": _clarans,
    "k-medoids": _k_medoids,
    "normalised-cut": _normalised_cut,
    "bbc-s": _bregman_bubbles,
}

"""The clusters whose means are nearest to that of each cluster. Time O(K² p), memory O(512 K)."""

import numpy as np

from cccount_dist.clustering.catalogue.state import State

BLOCK = 512


def nearest_clusters(state: State) -> dict[int, list[int]]:
    """Return for each cluster the others that fit on a sheet beside it, the nearest first."""
    clusters = state.book.clusters
    live = clusters.live
    most = min(state.cells, len(live) - 1)
    if most < 1:
        return {}
    centre = clusters.centre[live].astype(np.float64)
    square = np.square(centre).sum(axis=1)
    found: dict[int, list[int]] = {}
    for start in range(0, len(live), BLOCK):
        away = square[None, :] - 2.0 * centre[start : start + BLOCK] @ centre.T
        away[np.arange(len(away)), start + np.arange(len(away))] = np.inf
        order = np.argsort(away, axis=1, kind="stable")[:, :most]
        for place, others in enumerate(order):
            found[int(live[start + place])] = live[others].tolist()
    return found

"""From eigenvectors to groups: by the sign of v2 for two groups, by k-means on the rows of v2 … vK for more.

How sure an item's group is: |v2| for two groups (the paper's rule), otherwise its distance from the plane between its own centre
and the next one. k-means starts at the groups from before and, to leave a bad solution, at items far from each other; the better
one is kept. Time O(n K²) for a round.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.spectral.graph import Floats, RatedGraph

_ROUNDS = 50
_ZERO = 1e-12  # of the largest entry: what is smaller is neither positive nor negative


@dataclass(frozen=True, slots=True)
class Placing:
    """Groups, how far each item is from changing its own, and in which direction that is."""

    labels: NDArray[np.int64]  # (n,) from 0 to K - 1
    margin: Floats  # (n,)
    direction: Floats  # (n, K - 1), or (1, 1) for two groups

    def toward(self, item: int) -> Floats:
        """(K - 1,) the direction in which the item is nearest to another group."""
        return np.asarray(self.direction[item % len(self.direction)])

    def least_sure(self, but: set[int]) -> int | None:
        """Return the item with the smallest margin, except some; of equally small ones the first."""
        margin = self.margin.copy()
        margin[list(but)] = np.inf
        smallest = margin.min()
        return int(np.argmax(margin <= smallest + 1e-9 * self.margin.max())) if np.isfinite(smallest) else None


def place(block: Floats, before: NDArray[np.int64] | None) -> Placing:
    """Return the groups of items whose places are the rows of `block` (n, K - 1); `before` are groups to start from."""
    if block.shape[1] == 1:
        entry = block[:, 0]
        return Placing((entry > _ZERO * np.abs(entry).max()).astype(np.int64), np.abs(entry), np.ones((1, 1)))
    clusters = block.shape[1] + 1
    starts = [block[_far_items(block, clusters)]]
    if before is not None:
        starts.append(_means(block, before, starts[0]))
    centres, squared = min((_lloyd(block, start) for start in starts), key=lambda one: float(one[1].min(axis=1).sum()))
    labels = squared.argmin(axis=1)
    rows = np.arange(len(block))
    apart = np.sqrt(np.square(centres[:, None] - centres).sum(axis=2))
    apart[np.diag_indices(clusters)] = np.inf
    # The distance from the plane between two centres a and b: (|y - b|² - |y - a|²) / 2 |a - b|.
    margins = (squared - squared[rows, labels][:, None]) / (2.0 * np.maximum(apart[labels], 1e-300))
    margins[rows, labels] = np.inf
    other = margins.argmin(axis=1)
    ways = centres[labels] - centres[other]
    lengths = np.sqrt(np.square(ways).sum(axis=1, keepdims=True))
    return Placing(labels.astype(np.int64), margins[rows, other], ways / np.where(lengths > 0.0, lengths, 1.0))


def mostly_near_0(graph: RatedGraph) -> bool:
    """Say whether 0 may stand for what was not rated: the median rating is less than half of the mean."""
    weights = graph.rated().weights
    return bool(np.median(weights) < 0.5 * weights.mean()) if len(weights) else False


def unexplained(graph: RatedGraph, labels: NDArray[np.int64]) -> float:
    """Return the sum of squares of the ratings around two means: that of pairs within a group and that of pairs between two."""
    rated = graph.rated()
    within = labels[rated.first] == labels[rated.second]
    some = rated.weights[within], rated.weights[~within]
    return float(sum(np.square(one - one.mean()).sum() for one in some if len(one)))


def _far_items(block: Floats, clusters: int) -> list[int]:
    """The item farthest from the mean, then always the one farthest from those that were chosen."""
    chosen: list[int] = []
    squared = np.square(block - block.mean(axis=0)).sum(axis=1)
    for _ in range(clusters):
        chosen.append(int(squared.argmax()))
        to_last = np.square(block - block[chosen[-1]]).sum(axis=1)
        squared = to_last if len(chosen) == 1 else np.minimum(squared, to_last)
    return chosen


def _lloyd(block: Floats, centres: Floats) -> tuple[Floats, Floats]:
    """Return centres that no item would move away from, and the (n, K) squared distances from them."""
    labels = np.full(len(block), -1)
    for _ in range(_ROUNDS):
        squared = np.square(block[:, None] - centres).sum(axis=2)
        nearest = squared.argmin(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels, centres = nearest, _means(block, nearest, centres)
    return centres, squared


def _means(block: Floats, labels: NDArray[np.int64], empty: Floats) -> Floats:
    """Return the mean of every group; an empty one is put where `empty` says."""
    sums = np.zeros_like(empty)
    np.add.at(sums, labels, block)
    sizes = np.bincount(labels, minlength=len(empty))[:, None]
    return np.where(sizes > 0, sums / np.maximum(sizes, 1), empty)

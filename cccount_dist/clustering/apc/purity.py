"""Is a cluster one class? Compactness (equation 6 and appendix B.2), the central item, and the pair that people are asked about.

Quadratic in the members, of which at most 300 are looked at.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.merging import thinned
from cccount_dist.clustering.apc.probability import Floats, Ints, PairMap, between

SMALL = 4  # a cluster up to this size that fails is not split by questions: the odd item leaves
_MIDDLE = (0.5, 0.7)  # ranks by closeness to the central item from which the pair's other item is drawn


class Looks:
    """One look at a cluster: the probabilities of all pairs of its (at most 300) members."""

    def __init__(self, vectors: NDArray[np.float32], pairs: PairMap, members: Ints) -> None:
        self.members = thinned(members)
        bins = pairs.bins(between(vectors, self.members, self.members))
        self._same: Floats = pairs.same[bins]
        odds = pairs.odds[bins]
        np.fill_diagonal(odds, 0.0)
        # l(i) = Σ log p/(1-p), largest first; equal ones in the order of items
        self.central: Ints = self.members[np.argsort(-odds.sum(axis=1), kind="stable")]

    @property
    def leader(self) -> int:
        return int(self.central[0])

    def compactness(self) -> float:
        """Return the mean probability of each item with the members of middle rank."""
        size = len(self.members)
        ranked = -np.sort(-self._same, axis=1)
        low = size // 2
        return float(ranked[:, low : max(low + 1, low + int(np.sqrt(size)))].mean())

    def other(self, seed: int) -> int:
        """Return the item of middle rank that people compare the central one with."""
        at = int(np.flatnonzero(self.members == self.leader)[0])
        ranked = self.members[np.argsort(-self._same[at], kind="stable")]
        ranked = ranked[ranked != self.leader]
        low, high = (int(share * len(self.members)) for share in _MIDDLE)
        low = min(low, len(ranked) - 1)
        # The draw depends on the cluster and the seed alone: not on what was asked before it.
        chance = np.random.default_rng([seed, self.leader, len(self.members)])
        return int(ranked[chance.integers(low, min(max(high, low + 1), len(ranked)))])

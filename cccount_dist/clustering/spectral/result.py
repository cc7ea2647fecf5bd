"""The grouping of a rated collection, and how well it is determined."""

from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.result import Grouping

_LOPSIDED = 0.05


@dataclass(frozen=True, slots=True)
class SpectralGrouping(Grouping):
    """Groups, or -1 for every item while the ratings determine none."""

    parts: int = 1  # connected parts of the graph of ratings; there is no grouping before it is one
    gap: float = 0.0  # 1 - λK / λ(K+1): near 0 another grouping is nearly as good
    rated: float = 0.0  # share of all pairs that was rated

    @property
    def note(self) -> str:
        """What a reader must know before using the groups; empty if there is nothing."""
        if self.parts > 1:
            return f"No grouping yet: the ratings leave {self.parts:,} parts that are not connected."
        if self.clusters == 0:
            return "No grouping yet: the ratings determine none, for two eigenvalues are equal."
        smallest = np.bincount(self.labels[self.labels >= 0]).min() / np.count_nonzero(self.labels >= 0)
        if smallest < _LOPSIDED / self.clusters:
            return f"The smallest group has {smallest:.1%} of the items: it may be outliers, not a group."
        return ""

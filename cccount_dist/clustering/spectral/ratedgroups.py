"""The grouping of a rated collection, how well it is determined, and what its reader should know."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.result import Grouping, numbered

_LOPSIDED = 0.1  # of an even share: a group that is smaller is worth a look


@dataclass(frozen=True, slots=True)
class SpectralGrouping(Grouping):
    """Groups, or -1 for every item while the ratings determine none."""

    parts: int = 1  # connected parts of the graph of ratings; there is no grouping before it is one
    gap: float = 0.0  # between λK and λ(K+1): near 0 another grouping is nearly as good
    rated: float = 0.0  # share of all pairs that was rated


def no_grouping(items: int, parts: int, rated: float) -> SpectralGrouping:
    """Return what can be said while the ratings determine no groups."""
    why = f"the ratings leave {parts:,} parts that are not connected" if parts > 1 else "two eigenvalues are equal"
    return SpectralGrouping(np.full(items, -1), parts, rated=rated, warning=f"there is no grouping yet, for {why}")


def grouping(labels: NDArray[np.int64], gap: float, rated: float) -> SpectralGrouping:
    """Return the groups, with a warning where one is so small that it may be a few outliers."""
    smallest = int(np.bincount(labels).min())
    small = smallest < _LOPSIDED * len(labels) / (labels.max() + 1)
    warning = f"the smallest group has {smallest:,} of {len(labels):,} items, and may be outliers" if small else None
    return SpectralGrouping(numbered(labels), 1, gap, rated, warning=warning)

"""Subclusters of each side: no subcluster has pictures of two sides."""

from collections.abc import Sequence

import numpy as np

from cccount_dist.sampling.sided import Part, Sided
from cccount_dist.subclustering.result import EMPTY, Subclusters


class SidedSubclusters(Sided[Subclusters]):
    """The subclustering samplers of all sides as one. `size`: images of a subcluster."""

    def __init__(self, parts: Sequence[Part[Subclusters]], items: int, size: int) -> None:
        super().__init__(parts, items)
        self._size = size

    def result(self) -> Subclusters:
        """Return the subclusters of all sides, one side after the other. The scale is their mean."""
        every = [self._alone(int(items[0])) if found is None else found for _, items, found in self.own()]
        scales = [found.scale for _, _, found in self.own() if found is not None]
        return Subclusters(
            np.concatenate([one.members for one in every]),
            np.concatenate([one.checked for one in every]),
            np.concatenate([one.distance for one in every]),
            np.concatenate([one.surplus for one in every]),
            float(np.mean(scales)) if scales else 1.0,
            sum(one.restricted for one in every),
        )

    def _alone(self, item: int) -> Subclusters:
        """The only image of a side, which is the centroid of a subcluster of its own."""
        members, distance = np.full((1, self._size), EMPTY), np.full((1, self._size), np.nan)
        members[0, 0], distance[0, 0] = item, 0.0
        return Subclusters(members, members != EMPTY, distance, np.zeros(1, np.bool_), 1.0, 1)


__all__ = ["SidedSubclusters"]

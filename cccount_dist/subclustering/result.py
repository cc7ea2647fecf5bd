"""What subclustering returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EMPTY = -1


@dataclass(frozen=True, slots=True)
class Subclusters:
    """K subclusters of up to n images. The first image of each is its centroid; no image is in two of them."""

    members: NDArray[np.int64]  # (K, n) items; -1: nothing was found for this place
    checked: NDArray[np.bool_]  # (K, n) whether people said that it is the same as the centroid
    distance: NDArray[np.float64]  # (K, n) to the centroid; NaN for an empty place
    surplus: NDArray[np.bool_]  # (K,) the centroid is known to be the same as that of an earlier subcluster: K is too large
    scale: float  # λ
    restricted: int  # items that could become centroids

    @property
    def count(self) -> int:
        """How many subclusters there are, surplus ones left out."""
        return int(np.count_nonzero(~self.surplus))

    @property
    def empty(self) -> int:
        """How many places nothing was found for, surplus subclusters left out."""
        return int(np.count_nonzero(self.members[~self.surplus] == EMPTY))

"""How often people agree with the subclusters, and how long a place has been looked for an image (appendix B.1 of the paper).

H_bc is the number of between-class questions for each disagreement, H_wc that of within-class ones. A place may have H_bc / H_wc
questions in a row, at least one; then it waits. As fewer errors are left between the classes the limit grows, and places that
waited have their turn. One is added to each number, so that the ratio is defined from the start.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.types import DIFFERENT, SAME


class Tally:
    """Counts for K subclusters of n images."""

    def __init__(self, clusters: int, size: int) -> None:
        self.tries = np.zeros((clusters, size), np.int64)  # images in a row that were not the same as the centroid
        self._asked = [0, 0]  # within, between
        self._disagreed = [0, 0]

    def count(self, between: bool, before: float | None, value: float | None) -> None:  # noqa: FBT001
        """Count an answer, in the place of the one that was given before."""
        surprising = SAME if between else DIFFERENT
        for said, change in ((before, -1), (value, 1)):
            if said is not None:
                self._asked[between] += change
                self._disagreed[between] += change * (said == surprising)

    def tried(self, k: int, place: int, value: float | None) -> None:
        """Take in the answer about the image that stood at a place."""
        self.tries[k, place] = 0 if value == SAME else self.tries[k, place] + 1

    def forget(self, changed: Collection[int]) -> None:
        """Begin anew for subclusters that have another centroid."""
        self.tries[list(changed)] = 0

    @property
    def limit(self) -> float:
        """How many questions in a row a place may have."""
        within, between = ((asked + 1) / (no + 1) for asked, no in zip(self._asked, self._disagreed, strict=True))
        return max(1.0, between / within)

    def waits(self) -> NDArray[np.bool_]:
        """Return which places have had their questions."""
        return np.asarray(self.tries >= self.limit)

"""The order of a nested sampler's draws: one infinite sequence with N : M = 1 : r along the way; a budget only cuts it.

After r N² draws there are N anchors with M = r N draws each. From N to N + 1: each of the N anchors gets r more
draws, then the new anchor gets r (N + 1). So the number in the sequence, anchor and draw follow from each other in closed form.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.parameters import RATIO


def locate(start: int, stop: int, ratio: int = RATIO) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the anchor and its draw for the places start … stop - 1 of the sequence.

    >>> anchor, draw = locate(5, 16)
    >>> anchor.tolist(), draw.tolist()
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], [5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1])
    """
    place = np.arange(start, stop, dtype=np.int64)
    level = np.floor(np.sqrt(place / ratio)).astype(np.int64)
    # The square root is rounded: put right what it may have moved across a whole number.
    level += ratio * (level + 1) ** 2 <= place
    level -= ratio * level**2 > place
    offset = place - ratio * level**2
    old = offset < ratio * level
    anchor = np.where(old, offset // ratio, level)
    draw = np.where(old, ratio * level + offset % ratio, offset - ratio * level)
    return anchor, draw


def anchors_after(draws: int, ratio: int = RATIO) -> int:
    """Return how many anchors the first `draws` draws touch.

    >>> [anchors_after(q) for q in (0, 1, 14, 15, 28)]
    [0, 1, 1, 2, 2]
    """
    level = math.isqrt(draws // ratio)
    return level + (draws - ratio * level**2 > ratio * level)


def level_reached(settled: NDArray[np.int64], ratio: int = RATIO) -> int:
    """Return the largest N for which at least N anchors have r N settled draws each (`settled`: draws of each anchor).

    In the order of the sequence this is the last level that is complete; a question that waits for its answer for a long time
    holds back its own anchor only.

    >>> level_reached(np.array([21, 21, 20])), level_reached(np.array([21, 21, 21])), level_reached(np.array([6]))
    (2, 3, 0)
    """
    ranked = np.sort(settled)[::-1] // ratio
    return int(np.count_nonzero(ranked >= np.arange(1, len(ranked) + 1)))

"""The order of a nested sampler's questions: one infinite sequence with N : M = 1 : 7 along the way; a budget only cuts it.

After 7 N² questions there are N anchors with M = 7 N draws each. From N to N + 1: each of the N anchors gets 7 more
draws, then the new anchor gets 7 (N + 1). So question number, anchor and draw follow from each other in closed form.
"""

import math

import numpy as np
from numpy.typing import NDArray

RATIO = 7  # section 4, "Parameters for Nested-IS": M = 7 N


def locate(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the anchor and the draw of the questions start … stop - 1.

    >>> anchor, draw = locate(5, 16)
    >>> anchor.tolist(), draw.tolist()
    ([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], [5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 1])
    """
    question = np.arange(start, stop, dtype=np.int64)
    level = np.floor(np.sqrt(question / RATIO)).astype(np.int64)
    # The square root is rounded: put right what it may have moved across a whole number.
    level += RATIO * (level + 1) ** 2 <= question
    level -= RATIO * level**2 > question
    offset = question - RATIO * level**2
    old = offset < RATIO * level
    anchor = np.where(old, offset // RATIO, level)
    draw = np.where(old, RATIO * level + offset % RATIO, offset - RATIO * level)
    return anchor, draw


def anchors_after(questions: int) -> int:
    """Return how many anchors the first `questions` questions touch.

    >>> [anchors_after(q) for q in (0, 1, 14, 15, 28)]
    [0, 1, 1, 2, 2]
    """
    level = math.isqrt(questions // RATIO)
    return level + (questions - RATIO * level**2 > RATIO * level)


def level_reached(settled: NDArray[np.int64]) -> int:
    """Return the largest N for which at least N anchors have 7 N settled draws each (`settled`: draws of each anchor).

    In the order of the sequence this is the last level that is complete; a question that waits for its answer for a long time
    holds back its own anchor only.

    >>> level_reached(np.array([21, 21, 20])), level_reached(np.array([21, 21, 21])), level_reached(np.array([6]))
    (2, 3, 0)
    """
    ranked = np.sort(settled)[::-1] // RATIO
    return int(np.count_nonzero(ranked >= np.arange(1, len(ranked) + 1)))

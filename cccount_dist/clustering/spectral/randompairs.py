"""Pairs that are drawn by chance: any that was never asked, or one between two parts of the graph that are not connected yet.

The draw depends on the seed and the number of the question only, and on which pairs were asked: so neither batches nor a restart
change it. Time O(n) for a pair between parts; a few tries for any pair, O(n²) when nearly all were asked.
"""

from collections.abc import Set
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

Pair = tuple[int, int]
_TRIES = 64


def generator(seed: int, question: int) -> np.random.Generator:
    """Return the random numbers of one question."""
    return np.random.Generator(np.random.Philox(key=seed, counter=[question, 0, 0, 0]))


def random_pair(items: int, asked: Set[Pair], random: np.random.Generator) -> Pair | None:
    """Return a pair that was not asked, each with the same probability; None if all were."""
    left = items * (items - 1) // 2 - len(asked)
    if left <= 0:
        return None
    for _ in range(_TRIES):
        u, v = sorted(random.integers(0, items, 2).tolist())
        if u != v and (u, v) not in asked:
            return u, v
    place = int(random.integers(left))  # few are left: count to the one that was drawn
    return next(islice((pair for pair in combinations(range(items), 2) if pair not in asked), place, None), None)


def connecting_pair(part: NDArray[np.int32], asked: Set[Pair], random: np.random.Generator) -> Pair | None:
    """Return a pair of two different parts that was not asked, all with the same probability; None if none was found."""
    outside = len(part) - np.bincount(part)[part]
    ends = np.cumsum(outside)
    for _ in range(_TRIES):
        u = int(np.searchsorted(ends, random.integers(ends[-1]), side="right"))
        others = np.flatnonzero(part != part[u])
        v = int(others[random.integers(len(others))])
        if (min(u, v), max(u, v)) not in asked:
            return min(u, v), max(u, v)
    return None

"""Mean-shift with a flat window as wide as the mean distance to the nearest neighbour; each mode is a cluster (section 4).

A window is looked for among the stored neighbours of the item that is nearest to its centre: as wide as it is here, it holds a
handful of items. With k = n - 1 neighbours the modes are those of the whole collection. Time O(n k d) for each of the few
steps, memory O(n (d + k)) for the modes and the lists, beside the vectors.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from storage.errors import InputError

_MOST_STEPS = 300


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes: how many, and the window's width."""

    clusters: int
    bandwidth: float


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _squared(first: NDArray[np.float64], second: NDArray[np.float32]) -> float:
    total = 0.0
    for dimension in range(len(first)):
        difference = first[dimension] - second[dimension]
        total += difference * difference
    return total


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _climb(
    vectors: NDArray[np.float32],
    index: NDArray[np.int32],
    items: NDArray[np.int64],
    width: float,
    modes: NDArray[np.float32],
    home: NDArray[np.int64],
    weight: NDArray[np.int64],
) -> None:
    """Move each item to the mean of its window until it stays; write where it ends, the item nearest to that, and its window."""
    d, k = vectors.shape[1], index.shape[1]
    centre, mean = np.empty(d), np.empty(d)
    for number in range(len(items)):
        nearest = items[number]
        centre[:] = vectors[nearest]
        for _ in range(_MOST_STEPS):
            mean[:] = 0.0
            inside = 0
            best, best_distance = nearest, np.inf
            for place in range(-1, k):
                item = nearest if place < 0 else index[nearest, place]
                if item < 0:
                    continue
                distance = _squared(centre, vectors[item])
                if distance <= width * width:
                    mean += vectors[item]
                    inside += 1
            if inside == 0:
                break
            mean /= inside
            moved = 0.0
            for dimension in range(d):
                moved += (mean[dimension] - centre[dimension]) ** 2
            centre[:] = mean
            for place in range(-1, k):
                item = nearest if place < 0 else index[nearest, place]
                if item >= 0:
                    distance = _squared(centre, vectors[item])
                    if distance < best_distance:
                        best, best_distance = item, distance
            weight[number] = inside
            nearest = best
            if moved <= (1e-3 * width) ** 2:
                break
        modes[number] = centre
        home[number] = nearest


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _thin(
    modes: NDArray[np.float32],
    home: NDArray[np.int64],
    order: NDArray[np.int64],
    index: NDArray[np.int32],
    starts: NDArray[np.int64],
    listed: NDArray[np.int64],
    width: float,
) -> int:
    """Keep a mode unless a stronger one that is kept lies within the window; look where stored neighbours are at home."""
    kept = np.zeros(len(modes), np.bool_)
    count = 0
    centre = np.empty(modes.shape[1])
    for number in order:
        centre[:] = modes[number]
        free = True
        for place in range(-1, index.shape[1]):
            item = home[number] if place < 0 else index[home[number], place]
            if item < 0 or not free:
                continue
            for entry in range(starts[item], starts[item + 1]):
                other = listed[entry]
                if kept[other] and _squared(centre, modes[other]) <= width * width:
                    free = False
                    break
        if free:
            kept[number] = True
            count += 1
    return count


def mean_shift_modes(vectors: NDArray[np.float32], index: NDArray[np.int32], *, bandwidth: float | None = None) -> Modes:
    """Return the number of modes, from prepared vectors (n, d) and the stored neighbours (n, k)."""
    if len(vectors) != len(index):
        raise InputError(f"there are {len(vectors)} vectors and neighbours of {len(index)} items: they must be of the same items")
    items = np.flatnonzero(index[:, 0] >= 0)
    if len(items) < 2:
        raise InputError(f"mean-shift needs at least 2 items with a vector, not {len(items)}")
    width = _mean_nearest(vectors, index, items) if bandwidth is None else bandwidth
    modes = np.empty((len(items), vectors.shape[1]), np.float32)
    home, weight = np.empty(len(items), np.int64), np.zeros(len(items), np.int64)
    _climb(vectors, index, items, width, modes, home, weight)
    by_home = np.argsort(home, kind="stable")
    starts = np.searchsorted(home[by_home], np.arange(len(vectors) + 1))
    order = np.argsort(-weight, kind="stable")
    # Modes of items that climbed to the same place differ by rounding only: a window of width 0 (duplicates) must hold them.
    return Modes(int(_thin(modes, home, order, index, starts, by_home, width * (1 + 1e-6) + 1e-6)), width)


def _mean_nearest(vectors: NDArray[np.float32], index: NDArray[np.int32], items: NDArray[np.int64]) -> float:
    total = 0.0
    for start in range(0, len(items), 8192):
        mine = items[start : start + 8192]
        difference = vectors[mine].astype(np.float64) - vectors[index[mine, 0]]
        total += float(np.sqrt(np.square(difference).sum(axis=1)).sum())
    return total / len(items)

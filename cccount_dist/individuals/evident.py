"""What time and place say about pairs of pictures: too far apart for one animal, at once before opposite cameras, after a death.

Pure: arrays in, pairs out. Each costs what its docstring says; none looks at all pairs. Where there may be very many, they come
as an array (m, 2), so that whoever keeps them can first see whether they fit.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Degrees = NDArray[np.float64]
Pairs = list[tuple[int, int]]
_EARTH_KM = 6371.0
_MICROSECONDS = 1e6
_ROWS = 16_384  # that are looked at together


def kilometers(north: Degrees, east: Degrees, u: NDArray[np.int64], v: NDArray[np.int64]) -> Degrees:
    """Return the distances of pairs of places on the globe (haversine).

    >>> kilometers(np.array([60.0, 61.0]), np.array([25.0, 25.0]), np.array([0]), np.array([1])).round(1).tolist()
    [111.2]
    """
    a, b = np.radians(north[u]), np.radians(north[v])
    turn = np.radians(east[u] - east[v]) / 2
    inside = np.sin((a - b) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(turn) ** 2
    found: Degrees = 2 * _EARTH_KM * np.arcsin(np.sqrt(np.clip(inside, 0.0, 1.0)))
    return found


def too_far(
    near: NDArray[np.int32], moments: NDArray[np.int64], timed: NDArray[np.bool_], north: NDArray[np.float64],
    east: NDArray[np.float64], speed: float,
) -> NDArray[np.int64]:  # fmt: skip
    """Return the pairs of neighbours that no animal of this speed (km/h) can both be.

    `near` (n, k): of each picture those that look like it, which are what a method asks about; moments in microseconds; places
    are NaN where not known. Time: O(n k); memory: the pairs that are found, and a block of the rows.
    """
    usable = timed & ~np.isnan(north) & ~np.isnan(east)
    found = [np.zeros(0, np.int64)]
    for start in range(0, len(near), _ROWS):
        block = np.asarray(near[start : start + _ROWS])
        u = np.repeat(np.arange(start, start + len(block)), block.shape[1])
        v = block.ravel().astype(np.int64)
        good = (v >= 0) & usable[u] & usable[np.where(v >= 0, v, 0)]
        u, v = u[good], v[good]
        hours = np.abs(moments[u] - moments[v]) / _MICROSECONDS / 3600
        far = kilometers(north, east, u, v) > speed * hours
        found.append(np.unique(np.minimum(u, v)[far] * len(near) + np.maximum(u, v)[far]))
    pairs = np.unique(np.concatenate(found))
    return np.stack([pairs // len(near), pairs % len(near)], axis=1) if len(near) else np.zeros((0, 2), np.int64)


def at_once(one: Sequence[int], other: Sequence[int], moments: NDArray[np.int64], seconds: float) -> Pairs:
    """Return each picture of one camera with the one of the opposite camera that was taken nearest to it, if within some seconds.

    Time: O(m log m).

    >>> at_once([0, 1], [2, 3], np.array([0, 60, 1, 300]) * 1_000_000, seconds=5)
    [(0, 2)]
    """
    there = np.array(sorted(other, key=lambda item: (int(moments[item]), item)), np.int64)
    if not len(there):
        return []
    times = moments[there]
    found = []
    for item in one:
        place = int(np.searchsorted(times, moments[item]))
        around = [one for one in (place - 1, place) if 0 <= one < len(there)]
        nearest = around[int(np.argmin(np.abs(times[around] - moments[item])))]  # of equals the earlier one
        if abs(int(times[nearest] - moments[item])) <= seconds * _MICROSECONDS:
            found.append((item, int(there[nearest])))
    return found


def after_death(
    pictures: Mapping[str, int], died: Mapping[str, int], moments: NDArray[np.int64], timed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return a picture of each dead animal with every picture that was taken after its death. Time: pictures times deaths.

    `died`: the moment by the animal's name; `pictures`: one picture of each, that was taken before.
    """
    found = [np.zeros((0, 2), np.int64)]
    for name, moment in died.items():
        later = np.flatnonzero(timed & (moments > moment))
        later = later[later != pictures[name]]
        found.append(np.stack([np.full(len(later), pictures[name]), later], axis=1))
    return np.concatenate(found)


def one_of_each(groups: Iterable[Sequence[int]]) -> Pairs:
    """Return the pairs that make each group one: its first with each other.

    >>> one_of_each([[4, 7, 9], [1]])
    [(4, 7), (4, 9)]
    """
    return [(group[0], item) for group in groups for item in group[1:]]


__all__ = ["after_death", "at_once", "kilometers", "one_of_each", "too_far"]

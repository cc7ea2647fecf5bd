"""Which points of two pictures match, and lie alike in both: a second look at pairs whose vectors are near.

A picture is up to `POINTS` local features (`embedding/localfeatures.py`): the place of a point and what is around it, RootSIFT in
whole numbers. A point matches the nearest of the other picture if the second nearest is clearly farther; of several that match
one point the nearest is kept. Every two matches say how one picture could lie over the other (turned, shifted, larger or
smaller), and the way that most matches agree with is taken: RANSAC without random draws, because all are tried. Products of whole
numbers below 2²⁴ are exact in float32 in whatever order they are summed, so the result is the same on every machine.
Time of a pair O(POINTS² · 128 + AGREE² · m) for m matches, about a millisecond; memory of a pair O(POINTS²).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numba
import numpy as np
from numpy.typing import NDArray

SIDE = 224  # pixels of the square that points are looked for in
POINTS = 300  # of a picture, at most
DESCRIBED = 128  # numbers of a point
COLUMNS = 2 + DESCRIBED  # x and y in steps of STEP pixels, and those; all 0: no point
STEP = 2.0  # so that a place fits into seven bits, as all else does
NEAREST = 30  # neighbours of an item that are compared with it
RATIO = 0.85  # of the distances to the nearest and to the second nearest, at most
TOLERANCE = 8.0  # pixels between where a point should lie and where it lies
LARGER = 4.0  # how much larger or smaller one picture may show the same thing
AGREE = 60  # matches, the clearest ones, of which every two are tried
FEWEST = 3  # matches that agree: two always do

Features = NDArray[np.int8]  # (POINTS, COLUMNS) of one picture, none below 0; rows of zeros behind the last point


def matched_points(first: Features, second: Features) -> NDArray[np.int64]:
    """Return the points (m, 2) of two pictures that match and lie alike: their rows in either; none if there are fewer than 3."""
    a, b = described(first), described(second)
    if len(a) < FEWEST or len(b) < FEWEST:
        return np.empty((0, 2), np.int64)
    pairs = _clear_pairs(a @ b.T, _square(a), _square(b))
    agree = _agreeing(places(first)[pairs[:, 0]], places(second)[pairs[:, 1]])
    return np.asarray(pairs[agree])


def count_matches(first: Features, second: Features) -> int:
    """Return how many points of two pictures match and lie alike."""
    return len(matched_points(first, second))


def places(features: Features) -> NDArray[np.float64]:
    """Return x and y (POINTS, 2) of each point, in pixels of the square of SIDE."""
    return STEP * features[:, :2].astype(np.float64)


def described(features: Features) -> NDArray[np.float32]:
    """Return what is around each point, (points, 128)."""
    return features[: int(np.count_nonzero(features[:, 2:].any(axis=1))), 2:].astype(np.float32)


def _square(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(np.square(rows).sum(axis=1))


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _clear_pairs(product, square_a, square_b):
    """Return (m, 2) pairs of points that match, the clearest first; no point of either picture comes twice."""
    rows, columns = product.shape
    partner = np.full(columns, -1, np.int64)
    nearest = np.full(columns, np.inf)
    clear = np.full(rows, np.inf)
    for i in range(rows):
        best, second, at = np.inf, np.inf, -1
        for j in range(columns):
            away = np.float64(square_a[i]) + np.float64(square_b[j]) - 2.0 * np.float64(product[i, j])
            if away < best:
                best, second, at = away, best, j
            elif away < second:
                second = away
        if best < RATIO * RATIO * second:
            clear[i] = best / second
            if best < nearest[at]:
                partner[at], nearest[at] = i, best
    found = np.empty((min(rows, columns), 2), np.int64)
    ratio = np.empty(len(found))
    count = 0
    for j in range(columns):
        if partner[j] >= 0:
            found[count, 0], found[count, 1] = partner[j], j
            ratio[count] = clear[partner[j]]
            count += 1
    return found[:count][np.argsort(ratio[:count], kind="mergesort")]


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _agreeing(first, second):
    """Return (m,) which matches agree with the similarity of the plane that most agree with; the clearest of several."""
    count = len(first)
    best, most = np.zeros(count, np.bool_), FEWEST - 1
    now = np.empty(count, np.bool_)
    for a in range(min(count, AGREE)):
        for b in range(a + 1, min(count, AGREE)):
            px, py = first[b, 0] - first[a, 0], first[b, 1] - first[a, 1]
            qx, qy = second[b, 0] - second[a, 0], second[b, 1] - second[a, 1]
            long, other = px * px + py * py, qx * qx + qy * qy
            if long == 0.0 or other > LARGER * LARGER * long or long > LARGER * LARGER * other:
                continue
            turn, skew = (px * qx + py * qy) / long, (px * qy - py * qx) / long
            agree = 0
            for c in range(count):
                if count - c + agree <= most:
                    break
                x, y = first[c, 0] - first[a, 0], first[c, 1] - first[a, 1]
                off = turn * x - skew * y + second[a, 0] - second[c, 0]
                down = skew * x + turn * y + second[a, 1] - second[c, 1]
                now[c] = off * off + down * down <= TOLERANCE * TOLERANCE
                agree += now[c]
            if agree > most:
                most = agree
                best[:] = now
    return best


__all__ = ["COLUMNS", "NEAREST", "POINTS", "SIDE", "STEP", "Features", "count_matches", "matched_points", "places"]

"""The space of a catalogue: principal components, whitened by what items of a class differ by, and the neighbours in it.

Before the first answer mutual near neighbours stand for items of a class; with answers W = (R'R + 100 W0) / (dof + 100), R being
the placed items minus the mean of their cluster. Memory: 2 n p float32 (p at most 128) and n k lists; the given vectors are read
in blocks and stay where they are. Time: O(n d p) once and O(n p²) for each fit; neighbours O(n² p) up to 8,192 items, beyond that
O(n (k + 144) p), by looking among neighbours and theirs.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import padded, squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.similarity.localscores import LocalScores
from cccount_dist.similarity.threads import one_thread
from cccount_dist.similarity.whitening import mutual_scatter

COMPONENTS = 128
NEIGHBORS = 48
REACH = 12  # neighbours whose neighbours are looked at, and so many of those
EXACT = 8192  # items up to which all pairs are looked at
PRIOR = 100.0  # items that the space without answers counts for
TOTAL = 0.2  # share of the overall scatter in what items of a class are taken to differ by before the first answer
_ROWS = 8192
_LEARNED_FROM = 20_000  # rows that the components are learned from
_RIDGE = 1e-6

Rows = NDArray[np.float32]
Lists = NDArray[np.int32]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Base:
    """The items in their principal components, and what items of a class are taken to differ by before the first answer."""

    rows: Rows  # (n, p)
    within: Matrix  # (p, p)
    local: LocalScores | None = None  # of pictures that were compared, where they were


@dataclass(frozen=True, slots=True)
class Space:
    """The whitened items (padded for `distance.py`), the nearest others of each, nearest first, and their squared distance."""

    rows: Rows  # (n, p)
    lists: Lists  # (n, k); -1 where a list is shorter
    apart: Rows  # (n, k)
    local: Rows  # (n, k) score of local matches with each; (n, 0) where pictures were not compared


def base_of(vectors: Rows, neighbors: Lists, local: LocalScores | None = None) -> Base:
    """Return the components of vectors (n, d) with neighbour lists (n, j): both of items that all have a vector."""
    with one_thread():  # sums in the same order whatever the number of cores
        some = _unit(vectors[:: -(-len(vectors) // _LEARNED_FROM)])
        centre = some.mean(axis=0)
        some = _unit(some - centre)
        _, axes = np.linalg.eigh(some.T @ some)
        chosen = axes[:, ::-1][:, :COMPONENTS]
        rows = np.empty((len(vectors), chosen.shape[1]), np.float32)
        for start in range(0, len(vectors), _ROWS):
            rows[start : start + _ROWS] = _unit(_unit(vectors[start : start + _ROWS]) - centre) @ chosen
        near = mutual_scatter(rows, neighbors)
        some = rows[:: -(-len(vectors) // _LEARNED_FROM)].astype(np.float64)
        overall = (some - some.mean(axis=0)).T @ (some - some.mean(axis=0)) / max(len(some) - 1, 1)
    if np.trace(near) <= 0.0:
        near = overall if np.trace(overall) > 0.0 else np.eye(len(overall))
    if np.trace(overall) <= 0.0:
        overall = np.eye(len(near))
    return Base(rows, (1 - TOTAL) * near + TOTAL * overall * (np.trace(near) / np.trace(overall)), local)


def fitted(base: Base, label: NDArray[np.int32], lists: Lists) -> Space:
    """Return the space that placed items teach: `label` (n,), -1 where an item is not placed; `lists` of an earlier space."""
    placed = np.flatnonzero(label >= 0)
    within = base.within
    with one_thread():
        if len(placed):
            clusters, inverse, count = np.unique(label[placed], return_inverse=True, return_counts=True)
            rows = base.rows[placed].astype(np.float64)
            order = np.argsort(inverse, kind="stable")
            total = np.add.reduceat(rows[order], np.concatenate([[0], np.cumsum(count)[:-1]]), axis=0)
            rows -= (total / count[:, None])[inverse]
            within = (rows.T @ rows + PRIOR * within) / (len(placed) - len(clusters) + PRIOR)
        little = _RIDGE * np.trace(within) / len(within) * np.eye(len(within))
        matrix = np.linalg.inv(np.linalg.cholesky(within + little)).T
        found = np.empty(base.rows.shape, np.float32)
        for start in range(0, len(found), _ROWS):
            found[start : start + _ROWS] = base.rows[start : start + _ROWS] @ matrix
        found = padded(found)
        k = min(NEIGHBORS, len(found) - 1)
        near = _all_pairs(found, k) if len(found) <= EXACT else _widened(lists, min(REACH, lists.shape[1]))
    lists, apart = _nearest(found, near, k)
    return Space(found, lists, apart, _matching(base.local, lists))


def _matching(local: LocalScores | None, lists: Lists) -> Rows:
    """Return the local scores of the listed ones."""
    if local is None:
        return np.zeros((len(lists), 0), np.float32)
    rows = local.rows
    return np.asarray(_scores(rows.indptr, rows.indices, rows.data, lists))


def nearest_of(base: Base) -> Lists:
    """Return the nearest others (n, k) of each item before the first answer, in no order, by all pairs: O(n² p)."""
    with one_thread():
        return _all_pairs(base.rows, min(NEIGHBORS, len(base.rows) - 1))


def _unit(rows: NDArray[np.floating]) -> Matrix:
    wide = rows.astype(np.float64)
    return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-12))


def _all_pairs(rows: Rows, k: int) -> Lists:
    """Return the k nearest of each by all pairs, in no order."""
    square = np.square(rows).sum(axis=1)
    found = np.empty((len(rows), k), np.int32)
    for start in range(0, len(rows), 1024):
        block = rows[start : start + 1024]
        away = square[None, :] - 2.0 * (block @ rows.T)
        away[np.arange(len(block)), start + np.arange(len(block))] = np.inf
        found[start : start + 1024] = np.argpartition(away, k - 1, axis=1)[:, :k]
    return found


@njit(**OPTIONS)
def _scores(start, index, score, lists):
    out = np.zeros(lists.shape, np.float32)
    for i in range(len(lists)):
        for t in range(lists.shape[1]):
            for p in range(start[i], start[i + 1]):
                if index[p] == lists[i, t]:
                    out[i, t] = score[p]
    return out


@njit(**OPTIONS)
def _widened(lists, reach):
    """Return the listed ones of each item and the first neighbours of the first of them, each once; -1 behind."""
    items, k = lists.shape
    out = np.full((items, k + reach * reach), -1, np.int32)
    seen = np.full(items, -1, np.int32)
    for i in range(items):
        seen[i] = i
        count = 0
        for t in range(-1, reach):
            near = i if t < 0 else lists[i, t]
            if near < 0:
                continue
            for s in range(k if t < 0 else reach):
                j = lists[near, s]
                if j >= 0 and seen[j] != i:
                    seen[j] = i
                    out[i, count] = j
                    count += 1
    return out


@njit(**OPTIONS)
def _nearest(rows, candidates, k):
    """Return the k nearest of the candidates (n, m), nearest first, equal ones by number, and their squared distances."""
    items = len(rows)
    lists = np.full((items, k), -1, np.int32)
    apart = np.zeros((items, k), np.float32)
    distance = np.empty(candidates.shape[1])
    for i in range(items):
        count = 0
        while count < candidates.shape[1] and candidates[i, count] >= 0:
            count += 1
        ordered = np.sort(candidates[i, :count])
        for p in range(count):
            distance[p] = squared_distance(rows, i, ordered[p])
        order = np.argsort(distance[:count], kind="mergesort")
        for p in range(min(k, count)):
            lists[i, p] = ordered[order[p]]
            apart[i, p] = distance[order[p]]
        for p in range(count, k):
            apart[i, p] = apart[i, count - 1] if count else 0.0
    return lists, apart

"""The best cells of every cluster, and the item without a cluster that is the best anchor: compiled.

Value of a cell: how likely it is the same, times the items that the answer moves; less where the label is right anyway. Time
O(32 n) for the clusters and O(80 u) for u unplaced items; memory O(24 K).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.pairs import ClusterPairs
from cccount_dist.clustering.catalogue.sheet import GROUP, ITEM
from cccount_dist.clustering.catalogue.state import ON_CLUSTER, ON_SEED, State
from cccount_dist.clustering.evidence.kernels import OPTIONS

WORTH_SHOWING = 0.02  # probability from which an unplaced item is a cell of a cluster
KNOWN, TAPER = 0.8, 0.75  # an item surer than this is labelled rightly already: to see it marked is worth up to so much less
SURE = 0.97  # placed items below this are shown again
PAIRED = 0.005  # probability from which two clusters are shown together
MOVED = 6  # items that two clusters count for at most
SEEDS = 8192  # unplaced items that are looked at as anchors, in a fixed order


@dataclass(frozen=True, slots=True)
class Cells:
    """The best cells of each cluster, best first: (K, cells) values, ids (items, or clusters), roles and raw probabilities."""

    value: NDArray[np.float64]
    id: NDArray[np.int64]
    role: NDArray[np.int8]
    chance: NDArray[np.float64]

    def of(self, cluster: int) -> list[tuple[int, int, float]]:
        """Return id, role and probability of the cells of one cluster."""
        count = int((self.value[cluster] > 0.0).sum())
        columns = self.id[cluster, :count], self.role[cluster, :count], self.chance[cluster, :count]
        return list(zip(*(column.tolist() for column in columns), strict=True))


def best_cells(state: State, pairs: ClusterPairs, taken: NDArray[np.bool_], clear: NDArray[np.float64]) -> Cells:
    """Return the best cells of each cluster. `taken` (n,): on open sheets; `clear` (n,): what an item's cell counts."""
    clusters = state.book.clusters
    shape = len(clusters.members), state.cells
    found = Cells(np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int8), np.zeros(shape))
    slope, shift = state.fit.platt[ON_CLUSTER].tolist()
    _fill_items(
        state.rows.cluster, state.rows.chance, clusters.label, clusters.size, state.own, taken, clear, slope, shift,
        found.value, found.id, found.role, found.chance,
    )  # fmt: skip
    kept = pairs.chance > PAIRED
    first, second = pairs.first[kept], pairs.second[kept]
    moves = np.minimum(np.minimum(clusters.size[first], clusters.size[second]), MOVED)
    _fill_pairs(first, second, moves * pairs.chance[kept], pairs.prior[kept], found.value, found.id, found.role, found.chance)
    return found


def best_seed(state: State, order: NDArray[np.int64], taken: NDArray[np.bool_], clear: NDArray[np.float64]) -> tuple[float, int]:
    """Return the value of the best unplaced item as an anchor, and the item; (0, -1) if there is none."""
    label, space = state.book.clusters.label, state.fit.space
    free = order[(label[order] < 0) & ~taken[order]][:SEEDS]
    if not len(free):
        return 0.0, -1
    slope, shift = state.fit.platt[ON_SEED].tolist()
    value = _seed_values(
        np.sort(free), space.lists, space.apart, space.local, label, taken, clear, state.rows.chance, state.rows.new,
        state.rows.norm, state.fit.weight, slope, shift, state.cells,
    )  # fmt: skip
    best = int(np.argmax(value))
    return float(value[best]), int(np.sort(free)[best])


def seed_cells(
    state: State, item: int, taken: NDArray[np.bool_], clear: NDArray[np.float64], hidden: set[int]
) -> list[tuple[int, int, float]]:
    """Return the cells for an unplaced item as anchor: unplaced neighbours, and the clusters that it may belong to."""
    space, clusters = state.fit.space, state.book.clusters
    slope, shift = state.fit.platt[ON_SEED].tolist()
    cells = []
    for place, other in enumerate(space.lists[item].tolist()):
        if other >= 0 and clusters.label[other] < 0 and not taken[other]:
            raw = _beside(space.apart, space.local, state.rows.norm, state.fit.weight, item, place, other)
            value = _curve(raw, slope, shift) * clear[other]
            if value > WORTH_SHOWING / 2:
                cells.append((-value, ITEM, other, raw))
    cells += [
        (-max(chance, 0.002), GROUP, cluster, chance)
        for cluster, chance in state.rows.of(item).items()
        if clusters.size[cluster] and cluster not in hidden
    ]
    return [(number, role, chance) for _, role, number, chance in sorted(cells)[: state.cells]]


@njit(**OPTIONS)
def _curve(chance, slope, shift):
    sane = min(max(chance, 1e-6), 1 - 1e-6)
    return 1.0 / (1.0 + math.exp(-(slope * math.log(sane / (1 - sane)) + shift)))


@njit(**OPTIONS)
def _beside(apart, local, norm, weight, u, place, j):
    """Return how likely j is the same as u, as if u were a cluster of one."""
    away = apart[u, place]
    score = -weight[0] * away / 2.0 - weight[1] * max(away - apart[j, 0], 0.0)
    if len(weight) > 5:
        score += weight[5] * local[u, place]
    return 1.0 / (1.0 + math.exp(min(max(norm[j] - score, -50.0), 50.0)))


@njit(**OPTIONS)
def _insert(value, number, role, chance, values, ids, roles, chances):
    last = len(values) - 1
    if value <= values[last]:
        return
    place = last
    while place > 0 and values[place - 1] < value:
        values[place], ids[place], roles[place] = values[place - 1], ids[place - 1], roles[place - 1]
        chances[place] = chances[place - 1]
        place -= 1
    values[place], ids[place], roles[place], chances[place] = value, number, role, chance


@njit(**OPTIONS)
def _fill_items(cluster, chance, label, size, own, taken, clear, slope, shift, values, ids, roles, chances):
    for i in range(len(label)):
        if taken[i]:
            continue
        c = label[i]
        if c >= 0:
            if size[c] > 1 and own[i] < SURE:
                _insert((1.0 - own[i]) * clear[i], i, ITEM, own[i], values[c], ids[c], roles[c], chances[c])
            continue
        for s in range(cluster.shape[1]):
            c = cluster[i, s]
            if c < 0:
                break
            q = _curve(chance[i, s], slope, shift)
            if q > WORTH_SHOWING:
                worth = q * (1.0 - TAPER * max(q - KNOWN, 0.0) / (1.0 - KNOWN))
                _insert(worth * clear[i], i, ITEM, chance[i, s], values[c], ids[c], roles[c], chances[c])


@njit(**OPTIONS)
def _fill_pairs(first, second, value, prior, values, ids, roles, chances):
    for p in range(len(first)):
        a, b = first[p], second[p]
        _insert(value[p], b, GROUP, prior[p], values[a], ids[a], roles[a], chances[a])
        _insert(value[p], a, GROUP, prior[p], values[b], ids[b], roles[b], chances[b])


@njit(**OPTIONS)
def _seed_values(free, lists, apart, local, label, taken, clear, chance, new, norm, weight, slope, shift, cells):
    out = np.empty(len(free))
    found = np.empty(lists.shape[1] + chance.shape[1])
    for a in range(len(free)):
        u = free[a]
        count = 0
        for t in range(lists.shape[1]):
            j = lists[u, t]
            if j >= 0 and label[j] < 0 and not taken[j]:
                found[count] = _curve(_beside(apart, local, norm, weight, u, t, j), slope, shift) * clear[j]
                count += 1
        for s in range(chance.shape[1]):
            found[count] = chance[u, s]
            count += 1
        found[:count].sort()
        total = 0.0
        for p in range(min(cells, count)):
            total += found[count - 1 - p]
        out[a] = (total + new[u]) * clear[u]
    return out

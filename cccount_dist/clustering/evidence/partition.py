"""The partition at one moment: blocks of micro-clusters, the pairs between them, and the merges inside them.

A partition is never changed: an answer makes a new one, in which only the touched blocks are dissolved into micro-clusters and
everything is merged again; from time to time all blocks are. Memory O(m · d + pairs between blocks).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.agglomerate import agglomerate, pair_features
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.model import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Log-odds from answers, summed for each pair of micro-clusters that was asked about; first < second, in order."""

    first: Ints
    second: Ints
    value: Floats


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of units."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    link: Floats
    evidence: Floats
    features: Floats  # (P, 4)


@dataclass(frozen=True, slots=True)
class Merges:
    """Merges inside the blocks. The halves are runs of `Partition.order` that begin with the micro-clusters `left` and `right`."""

    left: Ints
    right: Ints
    left_count: Ints  # micro-clusters
    right_count: Ints
    left_size: Floats  # items
    right_size: Floats
    evidence: Floats
    features: Floats  # (t, 4)


@dataclass(frozen=True, slots=True)
class Partition:
    """b blocks of m micro-clusters."""

    block: Ints  # (m,) block of each micro-cluster
    order: Ints  # (m,) micro-clusters, block by block; halves of a merge stand side by side
    position: Ints  # (m,) where a micro-cluster stands in `order`
    start: Ints  # (b + 1,) where each block begins
    size: Floats  # (b,) items
    total: Floats  # (b, d)
    square: Floats  # (b,)
    pairs: Pairs
    merges: Merges

    @property
    def blocks(self) -> int:
        return len(self.size)

    @property
    def within(self) -> float:
        """Half the sum of the squared sizes: about the number of item pairs inside blocks."""
        return float(np.square(self.size).sum() / 2)

    def micros(self, head: int, count: int) -> Ints:
        """The micro-clusters of a half of a merge."""
        at = int(self.position[head])
        return self.order[at : at + count]

    def micros_of(self, block: int) -> Ints:
        return self.order[self.start[block] : self.start[block + 1]]


class Builder:
    """Makes partitions of one set of micro-clusters."""

    def __init__(self, micro: Micro) -> None:
        self.micro = micro
        known = pair_features(micro.first, micro.second, micro.link, micro.size, micro.total, micro.square, micro.far, micro.unit)
        self._micro_pairs = Pairs(micro.first, micro.second, micro.link, np.zeros(len(micro.link)), known)
        # All pairs of each micro-cluster, so that one that is dissolved finds its partners.
        both = np.concatenate([micro.first, micro.second])
        number = np.tile(np.arange(len(micro.first)), 2)
        sorted_by = np.argsort(both, kind="stable")
        self._rows = number[sorted_by]
        self._row_start = np.concatenate([[0], np.cumsum(np.bincount(both, minlength=micro.count))]).astype(np.int64)
        nothing, none = np.empty(0, np.int64), np.empty(0)
        self._no_merges = Merges(nothing, nothing, nothing, nothing, none, none, none, np.empty((0, 4)))

    def whole(self, model: Model, theta: float, evidence: Evidence) -> Partition:
        """Merge from the micro-clusters up."""
        micro, m = self.micro, self.micro.count
        pairs = self._with_evidence(self._micro_pairs, evidence, np.arange(m), micro.size, micro.total, micro.square)
        units = [np.arange(m), np.arange(m + 1), micro.size.copy(), micro.total.copy(), micro.square.copy()]
        return self._merge(*units, pairs, self._no_merges, model, theta)

    def after(self, old: Partition, touched: Ints, model: Model, theta: float, evidence: Evidence) -> Partition:
        """Dissolve the blocks of the touched micro-clusters and merge again."""
        micro = self.micro
        gone = np.zeros(old.blocks, bool)
        gone[old.block[touched]] = True
        kept = np.flatnonzero(~gone)
        loose = np.flatnonzero(gone[old.block])
        unit_of_block = np.full(old.blocks, -1, np.int64)
        unit_of_block[kept] = np.arange(len(kept))
        unit = unit_of_block[old.block]
        unit[loose] = len(kept) + np.arange(len(loose))
        runs = [old.micros_of(int(b)) for b in kept]
        order = np.concatenate([*runs, loose]).astype(np.int64)
        lengths = np.concatenate([np.diff(old.start)[kept], np.ones(len(loose), np.int64)])
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        size = np.concatenate([old.size[kept], micro.size[loose]])
        total = np.concatenate([old.total[kept], micro.total[loose]])
        square = np.concatenate([old.square[kept], micro.square[loose]])
        stay = ~(gone[old.pairs.first] | gone[old.pairs.second])
        fresh = self._fresh(loose, unit, size, total, square)
        pairs = Pairs(
            np.concatenate([unit_of_block[old.pairs.first[stay]], fresh.first]).astype(np.int32),
            np.concatenate([unit_of_block[old.pairs.second[stay]], fresh.second]).astype(np.int32),
            np.concatenate([old.pairs.link[stay], fresh.link]),
            np.zeros(int(stay.sum()) + len(fresh.link)),
            np.concatenate([old.pairs.features[stay], fresh.features]),
        )
        pairs = self._with_evidence(pairs, evidence, unit, size, total, square)
        inside = ~gone[old.block[old.merges.left]]
        merges = Merges(*(getattr(old.merges, name)[inside] for name in Merges.__slots__))
        return self._merge(order, start, size, total, square, pairs, merges, model, theta)

    def _fresh(self, loose: Ints, unit: Ints, size: Floats, total: Floats, square: Floats) -> Pairs:
        """The pairs of dissolved micro-clusters with all units."""
        rows = [self._rows[self._row_start[x] : self._row_start[x + 1]] for x in loose]
        numbers = np.unique(np.concatenate(rows)) if rows else np.empty(0, np.int64)
        a, b = unit[self.micro.first[numbers]], unit[self.micro.second[numbers]]
        low, high, link = _summed(np.minimum(a, b), np.maximum(a, b), self.micro.link[numbers], len(size))
        known = pair_features(low, high, link, size, total, square, self.micro.far, self.micro.unit)
        return Pairs(low.astype(np.int32), high.astype(np.int32), link, np.zeros(len(link)), known)

    def _with_evidence(self, pairs: Pairs, evidence: Evidence, unit: Ints, size: Floats, total: Floats, square: Floats) -> Pairs:
        """The pairs with the evidence between their units; what was asked about and is no candidate becomes one."""
        a, b = unit[evidence.first], unit[evidence.second]
        apart = a != b
        low, high, value = _summed(np.minimum(a, b)[apart], np.maximum(a, b)[apart], evidence.value[apart], len(size))
        if len(low) == 0:
            return pairs
        units = len(size)
        wanted = low * units + high
        have = pairs.first.astype(np.int64) * units + pairs.second
        at = np.flatnonzero(np.isin(have, wanted))
        held = pairs.evidence.copy()
        held[at] = value[np.searchsorted(wanted, have[at])]
        new = ~np.isin(wanted, have[at])
        first, second = low[new].astype(np.int32), high[new].astype(np.int32)
        link = np.zeros(len(first))
        known = pair_features(first, second, link, size, total, square, self.micro.far, self.micro.unit)
        return Pairs(
            np.concatenate([pairs.first, first]),
            np.concatenate([pairs.second, second]),
            np.concatenate([pairs.link, link]),
            np.concatenate([held, value[new]]),
            np.concatenate([pairs.features, known]),
        )

    def _merge(
        self,
        order: Ints,
        start: Ints,
        size: Floats,
        total: Floats,
        square: Floats,
        pairs: Pairs,
        merges: Merges,
        model: Model,
        theta: float,
    ) -> Partition:
        made, numbers, unit_in, first, second, link, evidence, known = agglomerate(
            pairs.first, pairs.second, pairs.link, pairs.evidence, pairs.features,
            size, total, square, model.weight, theta, self.micro.far, self.micro.unit,
        )  # fmt: skip
        heads = order[start[:-1]]
        new_order, new_start, halves = _laid_out(made, order, start)
        survivors = np.flatnonzero(unit_in == np.arange(len(unit_in)))
        rank = np.full(len(unit_in), -1, np.int64)
        rank[survivors] = np.arange(len(survivors))
        position = np.empty(len(order), np.int64)
        position[new_order] = np.arange(len(order))
        block = np.empty(len(order), np.int64)
        block[new_order] = np.repeat(np.arange(len(survivors)), np.diff(new_start))
        together = Merges(
            np.concatenate([merges.left, heads[made[:, 0]]]),
            np.concatenate([merges.right, heads[made[:, 1]]]),
            np.concatenate([merges.left_count, halves[:, 0]]),
            np.concatenate([merges.right_count, halves[:, 1]]),
            np.concatenate([merges.left_size, numbers[:, 2]]),
            np.concatenate([merges.right_size, numbers[:, 3]]),
            np.concatenate([merges.evidence, numbers[:, 1]]),
            np.concatenate([merges.features, numbers[:, 4:]]),
        )
        left = Pairs(rank[first].astype(np.int32), rank[second].astype(np.int32), link, evidence, known)
        return Partition(
            block, new_order, position, new_start, size[survivors], total[survivors], square[survivors], left, together
        )


@njit(**OPTIONS)
def _laid_out(made, order, start):  # type: ignore[no-untyped-def]
    """Lay the micro-clusters of each merge side by side: new order, starts of the blocks, and the micro-clusters of both halves."""
    units = len(start) - 1
    following = np.full(units, -1, np.int64)
    last = np.arange(units)
    count = start[1:] - start[:-1]
    absorbed = np.zeros(units, np.bool_)
    halves = np.empty((len(made), 2), np.int64)
    for t in range(len(made)):
        kept, gone = made[t]
        halves[t, 0], halves[t, 1] = count[kept], count[gone]
        count[kept] += count[gone]
        following[last[kept]] = gone
        last[kept] = last[gone]
        absorbed[gone] = True
    new_order = np.empty(len(order), np.int64)
    new_start = np.zeros(units - len(made) + 1, np.int64)
    at = 0
    block = 0
    for head in range(units):
        if absorbed[head]:
            continue
        unit = head
        while unit >= 0:
            for p in range(start[unit], start[unit + 1]):
                new_order[at] = order[p]
                at += 1
            unit = following[unit]
        block += 1
        new_start[block] = at
    return new_order, new_start, halves


def _summed(low: Ints, high: Ints, value: Floats, units: int) -> tuple[Ints, Ints, Floats]:
    """Add up the values of equal pairs; pairs in ascending order, those of a unit with itself left out."""
    apart = low != high
    key, inverse = np.unique(low[apart].astype(np.int64) * units + high[apart], return_inverse=True)
    return key // units, key % units, np.bincount(inverse, weights=value[apart], minlength=len(key))

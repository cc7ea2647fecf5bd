"""The partition at one moment: blocks of micro-clusters, the pairs between them, and the merges inside them.

A partition is never changed: an answer makes a new one, in which only the touched blocks are dissolved into micro-clusters and
everything is merged again; from time to time all blocks are. Memory O(m · d + pairs between blocks).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.agglomerate import CAUTION, MARGIN, agglomerate, pair_features
from cccount_dist.clustering.evidence.bounds import roughly
from cccount_dist.clustering.evidence.bridges import bridges
from cccount_dist.clustering.evidence.logistic import Model
from cccount_dist.clustering.evidence.loops import held_by, laid_out, shared, spoken_for, staying
from cccount_dist.clustering.evidence.micro import Micro

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
    features: Floats  # (P, 4); before they are merged (K, 4), those of the first K: others are worked out where they are needed


@dataclass(frozen=True, slots=True)
class Merges:
    """Merges inside the blocks. The halves are runs of `Partition.order` that begin with `left` and `right`."""

    left: Ints
    right: Ints
    left_count: Ints  # micro-clusters
    right_count: Ints
    joined: Floats  # pairs of items that the merge joins
    drop: Floats  # entropy that it takes away, times the number of all items
    evidence: Floats
    features: Floats  # (t, 4)


@dataclass(frozen=True, slots=True)
class Units:
    """What is merged: b blocks, or single micro-clusters."""

    order: Ints  # (m,) micro-clusters, unit by unit; halves of a merge stand side by side
    start: Ints  # (b + 1,) where each unit begins
    size: Floats  # (b,) items
    total: Floats  # (b, d) sum of the vectors
    square: Floats  # (b,) sum of |x|²


@dataclass(frozen=True, slots=True)
class Partition:
    """b blocks of m micro-clusters."""

    units: Units
    block: Ints  # (m,) block of each micro-cluster
    position: Ints  # (m,) where a micro-cluster stands in the order
    pairs: Pairs
    merges: Merges
    standing: Floats  # (m,) log-odds that a "same" about a micro-cluster may say for its block, see `spoken_for`
    bridges: tuple[Ints, Ints]  # micro-clusters whose blocks are compared although nothing else connects them

    @property
    def blocks(self) -> int:
        return len(self.size)

    @property
    def size(self) -> Floats:
        return self.units.size

    @property
    def within(self) -> float:
        """Half the sum of the squared sizes: about the number of item pairs inside blocks."""
        return float(np.square(self.size).sum() / 2)

    def micros(self, head: int, count: int) -> Ints:
        """The micro-clusters of a half of a merge."""
        at = int(self.position[head])
        return self.units.order[at : at + count]

    def micros_of(self, block: int) -> Ints:
        return self.units.order[self.units.start[block] : self.units.start[block + 1]]


class Builder:
    """Makes partitions of one set of micro-clusters."""

    def __init__(self, micro: Micro, *, caution: float = CAUTION) -> None:
        self.micro = micro
        self.caution = caution
        nothing, none = np.empty(0, np.int64), np.empty(0)
        self._no_merges = Merges(nothing, nothing, nothing, nothing, none, none, none, np.empty((0, 4)))

    def micro_features(self, numbers: Ints) -> Floats:
        """The features (p, 4) of pairs of micro-clusters, by their place in `micro.first`."""
        micro = self.micro
        first, second, link = micro.first[numbers], micro.second[numbers], micro.link[numbers]
        found: Floats = pair_features(first, second, link, micro.size, micro.total, micro.square, micro.far, micro.unit)
        return found

    def whole(self, model: Model, theta: float, evidence: Evidence) -> Partition:
        """Merge from the micro-clusters up, and then blocks with near centroids."""
        micro, m = self.micro, self.micro.count
        units = Units(np.arange(m), np.arange(m + 1), micro.size.copy(), micro.total.copy(), micro.square.copy())
        standing, nothing = np.full(m, np.inf), np.empty(0, np.int64)
        pairs = Pairs(micro.first, micro.second, micro.link, np.zeros(len(micro.link)), np.empty((0, 4)))
        pairs = self._with_evidence(pairs, evidence, np.arange(m), m)
        glued = self._glued(evidence, np.arange(m))
        found = self._merge(units, pairs, glued, self._no_merges, standing, (nothing, nothing), model, theta)
        near = bridges(found.units.size, found.units.total, found.units.order[found.units.start[:-1]])
        pairs = self._bridged(found.pairs, near, found.block, found.blocks)
        return self._merge(found.units, pairs, glued[:0], found.merges, found.standing, near, model, theta)

    def after(self, old: Partition, touched: Ints, model: Model, theta: float, evidence: Evidence) -> Partition:
        """Dissolve the blocks of the touched micro-clusters and merge again."""
        micro = self.micro
        gone = np.zeros(old.blocks, bool)
        gone[old.block[touched]] = True
        unit_of_block = np.where(gone, -1, np.cumsum(~gone) - 1)
        unit = unit_of_block[old.block]
        loose = np.flatnonzero(unit < 0)
        unit[loose] = old.blocks - int(gone.sum()) + np.arange(len(loose))
        units = self._loosened(old, gone, loose)
        fresh = self._fresh(loose, unit, len(units.size))
        first, second, link, known = staying(old.pairs.first, old.pairs.second, old.pairs.link, old.pairs.features, unit_of_block)
        pairs = Pairs(
            np.concatenate([first, fresh.first]),
            np.concatenate([second, fresh.second]),
            np.concatenate([link, fresh.link]),
            np.zeros(len(link) + len(fresh.link)),
            known,
        )
        inside = ~gone[old.block[old.merges.left]]
        merges = Merges(*(getattr(old.merges, name)[inside] for name in Merges.__slots__))
        standing = np.where(gone[old.block], np.inf, old.standing)
        speaks = np.minimum(standing[evidence.first], standing[evidence.second])
        evidence = Evidence(evidence.first, evidence.second, np.minimum(evidence.value, speaks))
        anew = gone[old.block[old.bridges[0]]] | gone[old.block[old.bridges[1]]]
        pairs = self._bridged(pairs, (old.bridges[0][anew], old.bridges[1][anew]), unit, len(units.size))
        pairs = self._with_evidence(pairs, evidence, unit, len(units.size))
        number = np.full(micro.count, -1, np.int64)
        number[loose] = unit[loose]
        return self._merge(units, pairs, self._glued(evidence, number), merges, standing, old.bridges, model, theta)

    def _glued(self, evidence: Evidence, number: Ints) -> Ints:
        """The merges that are made first, by unit: not in a group in which an answer says "different"."""
        group, glued = self.micro.group, self.micro.glued
        broken = np.zeros(self.micro.count, bool)
        inside = group[evidence.first] == group[evidence.second]
        broken[group[evidence.first[inside & (evidence.value < 0)]]] = True
        # Where a "different" inside a group was taken back, parts of it are in blocks that stay until all is merged anew.
        loose = (number[glued] >= 0).all(axis=1)
        return number[glued[~broken[group[glued[:, 0]]] & loose]]

    def _loosened(self, old: Partition, gone: NDArray[np.bool_], loose: Ints) -> Units:
        """The blocks that stay, and after them the micro-clusters of the others."""
        micro, kept = self.micro, ~gone
        order = old.units.order
        lengths = np.concatenate([np.diff(old.units.start)[kept], np.ones(len(loose), np.int64)])
        return Units(
            np.concatenate([order[kept[old.block[order]]], loose]),
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([old.size[kept], micro.size[loose]]),
            np.concatenate([old.units.total[kept], micro.total[loose]]),
            np.concatenate([old.units.square[kept], micro.square[loose]]),
        )

    def _fresh(self, loose: Ints, unit: Ints, count: int) -> Pairs:
        """The pairs of dissolved micro-clusters with all units."""
        dissolved = np.zeros(self.micro.count, np.bool_)
        dissolved[loose] = True
        numbers = np.flatnonzero(dissolved[self.micro.first] | dissolved[self.micro.second])
        a, b = unit[self.micro.first[numbers]], unit[self.micro.second[numbers]]
        low, high, link = _summed(np.minimum(a, b), np.maximum(a, b), self.micro.link[numbers], count)
        return Pairs(low.astype(np.int32), high.astype(np.int32), link, np.zeros(len(link)), np.empty((0, 4)))

    def _with_evidence(self, pairs: Pairs, evidence: Evidence, unit: Ints, count: int) -> Pairs:
        """The pairs with the evidence between their units; what was asked about and is no candidate becomes one."""
        a, b = unit[evidence.first], unit[evidence.second]
        low, high, value = _summed(np.minimum(a, b), np.maximum(a, b), evidence.value, count)
        held, new = held_by(pairs.first, pairs.second, low, high, value, count)
        return _longer(replace(pairs, evidence=held), low[new], high[new], value[new])

    def _bridged(self, pairs: Pairs, between: tuple[Ints, Ints], unit: Ints, count: int) -> Pairs:
        """The pairs and those between the units of bridges."""
        if len(between[0]) == 0:
            return pairs
        a, b = unit[between[0]], unit[between[1]]
        low, high, value = _summed(np.minimum(a, b), np.maximum(a, b), np.zeros(len(a)), count)
        _, new = held_by(pairs.first, pairs.second, low, high, value, count)
        return _longer(pairs, low[new], high[new], value[new])

    def _merge(
        self, units: Units, pairs: Pairs, glued: Ints, merges: Merges, standing: Floats, near: tuple[Ints, Ints], model: Model,
        theta: float,
    ) -> Partition:  # fmt: skip
        """Merge units, whose arrays belong to the new partition from now on."""
        size, total, square = units.size, units.total, units.square
        rough, reach = roughly(total)
        made, numbers, unit_in, first, second, link, evidence, known = agglomerate(
            pairs.first, pairs.second, pairs.link, pairs.evidence, pairs.features, glued,
            size, total, square, rough, reach, model.weight, theta, self.caution, self.micro.far, self.micro.unit, MARGIN,
        )  # fmt: skip
        heads = units.order[units.start[:-1]]
        order, start, halves = laid_out(made, units.order, units.start)
        survivors = np.flatnonzero(unit_in == np.arange(len(unit_in)))
        rank = np.full(len(unit_in), -1, np.int32)
        rank[survivors] = np.arange(len(survivors))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        block = np.repeat(np.arange(len(survivors)), np.diff(start))[position]
        together = Merges(
            np.concatenate([merges.left, heads[made[:, 0]]]),
            np.concatenate([merges.right, heads[made[:, 1]]]),
            np.concatenate([merges.left_count, halves[:, 0]]),
            np.concatenate([merges.right_count, halves[:, 1]]),
            np.concatenate([merges.joined, numbers[:, 2] * numbers[:, 3]]),
            np.concatenate([merges.drop, _drop(numbers[:, 2], numbers[:, 3])]),
            np.concatenate([merges.evidence, numbers[:, 1]]),
            np.concatenate([merges.features, numbers[:, 4:]]),
        )
        left = Pairs(rank[first], rank[second], link, evidence, known)
        blocks = Units(order, start, size[survivors], total[survivors], square[survivors])
        surely = numbers[:, 4:] @ model.weight + numbers[:, 1] - theta
        surely[: len(glued)] = np.inf
        standing = spoken_for(made, surely, numbers[:, 2] < numbers[:, 3], units.order, units.start, standing)
        return Partition(blocks, block, position, left, together, standing, near)


def _longer(pairs: Pairs, first: Ints, second: Ints, evidence: Floats) -> Pairs:
    """The pairs and others, which nothing links."""
    if len(first) == 0:
        return pairs
    return Pairs(
        np.concatenate([pairs.first, first.astype(np.int32)]),
        np.concatenate([pairs.second, second.astype(np.int32)]),
        np.concatenate([pairs.link, np.zeros(len(first))]),
        np.concatenate([pairs.evidence, evidence]),
        pairs.features,
    )


def _drop(a: Floats, b: Floats) -> Floats:
    """Return the entropy that joining two sets of these sizes takes away, times the number of all items."""
    lost: Floats = (a + b) * np.log(a + b) - a * np.log(a) - b * np.log(b)
    return lost


def agreement(before: Ints, now: Units, size: Floats) -> float:
    """Return how far the units agree with an earlier grouping of the micro-clusters: the F score over the pairs of items that
    the two join. O(m).
    """
    items = float(size.sum())
    joined = [float(np.square(sums).sum()) - items for sums in (np.bincount(before, weights=size), now.size)]
    both = shared(now.order, now.start, before, size) - items
    return 2 * both / sum(joined) if sum(joined) > 0.0 else 1.0


def _summed(low: Ints, high: Ints, value: Floats, units: int) -> tuple[Ints, Ints, Floats]:
    """Add up the values of equal pairs; pairs in ascending order, those of a unit with itself left out."""
    apart = low != high
    key, inverse = np.unique(low[apart].astype(np.int64) * units + high[apart], return_inverse=True)
    return key // units, key % units, np.bincount(inverse, weights=value[apart], minlength=len(key)).astype(np.float64)

"""What the engine works on: units, their strict order and what is believed of them, made from a collection's vectors.

A unit is an item, or a micro-cluster of items. `plain` makes a unit of each item, for up to MOST_UNITS items: 40 n² bytes.
`condensed` works for any number of items: O(n (k + d)) and 40 m² bytes for m units.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.condense import MicroClusters
from cccount_dist.clustering.hacc.consensus import Labels, agreements
from cccount_dist.clustering.hacc.engine import Beliefs
from cccount_dist.clustering.hacc.forest import Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.order import Order, order_of, squared_distances, whole_numbers
from storage.errors import InputError

MOST_UNITS = 5_000


@dataclass(frozen=True, slots=True)
class Problem:
    """Units and what is known about them before anybody was asked."""

    order: Order
    beliefs: Beliefs
    weight: Int64s  # (m,) items of each unit
    of_item: Int32s  # (n,) unit of each item
    item: Int32s  # (m,) the item that stands for a unit
    link_key: Int64s  # (e,) first unit · m + second unit of pairs that the neighbour graph links, sorted
    link_items: Int32s  # (e, 2) the items at the ends of the nearest link
    node: Int32s  # (m,) the unit's node among the micro-clusters; the item if units are items

    def items_of(self, first: int, second: int) -> tuple[int, int]:
        """Return the items to show for two units: the ends of the nearest link, or those that stand for the units."""
        key = first * len(self.item) + second
        place = int(np.searchsorted(self.link_key, key))
        if place < len(self.link_key) and self.link_key[place] == key:
            u, v = self.link_items[place].tolist()
            return u, v
        return int(self.item[first]), int(self.item[second])


def _check_units(units: int) -> None:
    if units > MOST_UNITS:
        raise InputError(
            f"{units:,} units need {40 * units**2 / 1e9:,.0f} GB, for memory grows quadratically: at most {MOST_UNITS:,} work; "
            f"set the parameter units to less, so that more items are condensed, and compute more neighbours if they stay apart"
        )


def plain(vectors: NDArray[np.float32], labels: Labels) -> Problem:
    """Return the problem in which each item (n, d) is a unit; labels (S, n) are those of the k-means runs."""
    _check_units(len(vectors))
    items = np.arange(len(vectors), dtype=np.int32)
    beliefs = Beliefs(agreements(labels), len(labels))
    nothing = np.empty(0, np.int64), np.empty((0, 2), np.int32)
    return Problem(order_of(squared_distances(vectors)), beliefs, np.ones(len(items), np.int64), items, items, *nothing, items)


def condensed(vectors: NDArray[np.float32], micro: MicroClusters, labels: Labels, opened: Collection[int]) -> Problem:
    """Return the problem in which micro-clusters are units; of those that are opened, the parts.

    Labels (S, micro-clusters) are those of k-means runs on what stands for the micro-clusters; the parts of an opened one keep
    its labels. Pairs that the graph links come first in the order, by their nearest link; the others follow by distance.
    """
    nodes, inverse = np.unique(micro.units(opened), return_inverse=True)
    of_item: Int32s = inverse.astype(np.int32)
    _check_units(len(nodes))
    item = central_items(vectors, of_item, len(nodes))
    keys, link_items, ranks = _unit_links(micro, of_item, len(nodes))
    distance = squared_distances(np.asarray(vectors[item]))
    distance.flat[keys] = ranks - len(micro.first)  # below zero: before every pair without a link
    whole = np.unique(micro.units(), return_inverse=True)[1]
    counts = agreements(labels[:, whole[item]])
    order = order_of(distance)
    beliefs = Beliefs(counts, len(labels))
    return Problem(order, beliefs, np.bincount(of_item).astype(np.int64), of_item, item, keys, link_items, nodes)


def _unit_links(micro: MicroClusters, of_item: Int32s, units: int) -> tuple[Int64s, Int32s, Int64s]:
    """Return the pairs of units that the graph links (first < second), the items of their nearest link, and its rank."""
    one, other = of_item[micro.first], of_item[micro.second]
    between = np.flatnonzero(one != other)
    swapped = one[between] > other[between]
    key = np.minimum(one, other)[between].astype(np.int64) * units + np.maximum(one, other)[between]
    keys, nearest = np.unique(key, return_index=True)  # the first of equal keys: links are sorted, so it is the nearest
    rank = between[nearest]
    ends = np.stack((micro.first[rank], micro.second[rank]), axis=1)
    ends[swapped[nearest]] = ends[swapped[nearest], ::-1]
    return keys, ends, rank


def central_items(vectors: NDArray[np.float32], of_item: Int32s, units: int) -> Int32s:
    """Return for each unit the item nearest to the mean of its items; the first of equally near ones."""
    rows = whole_numbers(np.asarray(vectors), 20).astype(np.int32)
    central: Int32s = _central(rows, of_item, units)
    return central


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _central(rows: Int32s, of_item: Int32s, units: int) -> Int32s:
    totals = np.zeros((units, rows.shape[1]), np.int64)
    sizes = np.zeros(units, np.int64)
    for i in range(rows.shape[0]):
        sizes[of_item[i]] += 1
        for k in range(rows.shape[1]):
            totals[of_item[i], k] += rows[i, k]
    best = np.full(units, np.iinfo(np.int64).max)
    central = np.full(units, -1, np.int32)
    for i in range(rows.shape[0]):
        unit = of_item[i]
        distance = np.int64(0)  # |x|² size - 2 x · total, which orders as the distance to the mean does
        for k in range(rows.shape[1]):
            x = np.int64(rows[i, k])
            distance += x * (x * sizes[unit] - 2 * totals[unit, k])
        if distance < best[unit]:
            best[unit] = distance
            central[unit] = i
    return central

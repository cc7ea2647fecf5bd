"""What the engine works on: units, their strict order and what is believed of them, made from a collection's vectors.

A unit is an item, or a micro-cluster of items (the paper's H1), so that a large collection fits the exact engine. `plain` makes a
unit of each item, for up to MOST_UNITS items: 40 n² bytes. `condense` takes O(n k log n) time and O(n k) memory, `condensed`
O(n (k + d)) time, and O(n + m d) and 40 m² bytes for m units: of the vectors blocks alone are held (0.1 GiB at 1,280 dimensions).
"""

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.beliefs import Beliefs, Labels, agreements
from cccount_dist.clustering.hacc.forest import Int32s, Int64s, Order, WholeNumbers, compiled, order_of, squared_distances
from cccount_dist.clustering.rows import row_blocks
from cccount_dist.sampling.constraints import Constraints, Link
from storage.errors import InputError

MOST_UNITS = 5_000


@dataclass(frozen=True, slots=True)
class MicroClusters:
    """A forest of joins. Nodes 0 … n-1 are the items, node n + t is what join t makes.

    They are assumptions, kept apart from what people said: where answers contradict one it is opened, which undoes its last join.
    """

    first: Int32s  # (e,) items of each link of the graph, most similar first
    second: Int32s
    parts: Int32s  # (joins, 2) the two nodes that a join makes one
    link: Int32s  # (joins,) the link that made it: later is looser
    above: Int32s  # (n + joins,) the node that a node is part of, or -1
    size: Int32s  # (n + joins,) items of a node

    @property
    def items(self) -> int:
        return len(self.above) - len(self.link)

    def units(self, opened: Collection[int] = ()) -> Int32s:
        """Return the largest node of every item (n,) that is not opened."""
        is_open = np.zeros(len(self.above), np.uint8)
        is_open[list(opened)] = 1
        units: Int32s = _units(self.above, is_open, self.items)
        return units


def condense(neighbors: NDArray[np.int32], similarity: NDArray[np.float32], target: int) -> MicroClusters:
    """Join items by the neighbour graph (n, k) until `target` micro-clusters are left, or no link leads farther.

    Links are taken from the most similar down; a link joins two micro-clusters unless the result would be too large.
    """
    items, k = neighbors.shape
    by_similarity = np.argsort(-similarity.ravel(), kind="stable")
    second = neighbors.ravel()[by_similarity]
    by_similarity, second = by_similarity[second >= 0], second[second >= 0]
    first = (by_similarity // k).astype(np.int32)
    return MicroClusters(first, second, *_join(items, first, second, target))


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _join(items: int, first: Int32s, second: Int32s, target: int) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    most = max(2, -(-2 * items // target))
    above = np.full(2 * items, -1, np.int32)
    size = np.ones(2 * items, np.int32)
    top = np.arange(items).astype(np.int32)  # union-find over items
    node = np.arange(items).astype(np.int32)  # of a set, by the item it is named after
    parts = np.empty((items, 2), np.int32)
    link = np.empty(items, np.int32)
    joins = 0
    while items - joins > target:
        before = joins
        for rank in range(first.shape[0]):
            if items - joins == target:
                break
            one, other = first[rank], second[rank]
            while top[one] != one:
                top[one] = top[top[one]]
                one = top[one]
            while top[other] != other:
                top[other] = top[top[other]]
                other = top[other]
            if one == other or size[node[one]] + size[node[other]] > most:
                continue
            new = items + joins
            above[node[one]] = above[node[other]] = new
            size[new] = size[node[one]] + size[node[other]]
            parts[joins, 0], parts[joins, 1] = node[one], node[other]
            link[joins] = rank
            top[other] = one
            node[one] = new
            joins += 1
        if joins == before and most >= items:
            break
        most *= 2  # the graph holds together only through larger sets
    return parts[:joins].copy(), link[:joins].copy(), above[: items + joins].copy(), size[: items + joins].copy()


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _units(above: Int32s, is_open: NDArray[np.uint8], items: int) -> Int32s:
    unit = np.empty(above.shape[0], np.int32)
    for node in range(above.shape[0] - 1, -1, -1):  # a node's number is smaller than that of what it is part of
        unit[node] = node if above[node] < 0 or is_open[above[node]] else unit[above[node]]
    return unit[:items].copy()


def contradicted(micro: MicroClusters, links: Sequence[Link]) -> frozenset[int]:
    """Return the nodes that must be opened, so that the rest agrees with these answers (which agree among themselves).

    Nodes are taken in from the tightest to the loosest; one that contradicts the answers and the tighter ones is opened. Only
    items that an answer names can contradict, so time grows with the answers, not with the collection.
    """
    known = Constraints()
    known.extend(links)
    unit = micro.units()
    named: dict[int, list[int]] = {}
    for item in sorted({item for u, v, _, _ in links for item in (u, v)}):
        named.setdefault(int(unit[item]), []).append(item)
    opened = set()
    waiting = [(int(micro.link[node - micro.items]), node) for node, members in named.items() if len(members) > 1]
    heapq.heapify(waiting)
    while waiting:
        _, node = heapq.heappop(waiting)
        if _take_in(known, node, named[node]):
            continue
        opened.add(node)
        for part in micro.parts[node - micro.items].tolist():
            named[part] = [item for item in named[node] if _inside(micro, item, part)]
            if len(named[part]) > 1:
                heapq.heappush(waiting, (int(micro.link[part - micro.items]), part))
    return frozenset(opened)


def _take_in(known: Constraints, node: int, members: Sequence[int]) -> bool:
    """Assume that these items are the same; False, and nothing is assumed, if that contradicts what is known."""
    names = [f"micro-{node}-{member}" for member in members[1:]]
    for place, name in enumerate(names):
        if not known.add(members[place], members[place + 1], 1.0, name):
            for taken in names[: place + 1]:
                known.remove(taken)
            return False
    return True


def _inside(micro: MicroClusters, item: int, node: int) -> bool:
    while item < node and micro.above[item] >= 0:
        item = int(micro.above[item])
    return item == node


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


def grouped(vectors: NDArray[np.float32], of_item: Int32s, centres: NDArray[np.float32], labels: Labels) -> Problem:
    """Return the problem of the paper's H1: groups of near items (n,), each one point at its centre (m, d).

    A question about two groups is about the items nearest to their centres. Nothing opens a group.
    """
    _check_units(len(centres))
    item = central_items(vectors, of_item, len(centres))
    beliefs = Beliefs(agreements(labels), len(labels))
    nothing = np.empty(0, np.int64), np.empty((0, 2), np.int32)
    points = np.arange(len(centres), dtype=np.int32)
    return Problem(order_of(squared_distances(centres)), beliefs, np.ones(len(item), np.int64), of_item, item, *nothing, points)


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
    whole = WholeNumbers.of(vectors, 20)
    totals = np.zeros((units, vectors.shape[1]), np.int64)
    sizes = np.bincount(of_item, minlength=units).astype(np.int64)
    for part in row_blocks(vectors):
        _add(whole.rows(vectors[part]).astype(np.int32), of_item[part], totals)
    best = np.full(units, np.iinfo(np.int64).max)
    central = np.full(units, -1, np.int32)
    for part in row_blocks(vectors):
        _look(whole.rows(vectors[part]).astype(np.int32), of_item[part], part.start, totals, sizes, best, central)
    return central


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _add(rows: Int32s, of_item: Int32s, totals: Int64s) -> None:
    for i in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            totals[of_item[i], k] += rows[i, k]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _look(rows: Int32s, of_item: Int32s, start: int, totals: Int64s, sizes: Int64s, best: Int64s, central: Int32s) -> None:
    for i in range(rows.shape[0]):
        unit = of_item[i]
        distance = np.int64(0)  # |x|² size - 2 x · total, which orders as the distance to the mean does
        for k in range(rows.shape[1]):
            x = np.int64(rows[i, k])
            distance += x * (x * sizes[unit] - 2 * totals[unit, k])
        if distance < best[unit]:
            best[unit] = distance
            central[unit] = start + i

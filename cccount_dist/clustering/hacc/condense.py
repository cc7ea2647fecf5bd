"""Micro-clusters (the paper's H1): very close items are one unit, so that a large collection fits the exact engine.

The neighbour graph's links are taken from the most similar down; a link joins two micro-clusters unless the result would be too
large. They are assumptions, kept apart from what people said: where answers contradict one it is opened, which undoes its last
join. Time O(n k log n), memory O(n k).
"""

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.forest import Int32s, compiled
from cccount_dist.sampling.constraints import Constraints, Link


@dataclass(frozen=True, slots=True)
class MicroClusters:
    """A forest of joins. Nodes 0 … n-1 are the items, node n + t is what join t makes."""

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
    """Join items by the neighbour graph (n, k) until `target` micro-clusters are left, or no link leads farther."""
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

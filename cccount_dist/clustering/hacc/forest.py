"""Constrained single-link clustering (HACC): a minimum spanning forest that respects must-links and cannot-links.

Pairs are taken in a strict order, by (distance, i, j), so that nothing is ever decided by chance or by the machine, and joined
unless a cannot-link forbids it. The order takes O(n² (d + log n)) time and 12 n² bytes, 40 n² while sorting; the forest O(n²)
time and O(m²) bytes for m leaves.
"""

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.rows import row_blocks

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bytes = NDArray[np.uint8]
compiled = numba.njit(cache=True, nogil=True)

NEVER = np.iinfo(np.int32).max  # rank of a pair that has none: an item with itself


@dataclass(frozen=True, slots=True)
class Order:
    """All pairs, nearest first, and the place of every pair in that list."""

    rank: NDArray[np.int32]  # (n, n), symmetric; the diagonal is NEVER
    first: NDArray[np.int32]  # (n (n-1) / 2,)
    second: NDArray[np.int32]  # first < second

    @property
    def units(self) -> int:
        return len(self.rank)


@dataclass(frozen=True, slots=True)
class WholeNumbers:
    """How rows become whole numbers, centred and scaled: the same numbers whatever the blocks in which they are looked at."""

    up: float
    centre: NDArray[np.float64]  # (d,)
    down: float

    @classmethod
    def of(cls, vectors: NDArray[np.float32], bits: int) -> "WholeNumbers":
        """Three passes over the vectors, block by block; a row's length will be below 2^bits."""
        blocks = list(row_blocks(vectors))
        largest = max((float(np.abs(vectors[part]).max(initial=0.0)) for part in blocks), default=0.0)
        centre = np.zeros(vectors.shape[1])
        if largest == 0.0:
            return cls(1.0, centre, 1.0)
        # Powers of two, and whole numbers when the mean is taken: each step is exact, so no order of summation shows.
        found = cls(2.0 ** (30 - int(np.ceil(np.log2(largest)))), centre, 1.0)
        total = np.zeros(vectors.shape[1], np.int64)
        for part in blocks:
            total += found.rows(vectors[part]).astype(np.int64).sum(axis=0)
        found = cls(found.up, np.rint(total / max(len(vectors), 1)), 1.0)
        length = float(np.sqrt(max(np.square(found.rows(vectors[part])).sum(axis=1).max(initial=0.0) for part in blocks)))
        if length == 0.0:
            return found
        # Rounding adds up to half a unit to each number, hence the margin of one bit and of √d.
        room = 2.0 ** (bits - 1) - np.sqrt(vectors.shape[1])
        return cls(found.up, found.centre, 2.0 ** np.floor(np.log2(room / length)))

    def rows(self, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        rows = np.rint(vectors.astype(np.float64) * self.up) - self.centre
        return rows if self.down == 1.0 else np.rint(rows * self.down)


def whole_numbers(vectors: NDArray[np.float32], bits: int) -> NDArray[np.float64]:
    """Return the rows, centred and scaled to whole numbers; a row's length is below 2^bits.

    By Cauchy and Schwarz all partial sums of a dot product of two such rows are below 2^(2 bits), whatever their order: they are
    exact in floating point, so a product of matrices gives the same bits with any BLAS and any number of threads.
    """
    return WholeNumbers.of(vectors, bits).rows(vectors)


def squared_distances(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the squared distances of all pairs of rows (n, n), in units of the rounding: whole numbers, exact."""
    rows = whole_numbers(vectors, 26)
    product = rows @ rows.T
    length = product.diagonal().copy()
    product *= -2.0
    product += length
    product += length[:, None]
    return product


def order_of(distance: NDArray[np.floating]) -> Order:
    """Return the strict order of the pairs of a symmetric matrix of distances (n, n).

    >>> order = order_of(np.array([[0, 2, 1], [2, 0, 1], [1, 1, 0]], float))
    >>> list(zip(order.first.tolist(), order.second.tolist()))
    [(0, 2), (1, 2), (0, 1)]
    """
    upper = np.triu_indices(len(distance), 1)
    by_distance = np.argsort(distance[upper], kind="stable")  # stable: equal distances stay in the order of (i, j)
    first, second = (side.astype(np.int32)[by_distance] for side in upper)
    rank = np.full(distance.shape, NEVER, np.int32)
    rank[first, second] = rank[second, first] = np.arange(len(first), dtype=np.int32)
    return Order(rank, first, second)


@dataclass(frozen=True, slots=True)
class Forest:
    """The whole run. Nodes 0 … m-1 are the leaves, node m + t is what merge t makes; T merges in all.

    Must-linked units are one leaf. Leaves are numbered so that the leaves of every node of the merge tree are neighbours. The
    clustering is what stands when K trees are left; the run goes on to its end all the same: simulated answers need the later
    merges.
    """

    leaf: Int32s  # (n,) leaf of every unit
    cannot: Bytes  # (m, m) cannot-links between leaves
    merges: Int32s  # (T, 3): the two nodes that are joined, and the rank of the pair that joins them
    low: Int32s  # (m + T,): the leaves of a node are low … high - 1
    high: Int32s
    weight: Int64s  # (m + T,) items of a node
    wanted: int  # clusters
    kept: int  # merges that the clustering consists of

    @property
    def leaves(self) -> int:
        return len(self.cannot)

    @property
    def clusters(self) -> int:
        return self.leaves - self.kept

    @property
    def dead_end(self) -> bool:
        """Whether cannot-links keep all remaining trees apart although there are more than wanted."""
        return self.clusters > self.wanted

    def cluster_of_nodes(self) -> Int32s:
        """Return the cluster of every node that is made before the run has the wanted number of trees; -1 for later ones."""
        return clusters_of(self.merges, self.leaves, self.kept)

    def labels(self) -> Int32s:
        """Return the cluster of every unit."""
        labels: Int32s = self.cluster_of_nodes()[self.leaf]
        return labels


def grow(order: Order, weight: Int64s, must: Int64s, cannot: Int64s, clusters: int) -> Forest:
    """Cluster units.

    Parameters
    ----------
    order : of all pairs of units
    weight : (n,) items of each unit
    must, cannot : (q, 2) pairs of units that are known to be the same, or different; free of contradictions
    clusters : K; fewer come out if must-links leave fewer leaves, more if cannot-links forbid every further merge
    """
    leaf, leaves = leaves_of(order.units, must)
    forbidden = cannot_matrix(leaf, leaves, cannot)
    merges = all_merges(order.first, order.second, leaf, forbidden.copy())
    place, low, high = side_by_side(merges, leaves)
    leaf = place[leaf]
    total = weights_of(merges, place, leaf, weight)
    kept = min(len(merges), max(leaves - clusters, 0))
    return Forest(leaf, cannot_matrix(leaf, leaves, cannot), merges, low, high, total, clusters, kept)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def leaves_of(units: int, must: Int64s) -> tuple[Int32s, int]:
    """Return the leaf of every unit, numbered by first appearance, and how many leaves there are."""
    up = np.arange(units)
    for link in range(must.shape[0]):
        one, other = must[link, 0], must[link, 1]
        while up[one] != one:
            up[one] = up[up[one]]
            one = up[one]
        while up[other] != other:
            up[other] = up[up[other]]
            other = up[other]
        up[max(one, other)] = min(one, other)
    leaf = np.empty(units, np.int32)
    leaves = 0
    for unit in range(units):
        if up[unit] == unit:
            leaf[unit] = leaves
            leaves += 1
        else:  # the root is the smallest unit of its set, so it has its number already
            root = up[unit]
            while up[root] != root:
                root = up[root]
            leaf[unit] = leaf[root]
    return leaf, leaves


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def cannot_matrix(leaf: Int32s, leaves: int, cannot: Int64s) -> Bytes:
    matrix = np.zeros((leaves, leaves), np.uint8)
    for link in range(cannot.shape[0]):
        one, other = leaf[cannot[link, 0]], leaf[cannot[link, 1]]
        matrix[one, other] = matrix[other, one] = 1
    return matrix


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def all_merges(first: Int32s, second: Int32s, leaf: Int32s, apart: Bytes) -> Int32s:
    """Run Kruskal's algorithm under cannot-links (`apart`, which is used up) to its end."""
    leaves = apart.shape[0]
    merges = np.empty((max(leaves - 1, 0), 3), np.int32)
    tree = np.arange(leaves).astype(np.int32)  # of a leaf; a tree is named after one of its leaves
    node = np.arange(leaves).astype(np.int32)  # of a tree
    size = np.ones(leaves, np.int32)
    ring = np.arange(leaves).astype(np.int32)  # leads through the leaves of a tree, round and round
    done = 0
    for rank in range(first.shape[0]):
        if done == leaves - 1:
            break
        one, other = tree[leaf[first[rank]]], tree[leaf[second[rank]]]
        if one == other or apart[one, other]:
            continue
        merges[done, 0], merges[done, 1], merges[done, 2] = node[one], node[other], rank
        if size[one] < size[other]:
            one, other = other, one
        walker = other
        for _ in range(size[other]):
            tree[walker] = one
            walker = ring[walker]
        ring[one], ring[other] = ring[other], ring[one]
        size[one] += size[other]
        node[one] = leaves + done
        for third in range(leaves):
            if apart[other, third]:
                apart[one, third] = apart[third, one] = 1
        done += 1
    return merges[:done].copy()


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def side_by_side(merges: Int32s, leaves: int) -> tuple[Int32s, Int32s, Int32s]:
    """Return new numbers for the leaves, and for each node (leaves by their new numbers) the range of its leaves."""
    nodes = leaves + merges.shape[0]
    size = np.ones(nodes, np.int32)
    root = np.ones(nodes, np.uint8)
    for number in range(merges.shape[0]):
        one, other = merges[number, 0], merges[number, 1]
        size[leaves + number] = size[one] + size[other]
        root[one] = root[other] = 0
    start = np.empty(nodes, np.int32)
    free = 0
    for node in range(nodes):
        if root[node]:
            start[node] = free
            free += size[node]
    for number in range(merges.shape[0] - 1, -1, -1):
        one, other = merges[number, 0], merges[number, 1]
        start[one] = start[leaves + number]
        start[other] = start[one] + size[one]
    place = start[:leaves].copy()
    low = start.copy()
    high = start + size
    for leaf in range(leaves):
        low[leaf], high[leaf] = leaf, leaf + 1
    return place, low, high


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def weights_of(merges: Int32s, place: Int32s, leaf: Int32s, weight: Int64s) -> Int64s:
    """Return the items of each node, and write the leaves' new numbers into the merges."""
    leaves = place.shape[0]
    total = np.zeros(leaves + merges.shape[0], np.int64)
    for unit in range(leaf.shape[0]):
        total[leaf[unit]] += weight[unit]
    for number in range(merges.shape[0]):
        for side in range(2):
            if merges[number, side] < leaves:
                merges[number, side] = place[merges[number, side]]
            total[leaves + number] += total[merges[number, side]]
    return total


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def clusters_of(merges: Int32s, leaves: int, kept: int) -> Int32s:
    cluster = np.full(leaves + merges.shape[0], -1, np.int32)
    named = 0
    for node in range(leaves + kept - 1, -1, -1):
        if cluster[node] < 0:
            cluster[node] = named
            named += 1
        if node >= leaves:
            cluster[merges[node - leaves, 0]] = cluster[merges[node - leaves, 1]] = cluster[node]
    return cluster

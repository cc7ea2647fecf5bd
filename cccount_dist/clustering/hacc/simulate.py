"""What the clustering would be after an answer: the run from merge t on, as a difference to the run that really happened.

Only trees that differ from the real run are kept ("dirty"): at first X and Y, or X + Z and Y. Real merges of two clean trees are
replayed; a clean tree whose merge is refused becomes dirty. A dirty tree has its row of smallest ranks and its nearest allowed
tree, which is checked only when its turn comes. Rows have one column for each tree of stage t. Time O(m) for a dirty merge.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.forest import Bytes, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.order import NEVER

ROWS_EXHAUSTED = -1.0
# up, consumed, ranks, apart, nearest, target, alive, stamp, cell, chain, head, by cluster, cluster's stamp
Scratch = tuple[Int32s, Bytes, Int32s, Bytes, Int32s, Int32s, Bytes, Int64s, Int32s, Int32s, Int32s, Int64s, Int64s]
inlined = numba.njit(cache=True, nogil=True, inline="always")


def new_scratch(leaves: int, nodes: int, clusters: int, rows: int) -> Scratch:
    """Return memory for one simulation at a time, with room for so many dirty trees."""
    names = nodes + rows
    return (
        np.empty(names, np.int32),
        np.empty(nodes, np.uint8),
        np.empty((rows, leaves), np.int32),
        np.empty((rows, leaves), np.uint8),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.uint8),
        np.zeros(names + 1, np.int64),  # the last one counts the stamps
        np.empty(leaves, np.int32),
        np.empty(leaves, np.int32),
        np.empty(names, np.int32),
        np.empty(clusters, np.int64),
        np.zeros(clusters, np.int64),
    )


@inlined  # type: ignore[untyped-decorator, unused-ignore]
def _tree(up: Int32s, node: int) -> int:
    while up[node] != node:
        up[node] = up[up[node]]
        node = up[node]
    return node


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _add_row(row: int, node: int, cells: int, cell: Int32s, low: Int32s, high: Int32s, rank: Int32s, apart: Bytes,
             ranks: Int32s, aparts: Bytes, fresh: bool) -> None:  # fmt: skip
    """Put a clean tree's row into a dirty row: the smallest rank and any cannot-link for each tree of the stage."""
    for c in range(cells):
        start, stop = low[cell[c]], high[cell[c]]
        nearest = rank[node, start]
        forbidden = apart[node, start]
        for x in range(start + 1, stop):
            nearest = min(nearest, rank[node, x])
            forbidden |= apart[node, x]
        if fresh:
            ranks[row, c] = nearest
            aparts[row, c] = forbidden
        else:
            ranks[row, c] = min(nearest, ranks[row, c])
            aparts[row, c] |= forbidden


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _look(row: int, name: int, cells: int, scratch: Scratch) -> None:
    """Find the nearest tree that a dirty one may join."""
    up, _, ranks, aparts, nearest, target, _, stamp, cell, _, _, _, _ = scratch
    stamp[-1] += 1
    now = stamp[-1]
    for c in range(cells):
        if aparts[row, c]:
            stamp[_tree(up, cell[c])] = now
    best = NEVER
    at = -1
    for c in range(cells):
        if ranks[row, c] < best:
            tree = _tree(up, cell[c])
            if tree == name or stamp[tree] == now:
                ranks[row, c] = NEVER  # for good: trees only grow
            else:
                best = ranks[row, c]
                at = c
    nearest[row], target[row] = best, at


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def jaccard_after(group: Int32s, wanted: int, merges: Int32s, low: Int32s, high: Int32s, weight: Int64s, cluster: Int32s,
                  together: int, rank: Int32s, apart: Bytes, stage: Int32s, scratch: Scratch) -> float:  # fmt: skip
    """Return the Jaccard coefficient of the present clustering and the one after the answer that group (t, X, Y, Z) stands for.

    `together` is the number of pairs of items in one cluster now. ROWS_EXHAUSTED if the scratch memory has too few rows.
    """
    up, consumed, ranks, aparts, nearest, target, alive, _, cell, _, _, _, _ = scratch
    t, x_node, y_node, z_node = group[0], group[1], group[2], group[3]
    leaves, nodes, total = rank.shape[1], rank.shape[0], merges.shape[0]
    cells = 0
    x = 0
    while x < leaves:
        cell[cells] = stage[t, x]
        x = high[stage[t, x]]
        cells += 1
    for node in range(nodes + 2):
        up[node] = node
    consumed[:nodes] = 0
    _add_row(0, x_node, cells, cell, low, high, rank, apart, ranks, aparts, True)
    _add_row(1, y_node, cells, cell, low, high, rank, apart, ranks, aparts, True)
    up[x_node], up[y_node] = nodes, nodes + 1
    consumed[x_node] = consumed[y_node] = consumed[leaves + t] = 1
    trees = cells
    if z_node >= 0:
        _add_row(0, z_node, cells, cell, low, high, rank, apart, ranks, aparts, False)
        up[z_node] = nodes
        consumed[z_node] = 1
        trees -= 1
    else:
        for c in range(cells):
            if cell[c] == x_node:
                aparts[1, c] = 1
            elif cell[c] == y_node:
                aparts[0, c] = 1
    alive[0] = alive[1] = 1
    nearest[0] = nearest[1] = -1  # to be looked for
    rows = 2
    following = t + 1
    while trees > wanted:
        row = -1
        first_rank = NEVER
        for one in range(rows):
            if alive[one]:
                if nearest[one] < 0:
                    _look(one, nodes + one, cells, scratch)
                if nearest[one] < first_rank:
                    row, first_rank = one, nearest[one]
        refused = -1
        while following < total and merges[following, 2] < first_rank and trees > wanted and refused < 0:
            one, other, new = merges[following, 0], merges[following, 1], leaves + following
            if not (consumed[one] or consumed[other]):
                up[one] = up[other] = new
                trees -= 1
            else:
                consumed[new] = 1
                if not consumed[one]:
                    refused = one
                elif not consumed[other]:
                    refused = other
            following += 1
        if trees == wanted:
            break
        if refused >= 0:  # had the dirty tree been allowed to take it, its rank would have come first
            if rows == ranks.shape[0]:
                return ROWS_EXHAUSTED
            _add_row(rows, refused, cells, cell, low, high, rank, apart, ranks, aparts, True)
            consumed[refused] = 1
            up[refused] = up[nodes + rows] = nodes + rows
            alive[rows] = 1
            nearest[rows] = -1
            rows += 1
            continue
        if row < 0:
            break  # a dead end
        name = nodes + row
        tree = _tree(up, cell[target[row]])
        allowed = tree != name
        c = 0
        while allowed and c < cells:
            allowed = not (aparts[row, c] and _tree(up, cell[c]) == tree)
            c += 1
        nearest[row] = -1
        if not allowed:
            continue
        if tree >= nodes:
            second = tree - nodes
            for c in range(cells):
                ranks[row, c] = min(ranks[row, c], ranks[second, c])
                aparts[row, c] |= aparts[second, c]
            alive[second] = 0
        else:
            _add_row(row, tree, cells, cell, low, high, rank, apart, ranks, aparts, False)
            consumed[tree] = 1
        up[tree] = name
        trees -= 1
    return _jaccard(cells, weight, cluster, together, scratch)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _jaccard(cells: int, weight: Int64s, cluster: Int32s, together: int, scratch: Scratch) -> float:
    up, _, _, _, _, _, _, stamp, cell, chain, head, inside, inside_stamp = scratch
    stamp[-1] += 1
    now = stamp[-1]
    both = after = 0
    for c in range(cells):  # chain the cells of each tree
        tree = _tree(up, cell[c])
        if stamp[tree] != now:
            stamp[tree] = now
            head[tree] = -1
        chain[c] = head[tree]
        head[tree] = c
    for c in range(cells):
        tree = _tree(up, cell[c])
        if head[tree] < 0:
            continue
        stamp[-1] += 1
        now = stamp[-1]
        size = 0
        walker = head[tree]
        head[tree] = -1
        while walker >= 0:
            mine = weight[cell[walker]]
            own = mine * (mine - 1) // 2
            where = cluster[cell[walker]]
            if inside_stamp[where] != now:
                inside_stamp[where] = now
                inside[where] = 0
            after += size * mine + own
            both += inside[where] * mine + own
            size += mine
            inside[where] += mine
            walker = chain[walker]
    either = together + after - both
    return 1.0 if either == 0 else both / either


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def simulate_until(numbers: Int64s, table: Int32s, bound: NDArray[np.float64], jaccard: NDArray[np.float64],
                   best: NDArray[np.float64], wanted: int, merges: Int32s, low: Int32s, high: Int32s, weight: Int64s,
                   cluster: Int32s, together: int, rank: Int32s, apart: Bytes, stage: Int32s, scratch: Scratch,
                   stop_early: bool) -> int:  # fmt: skip
    """Simulate these groups in turn; a group whose bound is below the best value so far cannot win, nor can any after it.

    Return the place of the first group that was not dealt with. Threads share `best` without a lock: a stale value costs
    a simulation that was not needed, and never changes a result.
    """
    for place in range(numbers.shape[0]):
        group = numbers[place]
        if bound[group] < best[0] and stop_early:
            break
        if jaccard[group] < 0.0:
            value = jaccard_after(table[group], wanted, merges, low, high, weight, cluster, together, rank, apart, stage, scratch)
            if value == ROWS_EXHAUSTED:
                return place
            jaccard[group] = value
        best[0] = max(best[0], bound[group] * (1.0 - jaccard[group]))
    return numbers.shape[0]

"""What the clustering would be after an answer: the run from merge t on, as a difference to the run that really happened.

Only trees that differ from the real run are kept ("dirty"): at first X and Y, or X + Z and Y. As long as nothing but real merges
happens, their links say which dirty tree takes what: this short way is tried first. The long way takes O(m) for a dirty merge.
"""

import numpy as np

from cccount_dist.clustering.hacc.forest import Bytes, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.realrun import NEAREST, Run, block, is_blocked, largest, unite

ROWS_EXHAUSTED = -1.0
_END = -1  # of a chain
_TRIES, _RARELY = 32, 3  # the short way is given up if after 32 tries fewer than one in 3 led to the end

Scratch = tuple[Int32s, Bytes, Int32s, Int32s, Bytes, Int32s, Int32s, Int32s, Int32s, Int64s, Int32s, Int64s, Int64s]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _tree_of(up: Int32s, name: int) -> int:
    """Return the tree that a node or a dirty tree is part of."""
    while up[name] != name:
        up[name] = up[up[name]]
        name = up[name]
    return name


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _follow_real_run(group: Int32s, needed: int, run: Run, scratch: Scratch) -> bool:
    """Do the next `needed` real merges with two dirty trees; False if something else could happen before the last of them.

    P is the real tree that X and Y became at merge t; now its items are shared out between the two dirty trees. When P takes a
    tree W in the real run, the dirty tree at the end of that link takes it. If Z was glued to X, what Z's real tree Q takes goes
    there too. Anything else would be a join that the real run refused, and its tree lies outside what P is in the end: so rows
    are needed for the leaves outside only. Time O(T), and O(leaves outside P) for what the dirty trees take: next to nothing
    where items chain into one large cluster.
    """
    first, second, leaf, merges, low, high, _, _, clean, stage = run
    up, _, dirty, nearest, _, _, _, _, _, _, _, _, _ = scratch
    nodes, leaves = clean.shape
    t, q = group[0], group[3]
    end = t + 1 + needed
    if end > merges.shape[0]:
        return False
    p = leaves + t
    for number in range(t + 1, end):
        if merges[number, 0] == p or merges[number, 1] == p:
            p = leaves + number
    left, right = low[p], high[p]  # what P is in the end
    for row in range(2):
        nearest[row] = max(largest(dirty[row][:left]), largest(dirty[row][right:]))
    p = leaves + t
    for number in range(t + 1, end):
        rank = merges[number, 2]
        for row in range(2):
            while nearest[row] >= 0 and NEAREST - nearest[row] < rank:
                link = NEAREST - nearest[row]
                tree = _tree_of(up, stage[t, leaf[first[link]]])
                if tree == nodes + row:
                    tree = _tree_of(up, stage[t, leaf[second[link]]])
                if tree >= nodes:  # the two dirty trees stay apart; outside P there is only what Q brought
                    tree = q
                elif not is_blocked(dirty[row], low[tree], high[tree]):
                    return False
                block(dirty[row], low[tree], high[tree])
                nearest[row] = max(largest(dirty[row][:left]), largest(dirty[row][right:]))
        one, other, new = merges[number, 0], merges[number, 1], leaves + number
        if p == one or p == other:  # noqa: SIM109  numba compiles this faster than a search in a tuple
            taken = other if one == p else one
            end_in_p = leaf[first[rank]]
            if not low[p] <= end_in_p < high[p]:
                end_in_p = leaf[second[rank]]
            row = _tree_of(up, stage[t, end_in_p]) - nodes
            if row == 0 and q >= 0 and is_blocked(clean[q], low[taken], high[taken]):
                return False
            p = new
        elif q >= 0 and (q == one or q == other):  # noqa: SIM109
            taken = other if one == q else one
            row = 0
            if is_blocked(clean[p], low[taken], high[taken]):
                return False
            q = new
        else:
            up[one] = up[other] = new
            continue
        near = unite(dirty[row][:left], clean[taken][:left])
        nearest[row] = max(near, unite(dirty[row][right:], clean[taken][right:]))
        up[taken] = nodes + row
    return True


def new_scratch(leaves: int, nodes: int, clusters: int, rows: int) -> Scratch:
    """Return memory for one simulation at a time, with room for so many dirty trees."""
    names = nodes + rows  # clean trees are named by their node, dirty ones by nodes + row
    return (
        np.empty(names, np.int32),  # up: leads to the tree that a name is part of
        np.empty(nodes, np.uint8),  # consumed: the node is part of a dirty tree, or would have been
        np.empty((rows, leaves), np.int32),  # rows of the dirty trees
        np.empty(rows, np.int32),  # nearest: the largest number of a row
        np.empty(rows, np.uint8),  # alive
        np.empty(nodes, np.int32),  # following: chains the nodes of a dirty tree
        np.empty(rows, np.int32),  # head of a row's chain
        np.empty(rows, np.int32),  # tail
        np.empty(leaves, np.int32),  # cells: the trees of the stage
        np.zeros(names + 1, np.int64),  # stamp by name; the last one counts the stamps
        np.empty(names + leaves, np.int32),  # chains of cells, for the comparison
        np.empty(clusters, np.int64),  # items by cluster
        np.zeros(clusters, np.int64),  # and its stamp
    )


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _make_dirty(row: int, node: int, run: Run, scratch: Scratch) -> None:
    """Make a clean tree a dirty one, with a row of its own."""
    _, _, _, _, _, _, _, _, clean, _ = run
    up, consumed, dirty, nearest, alive, following, head, tail, _, _, _, _, _ = scratch
    name = consumed.shape[0] + row
    dirty[row] = clean[node]
    nearest[row] = largest(dirty[row])
    up[node] = up[name] = name
    consumed[node] = 1
    alive[row] = 1
    head[row] = tail[row] = node
    following[node] = _END


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _join(row: int, tree: int, run: Run, scratch: Scratch) -> None:
    """Let a dirty tree take another tree in."""
    _, _, _, _, _, _, _, _, clean, _ = run
    up, consumed, dirty, nearest, alive, following, head, tail, _, _, _, _, _ = scratch
    nodes = consumed.shape[0]
    if tree >= nodes:
        second = tree - nodes
        nearest[row] = unite(dirty[row], dirty[second])
        alive[second] = 0
        following[tail[row]] = head[second]
        tail[row] = tail[second]
    else:
        nearest[row] = unite(dirty[row], clean[tree])
        consumed[tree] = 1
        following[tail[row]] = tree
        following[tree] = _END
        tail[row] = tree
    up[tree] = nodes + row


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _may_join(row: int, tree: int, run: Run, scratch: Scratch) -> bool:
    """Return whether no cannot-link is in the way; if one is, block the whole tree."""
    _, _, _, _, low, high, _, _, _, _ = run
    _, consumed, dirty, nearest, _, following, head, _, _, _, _, _, _ = scratch
    nodes = consumed.shape[0]
    if tree < nodes:
        if not is_blocked(dirty[row], low[tree], high[tree]):
            return True
        block(dirty[row], low[tree], high[tree])
    else:
        node = head[tree - nodes]
        while node != _END and not is_blocked(dirty[row], low[node], high[node]):
            node = following[node]
        if node == _END:
            return True
        node = head[tree - nodes]
        while node != _END:
            block(dirty[row], low[node], high[node])
            node = following[node]
    nearest[row] = largest(dirty[row])
    return False


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def jaccard_after(group: Int32s, wanted: int, together: int, run: Run, scratch: Scratch, luck: Int64s) -> float:
    """Return the Jaccard coefficient of the present clustering and the one after the answer that group (t, X, Y, Z) stands for.

    `together` is the number of pairs of items in one cluster now. ROWS_EXHAUSTED if the scratch memory has too few rows. `luck`
    counts how often the short way was tried and led to the end: where it rarely does, it is not tried.
    """
    count, trees = _begin(group, run, scratch)
    if luck[0] < _TRIES or _RARELY * luck[1] >= luck[0]:
        luck[0] += 1
        if _follow_real_run(group, trees - wanted, run, scratch):
            luck[1] += 1
            return _jaccard(count, together, run, scratch)
        _begin(group, run, scratch)
    if not _leave_real_run(group[0], trees, wanted, run, scratch):
        return ROWS_EXHAUSTED
    return _jaccard(count, together, run, scratch)


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _begin(group: Int32s, run: Run, scratch: Scratch) -> tuple[int, int]:
    """Set up the stage before merge t with the two dirty trees; return the trees of the stage, and how many are left now."""
    _, _, _, _, low, high, _, _, clean, stage = run
    up, consumed, dirty, nearest, _, _, _, _, cells, _, _, _, _ = scratch
    t, x_node, y_node, z_node = group[0], group[1], group[2], group[3]
    nodes, leaves = clean.shape
    trees = 0
    x = 0
    while x < leaves:
        cells[trees] = stage[t, x]
        x = high[stage[t, x]]
        trees += 1
    count = trees
    for node in range(nodes):
        up[node] = node
        consumed[node] = 0
    _make_dirty(0, x_node, run, scratch)
    _make_dirty(1, y_node, run, scratch)
    consumed[leaves + t] = 1
    if z_node >= 0:
        _join(0, z_node, run, scratch)
        trees -= 1
    else:
        block(dirty[0], low[y_node], high[y_node])
        block(dirty[1], low[x_node], high[x_node])
        nearest[0], nearest[1] = largest(dirty[0]), largest(dirty[1])
    return count, trees


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _leave_real_run(t: int, trees: int, wanted: int, run: Run, scratch: Scratch) -> bool:
    """Simulate from the stage on, whatever happens; False if there are too few rows.

    Real merges of two clean trees are replayed; a clean tree whose merge is refused becomes dirty. A dirty tree has a row of
    nearness (`realrun.py`). Whether it may join a tree that the row does not block is checked when its turn comes.
    """
    first, second, leaf, merges, _, _, _, _, clean, stage = run
    up, consumed, dirty, nearest, alive, _, _, _, _, _, _, _, _ = scratch
    nodes, leaves = clean.shape
    total = merges.shape[0]
    rows = 2
    following = t + 1
    while trees > wanted:
        row = -1
        closest = -1
        for one in range(rows):
            if alive[one] and nearest[one] > closest:
                row, closest = one, nearest[one]
        rank = NEAREST - closest
        refused = -1
        while following < total and merges[following, 2] < rank and trees > wanted and refused < 0:
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
            if rows == dirty.shape[0]:
                return False
            _make_dirty(rows, refused, run, scratch)
            rows += 1
            continue
        if row < 0:
            break  # a dead end
        tree = _tree_of(up, stage[t, leaf[first[rank]]])
        if tree == nodes + row:
            tree = _tree_of(up, stage[t, leaf[second[rank]]])
        if _may_join(row, tree, run, scratch):
            _join(row, tree, run, scratch)
            trees -= 1
    return True


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def _jaccard(count: int, together: int, run: Run, scratch: Scratch) -> float:
    _, _, _, _, _, _, weight, cluster, _, _ = run
    up, _, _, _, _, _, _, _, cells, stamp, chain, inside, inside_stamp = scratch
    names = up.shape[0]
    stamp[-1] += 1
    now = stamp[-1]
    for c in range(count):  # chain the cells of each tree: chain[tree] is the first, chain[names + cell] the next
        tree = _tree_of(up, cells[c])
        if stamp[tree] != now:
            stamp[tree] = now
            chain[tree] = _END
        chain[names + c] = chain[tree]
        chain[tree] = c
    both = after = 0
    for c in range(count):
        tree = up[cells[c]]  # the way is short by now, but may have two steps
        while up[tree] != tree:
            tree = up[tree]
        walker = chain[tree]
        if walker == _END:
            continue
        chain[tree] = _END
        stamp[-1] += 1
        now = stamp[-1]
        size = 0
        while walker != _END:
            mine = weight[cells[walker]]
            own = mine * (mine - 1) // 2
            where = cluster[cells[walker]]
            if inside_stamp[where] != now:
                inside_stamp[where] = now
                inside[where] = 0
            after += size * mine + own
            both += inside[where] * mine + own
            size += mine
            inside[where] += mine
            walker = chain[names + walker]
    either = together + after - both
    return 1.0 if either == 0 else both / either

"""The short way of a simulation: as long as nothing but real merges happens, their links say which dirty tree takes what.

P is the real tree that X and Y became at merge t; now its items are shared out between the two dirty trees. When P takes a tree W
in the real run, the dirty tree at the end of that link takes it. If Z was glued to X, what Z's real tree Q takes goes there too.
Anything else would be a join that the real run refused, and its tree lies outside what P is in the end: so rows are
needed for the leaves outside only. Where such a join is possible the whole simulation is done the long way (`simulate.py`).
Time O(T), and O(leaves outside P) for what the dirty trees take: next to nothing where items chain into one large cluster.
"""

from cccount_dist.clustering.hacc.forest import Bytes, Int32s, Int64s, compiled
from cccount_dist.clustering.hacc.rows import NEAREST, block, is_blocked, largest, unite

# What does not change while one question is looked for: first, second (of the order), leaf, merges, low, high, weight (of the
# forest), cluster (of nodes), rows, stage (of the history).
Run = tuple[Int32s, Int32s, Int32s, Int32s, Int32s, Int32s, Int64s, Int32s, Int32s, Int32s]
Scratch = tuple[Int32s, Bytes, Int32s, Int32s, Bytes, Int32s, Int32s, Int32s, Int32s, Int64s, Int32s, Int64s, Int64s]


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def tree_of(up: Int32s, name: int) -> int:
    """Return the tree that a node or a dirty tree is part of."""
    while up[name] != name:
        up[name] = up[up[name]]
        name = up[name]
    return name


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def follow_real_run(group: Int32s, needed: int, run: Run, scratch: Scratch) -> bool:
    """Do the next `needed` real merges with two dirty trees; False if something else could happen before the last of them."""
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
                tree = tree_of(up, stage[t, leaf[first[link]]])
                if tree == nodes + row:
                    tree = tree_of(up, stage[t, leaf[second[link]]])
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
            row = tree_of(up, stage[t, end_in_p]) - nodes
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

"""Loops over the merges and the pairs of a partition. O(pairs + micro-clusters + merges) each."""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numpy as np
from numba import njit

from cccount_dist.clustering.evidence.agglomerate import LEAST_SAID
from cccount_dist.clustering.evidence.kernels import OPTIONS


@njit(**OPTIONS)
def laid_out(made, order, start):
    """Lay the halves of each merge side by side: new order, starts of the blocks, micro-clusters of both halves."""
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


@njit(**OPTIONS)
def spoken_for(made, surely, kept_is_smaller, order, start, standing):
    """Return for how much each micro-cluster speaks: no more than the log-odds of any merge in which it was in the smaller part.

    So a "same" about some items that were put into a block by a doubtful merge does not pull the whole block along.
    """
    units = len(start) - 1
    following = np.full(units, -1, np.int64)
    last = np.arange(units)
    out = standing.copy()
    for t in range(len(made)):
        kept, gone = made[t]
        unit = kept if kept_is_smaller[t] else gone
        while unit >= 0:
            for p in range(start[unit], start[unit + 1]):
                out[order[p]] = min(out[order[p]], max(surely[t], LEAST_SAID))
            unit = following[unit]
        following[last[kept]] = gone
        last[kept] = last[gone]
    return out


@njit(**OPTIONS)
def shared(order, start, group, size):
    """Return the sum of the squared sizes of what each unit shares with each group."""
    held = np.zeros(group.max() + 1 if len(group) else 0)
    total = 0.0
    for unit in range(len(start) - 1):
        for p in range(start[unit], start[unit + 1]):
            held[group[order[p]]] += size[order[p]]
        for p in range(start[unit], start[unit + 1]):
            total += held[group[order[p]]] ** 2
            held[group[order[p]]] = 0.0
    return total


@njit(**OPTIONS)
def staying(first, second, link, known, number):
    """Return the pairs of which both units stay (have a new number), under the new numbers."""
    count = 0
    for p in range(len(first)):
        count += number[first[p]] >= 0 and number[second[p]] >= 0
    out_first, out_second = np.empty(count, np.int32), np.empty(count, np.int32)
    out_link, out_known = np.empty(count), np.empty((count, 4))
    at = 0
    for p in range(len(first)):
        a, b = number[first[p]], number[second[p]]
        if a >= 0 and b >= 0:
            out_first[at], out_second[at], out_link[at] = a, b, link[p]
            for i in range(4):
                out_known[at, i] = known[p, i]
            at += 1
    return out_first, out_second, out_link, out_known


@njit(**OPTIONS)
def held_by(first, second, low, high, value, units):
    """Return the evidence of each pair, and which evidence (by `low`, ascending) belongs to none of them."""
    start = np.zeros(units + 1, np.int64)
    for x in low:
        start[x + 1] += 1
    start = np.cumsum(start)
    held, new = np.zeros(len(first)), np.ones(len(low), np.bool_)
    for p in range(len(first)):
        for w in range(start[first[p]], start[first[p] + 1]):
            if high[w] == second[p]:
                held[p] = value[w]
                new[w] = False
                break
    return held, new

"""Step 4: blocks from units by greedy merging: the pair with the largest log-odds of "same" first, until none is positive.

Log-odds = model + evidence of the answers - θ. Two units that nobody was asked about and that hold a large part of all pairs are
not joined on the model's word alone (CAUTION). First "same" answers are left out, so that dense groups form before one answer can
pull a part out of them; then all evidence counts. A "same" about the smaller part of a merge says no more for the whole than that
merge does, so a few strayed items never pull a class along. Only candidate pairs are looked at: O(pairs + merges · partners · d),
and most of them only through a bound (`bounds.py`), which changes nothing but the time.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import heapq

import numpy as np
from numba import njit

from cccount_dist.clustering.distance import dot
from cccount_dist.clustering.evidence.bounds import most_product, write_roughly
from cccount_dist.clustering.evidence.kernels import OPTIONS, longer

LARGE = 0.1  # share of all pairs inside blocks from which a merge counts as large
CAUTION = 2.5  # log-odds that a large merge without an answer needs in addition
MARGIN = 1.0  # log-odds above the threshold that a merge needs while "same" answers are left out
LEAST_SAID = 0.1  # log-odds that are left of every "same" answer
TILE = 32  # units whose vector sums lie in the processor's cache together with those of as many others
_FIRST = 1e9  # minus this stands before the log-odds of every other pair
_FLOOR = 1e-3  # added to the average Jaccard similarity before the logarithm
_NOTHING = float(np.log(_FLOOR))


@njit(**OPTIONS)
def features(link, product, size_a, size_b, square_a, square_b, far, unit):
    """Return the three features of a pair of blocks that are not constant; `product` is the dot product of their vector sums."""
    pairs = size_a * size_b
    distance = square_a / size_a + square_b / size_b - 2.0 * product / pairs
    smaller = min(size_a, size_b)
    return (
        np.log(link / pairs + _FLOOR) if link > 0.0 else _NOTHING,
        (far - distance) / unit,
        np.log2(smaller) if smaller < 8.0 else 3.0,
    )


@njit(**OPTIONS)
def _log_odds(a, b, link, said, least, size, total, square, rough, reach, weight, theta, far, unit):
    """Return the log-odds of two units with what the answers say; minus infinity if they are at most `least`.

    A larger product never makes them smaller, rounding included: the weight of closeness is positive (`logistic.py`).
    """
    product = most_product(rough[a], reach[a], rough[b], reach[b])
    f1, f2, f3 = features(link, product, size[a], size[b], square[a], square[b], far, unit)
    z = weight[0] + weight[1] * f1 + weight[2] * f2 + weight[3] * f3 - theta
    if z + said <= least:
        return -np.inf
    _, f2, _ = features(link, dot(total[a], total[b]), size[a], size[b], square[a], square[b], far, unit)
    z = weight[0] + weight[1] * f1 + weight[2] * f2 + weight[3] * f3 - theta
    return z + said


@njit(**OPTIONS)
def pair_features(first, second, link, size, total, square, far, unit):
    """Return the features (P, 4) of pairs of units."""
    out = np.ones((len(first), 4))
    _work_out(np.arange(len(first), dtype=np.int32), first, second, link, size, total, square, far, unit, out)
    return out


@njit(**OPTIONS)
def _work_out(chosen, first, second, link, size, total, square, far, unit, out):
    """Fill in the features of the chosen pairs, tile by tile: a vector sum is read from memory once for many pairs."""
    for p in _ordered(_ordered(chosen, second, len(size)), first, len(size)):
        a, b = first[p], second[p]
        out[p, 1], out[p, 2], out[p, 3] = features(
            link[p], dot(total[a], total[b]), size[a], size[b], square[a], square[b], far, unit
        )


@njit(**OPTIONS)
def _ordered(chosen, side, units):
    """Return the chosen pairs by the tile of their unit on a side, and else as they were."""
    start = np.zeros(units // TILE + 2, np.int64)
    for p in chosen:
        start[side[p] // TILE + 1] += 1
    start = np.cumsum(start)
    out = np.empty_like(chosen)
    for p in chosen:
        tile = side[p] // TILE
        out[start[tile]] = p
        start[tile] += 1
    return out


@njit(**OPTIONS)
def _rows(units, first, second, link, evidence):
    """Return the pairs by unit: where each unit's row begins and how long it is, its partners, links and evidence."""
    length = np.zeros(units, np.int64)
    for p in range(len(first)):
        length[first[p]] += 1
        length[second[p]] += 1
    start = np.cumsum(length) - length
    fill = start.copy()
    room = 2 * len(first) + 1024
    partner, links, evidences = np.empty(room, np.int32), np.empty(room), np.empty(room)
    for p in range(len(first)):
        for x, y in ((first[p], second[p]), (second[p], first[p])):
            partner[fill[x]], links[fill[x]], evidences[fill[x]] = y, link[p], evidence[p]
            fill[x] += 1
    return start, length, partner, links, evidences


@njit(**OPTIONS)
def _reports(x, y, version):
    """Return whether the pair is read from the row of x: a merged unit's row has complete sums; among equals the lower one."""
    if version[x] > 0 and version[y] > 0:
        return x < y
    return version[x] > 0 or (version[y] == 0 and x < y)


@njit(**OPTIONS)
def _held_back(evidence, pairs, within, caution):
    return caution if evidence == 0.0 and pairs > LARGE * within else 0.0


@njit(**OPTIONS)
def agglomerate(
    first, second, link, evidence, known, glued, size, total, square, rough, reach, weight, theta, caution, far, unit, margin
):
    """Merge units. `size`, `total`, `square`, `rough` and `reach` are changed in place.

    Parameters: pairs of units (`first` < `second`) with link and evidence; the features `known` (K, 4) of the first K of them;
    merges that are made first; `rough` and `reach` of the units' sums, see `roughly`; the model's weights and so on.

    Returns
    -------
    merges (t, 2): kept and absorbed unit; their numbers (t, 8): link, evidence, sizes of both, features;
    the unit that each unit is in now; pairs between the units that are left, their link, evidence and features.
    """
    units = len(size)
    start, length, partner, links, evidences = _rows(units, first, second, link, evidence)
    end = 2 * len(first)
    unit_in = np.arange(units)  # the unit that each one is in now
    following, last = np.full(units, -1, np.int64), np.arange(units)  # of those that are in one unit
    version = np.zeros(units, np.int64)
    place = np.full(units, -1, np.int64)
    merges = np.empty((units, 2), np.int64)
    numbers = np.empty((units, 8))
    made = 0
    within = 0.0
    for x in range(units):
        within += size[x] * size[x] / 2
    for phase in range(2):
        least = margin if phase == 0 else 0.0
        # Pairs with positive log-odds: minus the log-odds, the two units, and the versions for which they hold.
        heap = [(0.0, 0, 0, 0, 0, 0.0)]
        waiting = [(0.0, 0, 0, 0, 0, 0.0)]  # positive, but large and not asked about: tried again when more is merged
        # Pairs that nothing happened to are as they were given, the others come from the merged units' rows.
        for p in range(len(first)):
            a, b = int(first[p]), int(second[p])
            if version[a] == 0 and version[b] == 0:
                e = evidence[p]
                said = min(e, 0.0) if phase == 0 else e
                if p < len(known):
                    z = weight[0] + weight[1] * known[p, 1] + weight[2] * known[p, 2] + weight[3] * known[p, 3] - theta
                    z += said
                else:
                    z = _log_odds(a, b, link[p], said, least, size, total, square, rough, reach, weight, theta, far, unit)
                if z > least:
                    z2 = z - _held_back(e, size[a] * size[b], within, caution)
                    (heap if z2 > least else waiting).append((-z2, a, b, 0, 0, e))
        for x in range(units):
            if version[x] <= 0:
                continue
            _tidy(x, start, length, partner, links, evidences, unit_in, place)
            for p in range(start[x], start[x] + length[x]):
                y = partner[p]
                if not _reports(x, y, version):
                    continue
                e = evidences[p]
                said = min(e, 0.0) if phase == 0 else e
                z = _log_odds(x, y, links[p], said, least, size, total, square, rough, reach, weight, theta, far, unit)
                if z > least:
                    a, b = min(x, y), max(x, y)
                    z2 = z - _held_back(e, size[a] * size[b], within, caution)
                    (heap if z2 > least else waiting).append((-z2, a, b, version[a], version[b], e))
        heap, waiting = heap[1:], waiting[1:]
        if phase == 0:
            for t in range(len(glued)):
                heap.append((t - _FIRST, glued[t, 0], glued[t, 1], 0, 0, 0.0))
        heapq.heapify(heap)
        while True:
            if len(heap) == 0:
                again = [(0.0, 0, 0, 0, 0, 0.0)]
                for entry in waiting:
                    a, b = entry[1], entry[2]
                    if version[a] == entry[3] and version[b] == entry[4]:
                        if _held_back(entry[5], size[a] * size[b], within, caution) == 0.0:
                            heap.append((entry[0] - caution, a, b, entry[3], entry[4], entry[5]))
                        else:
                            again.append(entry)
                waiting = again[1:]
                if len(heap) == 0:
                    break
                heapq.heapify(heap)
            entry = heapq.heappop(heap)
            a, b = entry[1], entry[2]
            if (version[a] != entry[3] or version[b] != entry[4]) and entry[0] > _FIRST / -2:
                continue
            if end + length[a] + length[b] > len(partner):
                room = 2 * len(partner) + length[a] + length[b]
                partner, links, evidences = longer(partner, room), longer(links, room), longer(evidences, room)
            between, e = 0.0, 0.0
            for p in range(start[a], start[a] + length[a]):
                if unit_in[partner[p]] == b:
                    between += links[p]
                    e += evidences[p]
            f1, f2, f3 = features(between, dot(total[a], total[b]), size[a], size[b], square[a], square[b], far, unit)
            most = max(-entry[0], LEAST_SAID)  # what a "same" of the smaller part may say for the whole
            smaller = a if size[a] < size[b] else b
            merges[made, 0], merges[made, 1] = a, b
            numbers[made, 0], numbers[made, 1], numbers[made, 2], numbers[made, 3] = between, e, size[a], size[b]
            numbers[made, 4], numbers[made, 5], numbers[made, 6], numbers[made, 7] = 1.0, f1, f2, f3
            made += 1
            within += size[a] * size[b]
            inside = b
            while inside >= 0:
                unit_in[inside] = a
                inside = following[inside]
            following[last[a]] = b
            last[a] = last[b]
            version[a] += 1
            version[b] = -1
            size[a] += size[b]
            square[a] += square[b]
            total[a] += total[b]
            write_roughly(total[a], rough[a], reach[a])
            count = 0
            for x in (a, b):
                for p in range(start[x], start[x] + length[x]):
                    y = unit_in[partner[p]]
                    if y == a:
                        continue
                    if place[y] < 0:
                        place[y] = end + count
                        partner[end + count] = y
                        links[end + count] = 0.0
                        evidences[end + count] = 0.0
                        count += 1
                    links[place[y]] += links[p]
                    evidences[place[y]] += min(evidences[p], most) if x == smaller else evidences[p]
            start[a], length[a] = end, count
            end += count
            for p in range(start[a], start[a] + count):
                y = partner[p]
                place[y] = -1
                if evidences[p] != 0.0:  # the other one's row says the same
                    left_to_say = evidences[p]
                    for other in range(start[y], start[y] + length[y]):
                        if unit_in[partner[other]] == a:
                            evidences[other] = left_to_say
                            left_to_say = 0.0
                e = evidences[p]
                said = min(e, 0.0) if phase == 0 else e
                z = _log_odds(a, y, links[p], said, least, size, total, square, rough, reach, weight, theta, far, unit)
                if z > least:
                    u, v = min(a, y), max(a, y)
                    z2 = z - _held_back(e, size[a] * size[y], within, caution)
                    new = (-z2, u, v, version[u], version[v], e)
                    if z2 > least:
                        heapq.heappush(heap, new)
                    else:
                        waiting.append(new)
    # What is left, in the same two parts; those whose features are known come first.
    left, done = 0, 0
    for p in range(len(first)):
        left += version[first[p]] == 0 and version[second[p]] == 0
    for x in range(units):
        if version[x] > 0:
            _tidy(x, start, length, partner, links, evidences, unit_in, place)
            for p in range(start[x], start[x] + length[x]):
                left += _reports(x, partner[p], version)
    out_first, out_second = np.empty(left, np.int32), np.empty(left, np.int32)
    out_link, out_evidence, out_known = np.empty(left), np.empty(left), np.ones((left, 4))
    at = 0
    for p in range(len(first)):
        if version[first[p]] == 0 and version[second[p]] == 0:
            out_first[at], out_second[at] = first[p], second[p]
            out_link[at], out_evidence[at] = link[p], evidence[p]
            if p < len(known):
                out_known[at] = known[p]
                done = at + 1
            at += 1
    for x in range(units):
        if version[x] > 0:
            for p in range(start[x], start[x] + length[x]):
                y = partner[p]
                if _reports(x, y, version):
                    out_first[at], out_second[at] = min(x, y), max(x, y)
                    out_link[at], out_evidence[at] = links[p], evidences[p]
                    at += 1
    _work_out(np.arange(done, left).astype(np.int32), out_first, out_second, out_link, size, total, square, far, unit, out_known)
    return merges[:made], numbers[:made], unit_in, out_first, out_second, out_link, out_evidence, out_known


@njit(**OPTIONS)
def _tidy(x, start, length, partner, links, evidences, unit_in, place):
    """Bring the row of x up to date in place: present names, each once, x itself not among them."""
    at = start[x]
    for p in range(start[x], start[x] + length[x]):
        y = unit_in[partner[p]]
        if y == x:
            continue
        a, b = links[p], evidences[p]
        if place[y] < 0:
            place[y] = at
            partner[at] = y
            links[at] = 0.0
            evidences[at] = 0.0
            at += 1
        links[place[y]] += a
        evidences[place[y]] += b
    length[x] = at - start[x]
    for p in range(start[x], at):
        place[partner[p]] = -1

"""The machine room of `constraints.py`: tables of numbers and the compiled functions that take answers into them.

Sets of items are merged small into large. A set's cannot-links are a chain; pairs of sets that differ are found through a
hash table. So m answers take O(m log m) time, whatever their order. All fields of an item share one line of the processor's
cache: with millions of items it is the memory's latency that decides the speed.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

# Fields of an item. A set is named after one of its items, and RING leads from each of its items to the next, round and round.
# UP is the way to the root of the must-link forest (-1 at the root), and UP_ANSWER the answer that this step rests on.
# WEIGHT (items and links) and LINK (the first of its chain of cannot-links, or -1) are those of the set named after the item.
SET, RING, UP, UP_ANSWER, WEIGHT, LINK = range(6)
ITEM_FIELDS = 8
# Fields of an answer. Link 2a leads from the U of answer a to its V, and link 2a + 1 back; NEXT is what follows in the chain.
U, V, VALUE, STATE, NEXT = range(5)
ANSWER_FIELDS = 6
APPLIED, AGREES, CONTRADICTS = range(3)
# Fields of a slot of the hash table, and of the counters.
PAIR, ANSWER = range(2)
MERGES, SEPARATIONS = range(2)
ITEM_BITS = 31


def new_items(start: int, stop: int) -> Table:
    """Return rows for items, each a set of its own."""
    rows = np.full((stop - start, ITEM_FIELDS), -1, np.int64)
    rows[:, SET] = rows[:, RING] = np.arange(start, stop)
    rows[:, WEIGHT] = 1
    return rows


def new_slots(bits: int) -> Table:
    """Return an empty hash table with 2^bits slots."""
    return np.full((1 << bits, 2), -1, np.int64)


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _home(slots: Table, pair: int) -> int:
    """Return where the search for a pair begins. Only the upper half of the product depends on every bit: it is folded down."""
    product = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    slot: int = np.int64((product ^ (product >> np.uint64(32))) & np.uint64(slots.shape[0] - 1))  # type: ignore[assignment]
    return slot


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _slot(slots: Table, first: int, second: int) -> tuple[int, int]:
    """Return the number of a pair of sets, and its slot: the one that holds it, or else the empty one where it would go."""
    pair = (min(first, second) << ITEM_BITS) | max(first, second)
    slot = _home(slots, pair)
    while slots[slot, PAIR] != -1 and slots[slot, PAIR] != pair:
        slot = (slot + 1) & (slots.shape[0] - 1)
    return pair, slot


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _empty(slots: Table, slot: int) -> None:
    """Empty a slot, and move up what was pushed behind it: no trace is left, so the table never fills with dead entries."""
    mask = slots.shape[0] - 1
    probe = (slot + 1) & mask
    while slots[probe, PAIR] != -1:
        home = _home(slots, slots[probe, PAIR])
        if ((probe - home) & mask) >= ((probe - slot) & mask):
            slots[slot] = slots[probe]
            slot = probe
        probe = (probe + 1) & mask
    slots[slot, PAIR] = -1


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def separation(items: Table, slots: Table, u: int, v: int) -> int:
    """Return the answer that says that the sets of two items differ, or -1."""
    _, slot = _slot(slots, items[u, SET], items[v, SET])
    return slots[slot, ANSWER] if slots[slot, PAIR] != -1 else -1


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def relations(items: Table, slots: Table, first: Table, others: Table, out: NDArray[np.int8]) -> None:
    """Say of items and their others, row by row or one row for all, whether they are the same (1), different (0), or neither."""
    known, rows = items.shape[0], others.shape[0]
    for row in range(out.shape[0]):
        u = first[row]
        for column in range(out.shape[1]):
            v = others[row if rows > 1 else 0, column]
            if u == v:
                out[row, column] = 1
            elif u >= known or v >= known:
                out[row, column] = -1
            elif items[u, SET] == items[v, SET]:
                out[row, column] = 1
            else:
                out[row, column] = 0 if separation(items, slots, u, v) >= 0 else -1


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _chain(items: Table, answers: Table, name: int, link: int) -> None:
    answers[link >> 1, NEXT + (link & 1)] = items[name, LINK]
    items[name, LINK] = link
    items[name, WEIGHT] += 1


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _merge(items: Table, answers: Table, slots: Table, counts: Table, heavy: int, light: int) -> None:
    """Put the lighter set into the heavier one: its items, then its cannot-links."""
    item = light
    while True:
        items[item, SET] = heavy
        items[heavy, WEIGHT] += 1
        item = items[item, RING]
        if item == light:
            break
    items[heavy, RING], items[light, RING] = items[light, RING], items[heavy, RING]
    counts[MERGES] += 1
    link = items[light, LINK]
    while link >= 0:
        following = answers[link >> 1, NEXT + (link & 1)]
        other = items[answers[link >> 1, V - (link & 1)], SET]
        _, slot = _slot(slots, light, other)
        # Empty: a second link between the same two sets, which earlier mergers left in the chain.
        if slots[slot, PAIR] != -1:
            answer = slots[slot, ANSWER]
            _empty(slots, slot)
            pair, slot = _slot(slots, heavy, other)
            if slots[slot, PAIR] == -1:
                slots[slot, PAIR], slots[slot, ANSWER] = pair, answer
                _chain(items, answers, heavy, link)
            else:
                counts[SEPARATIONS] -= 1
        link = following


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _join_trees(items: Table, u: int, v: int, answer: int) -> None:
    """Hang the tree of u, which is turned so that u is its root, below v."""
    while u >= 0:
        following, reason = items[u, UP], items[u, UP_ANSWER]
        items[u, UP], items[u, UP_ANSWER] = v, answer
        u, v, answer = following, u, reason


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def take(items: Table, answers: Table, slots: Table, counts: Table, start: int, stop: int) -> int:
    """Take the answers start … stop - 1 into the closure. Return the first that contradicts it, which is not applied, or stop."""
    for number in range(start, stop):
        u, v, same = answers[number, U], answers[number, V], answers[number, VALUE] == 1
        first, second = items[u, SET], items[v, SET]
        pair, slot = _slot(slots, first, second)
        if first == second or slots[slot, PAIR] != -1:
            if same == (first == second):
                answers[number, STATE] = AGREES
                continue
            answers[number, STATE] = CONTRADICTS
            return number
        answers[number, STATE] = APPLIED
        if not same:
            slots[slot, PAIR], slots[slot, ANSWER] = pair, number
            counts[SEPARATIONS] += 1
            _chain(items, answers, first, 2 * number)
            _chain(items, answers, second, 2 * number + 1)
        elif items[first, WEIGHT] < items[second, WEIGHT]:
            _join_trees(items, u, v, number)
            _merge(items, answers, slots, counts, second, first)
        else:
            _join_trees(items, v, u, number)
            _merge(items, answers, slots, counts, first, second)
    return stop


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def rehash(old: Table, new: Table) -> None:
    """Copy every pair into a larger hash table."""
    for source in range(old.shape[0]):
        pair = old[source, PAIR]
        if pair != -1:
            _, slot = _slot(new, pair >> ITEM_BITS, pair & ((1 << ITEM_BITS) - 1))
            new[slot] = old[source]

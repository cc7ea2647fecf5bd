"""The closure of what people said: sets of items that are the same, cannot-links between the sets, and what contradicts them.

Same is transitive, and one "different" holds between whole sets. m answers take O(m log m) time (`closure.py`) and
O(m + largest item) memory. Every known relation can name the answers that it rests on, and every answer can be taken out.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling import closure
from cccount_dist.sampling.closure import APPLIED, ITEM_BITS, MERGES, RING, SEPARATIONS, SET, STATE, UP, UP_ANSWER, VALUE, U, V
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.errors import InputError

MOST_DOUBT = 0.05  # from which on a person is asked: people are wrong about as often
Link = tuple[int, int, float, str]  # u, v, value, answer_id


@dataclass(frozen=True, slots=True)
class Conflict:
    """An answer that contradicts what the answers before it imply. Both sides are kept; `against` is the other side."""

    answer_id: str
    u: int
    v: int
    value: float
    against: tuple[str, ...]


class Constraints:
    """Must-links and cannot-links, taken in one by one and taken out again by the id of their answer.

    >>> known = Constraints()
    >>> known.add(1, 2, 1.0, "a"), known.add(2, 3, 0.0, "b")
    (True, True)
    >>> known.known(1, 3), known.why(1, 3)
    (0.0, ['a', 'b'])
    >>> known.add(1, 3, 1.0, "c"), known.conflicts[0].against
    (False, ('a', 'b'))
    >>> known.note(1, 2, 0.0, "d", firm=True)
    >>> known.known(1, 3), [conflict.answer_id for conflict in known.conflicts]
    (1.0, ['a'])
    """

    def __init__(self) -> None:
        self._supposed: Constraints | None = None  # facts that may be wrong
        self._errors: dict[str, float] = {}  # how often each of them is
        self._firm: dict[str, tuple[int, int]] = {}  # answers above the others, in the order in which they came, and of what
        self._clear()

    def _clear(self) -> None:
        self._stale = False
        self._number: dict[str, int] = {}  # answer id -> row of the answer
        self._ids: list[str] = []
        self._applied = 0  # answers up to here are in the closure
        self._conflicts: dict[str, Conflict] = {}
        self._largest = 0  # item
        self._items = closure.new_items(0, 64)
        self._answers = np.empty((64, closure.ANSWER_FIELDS), np.int64)
        self._slots = closure.new_slots(7)
        self._counts = np.zeros(2, np.int64)

    def __len__(self) -> int:
        """Return how many answers are held, conflicts included."""
        return len(self._number)

    def known(self, u: int, v: int) -> float | None:
        """Return 1.0 if the items are known to be the same, 0.0 if different, None if neither follows.

        Where answers say nothing, facts that are supposed do, unless those that it takes are together too often wrong.
        """
        self._refresh()
        known = self._known(u, v)
        if known is not None or self._supposed is None:
            return known
        return self._supposed.known(u, v) if self.doubt(u, v) <= MOST_DOUBT else None

    def suppose(self, u: int, v: int, value: float, answer_id: str, error: float) -> None:
        """Take in a fact that is wrong with probability `error`: it stands below every answer, and nothing follows from both."""
        if self._supposed is None:
            self._supposed = Constraints()
        self._supposed.note(u, v, value, answer_id)
        self._errors[answer_id] = error

    def doubt(self, u: int, v: int) -> float:
        """Return how often what is supposed of two items is wrong at most: the errors of the facts that it rests on, added."""
        if self._supposed is None:
            return 0.0
        return sum(self._errors[name] for name in self._supposed.why(u, v))

    def _known(self, u: int, v: int) -> float | None:
        if u == v:
            return SAME
        if not (0 <= u < len(self._items) and 0 <= v < len(self._items)):
            return None
        if self._items[u, SET] == self._items[v, SET]:
            return SAME
        return DIFFERENT if closure.separation(self._items, self._slots, u, v) >= 0 else None

    def relations(self, items: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return how items (m,) relate to others, (m, k) or the same (k,) for all: 1 same, 0 different, -1 not known."""
        self._refresh()
        table = np.ascontiguousarray(others if others.ndim == 2 else others[None, :])
        out = np.empty((len(items), table.shape[1]), np.int8)
        closure.relations(self._items, self._slots, np.ascontiguousarray(items), table, out)
        return out

    def names(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the name of the set of each item: equal for items that are known to be the same."""
        self._refresh()
        inside = items < len(self._items)
        return np.where(inside, self._items[np.where(inside, items, 0), SET], items)

    def root(self, item: int) -> int:
        """Return one and the same number for all items that are known to be the same, and another one for every other set."""
        self._refresh()
        return int(self._items[item, SET]) if 0 <= item < len(self._items) else item

    def together(self, item: int) -> list[int]:
        """Return the items that are known to be the same as this one, sorted, itself included."""
        self._refresh()
        found = [item]
        while item < len(self._items) and (following := int(self._items[found[-1], RING])) != item:
            found.append(following)
        return sorted(found)

    def add(self, u: int, v: int, value: float, answer_id: str) -> bool:
        """Take an answer in; False if it contradicts what is known: it is then kept among the conflicts and not applied.

        The same answer again changes nothing.
        """
        self.note(u, v, value, answer_id)
        self._refresh()
        return answer_id not in self._conflicts

    def note(self, u: int, v: int, value: float, answer_id: str, *, firm: bool = False) -> None:
        """Take an answer in, as `add` does, at the next look at the closure: many together are taken in several times faster, and
        somebody who changes an answer a thousand times costs one rebuild and not a thousand.

        A firm answer stands above all that are not, and above the firm ones before it: what contradicts it is the conflict,
        whenever it came.
        """
        if firm and answer_id not in self._number:
            self._firm[answer_id] = min(u, v), max(u, v)
            self._stale = True
        self._write_down(u, v, value, answer_id)

    @property
    def corrected(self) -> bool:
        """Whether a firm answer is among them."""
        return bool(self._firm)

    def is_decided(self, u: int, v: int) -> bool:
        """Whether what is known of two items is a firm answer about them, or rests on firm answers alone."""
        if (min(u, v), max(u, v)) in self._firm.values():
            return True
        return self.corrected and bool(why := self.why(u, v)) and all(name in self._firm for name in why)

    def extend(self, links: Iterable[Link]) -> None:
        """Take many answers in: the same as `add` for each of them in their order, and several times faster."""
        for u, v, value, answer_id in links:
            self.note(u, v, value, answer_id)

    def remove(self, answer_id: str) -> None:
        """Take an answer out again. What the remaining ones imply, in their order, holds then, conflicts included.

        Nothing happens if it is not held: it was unsure, or two people took it back.
        """
        if self._supposed is not None and answer_id in self._errors:
            self._supposed.remove(answer_id)
            del self._errors[answer_id]
            return
        number = self._number.pop(answer_id, None)
        if number is None:
            return
        self._firm.pop(answer_id, None)
        if not self._stale:
            self._catch_up()
        # An answer that changed nothing when it came leaves nothing behind. Otherwise the closure is rebuilt at the next
        # look at it, so that many removals in a row cost one rebuild.
        self._conflicts.pop(answer_id, None)
        self._stale = self._stale or self._answers[number, STATE] == APPLIED

    def why(self, u: int, v: int) -> list[str]:
        """Return the answers that the known relation of two items rests on, in the order of the path; [] if it is unknown."""
        self._refresh()
        return self._why(u, v)

    def _why(self, u: int, v: int) -> list[str]:
        relation = self._known(u, v)
        if relation is None or u == v:
            return []
        if relation == SAME:
            return self._path(u, v)
        link = closure.separation(self._items, self._slots, u, v)
        near, far = self._answers[link, [U, V]].tolist()
        if self._items[near, SET] != self._items[u, SET]:
            near, far = far, near
        return [*self._path(u, near), self._ids[link], *self._path(far, v)]

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict what came before them, in the order in which they came."""
        self._refresh()
        return list(self._conflicts.values())

    def clusters(self, items: int) -> int:
        """Return the number of sets among `items` items: those that no answer touches are sets of their own."""
        self._refresh()
        return items - int(self._counts[MERGES])

    def complete(self, items: int) -> bool:
        """Return whether every pair of `items` items is known: then `clusters` is the number of clusters."""
        sets = self.clusters(items)
        return int(self._counts[SEPARATIONS]) == sets * (sets - 1) // 2

    def links(self) -> list[Link]:
        """Return the answers that hold, in the order in which they came: those among the conflicts are left out."""
        self._refresh()
        rows = self._answers[list(self._number.values())][:, [U, V, VALUE]].tolist()
        named = zip(self._number, rows, strict=True)
        return [(u, v, float(value), name) for name, (u, v, value) in named if name not in self._conflicts]

    def groups(self) -> list[list[int]]:
        """Return the sets of two and more items, each sorted, in the order of their smallest item."""
        self._refresh()
        together: dict[int, list[int]] = {}
        for item in np.flatnonzero(self._items[:, RING] != np.arange(len(self._items))).tolist():
            together.setdefault(int(self._items[item, SET]), []).append(item)
        return list(together.values())

    def _write_down(self, u: int, v: int, value: float, answer_id: str) -> None:
        number = self._number.get(answer_id)
        if number is None:
            _check(u, v, value, answer_id)
            number = len(self._ids)
            if number == len(self._answers):
                self._answers = np.concatenate([self._answers, np.empty_like(self._answers)])
            answer = self._answers[number]
            answer[U], answer[V], answer[VALUE] = u, v, value
            self._largest = max(self._largest, u, v)
            self._number[answer_id] = number
            self._ids.append(answer_id)
            return
        before = tuple(self._answers[number, [U, V, VALUE]].tolist())
        if before != (u, v, value):
            raise InputError(f"answer {answer_id!r} was {before} before and is {(u, v, value)} now: remove it first")

    def _catch_up(self) -> None:
        """Take the answers that are written down and not yet applied into the closure."""
        stop = len(self._ids)
        if self._applied == stop:
            return
        self._make_room()
        while (reached := closure.take(self._items, self._answers, self._slots, self._counts, self._applied, stop)) < stop:
            u, v, value = self._answers[reached, [U, V, VALUE]].tolist()
            answer_id = self._ids[reached]
            self._applied = reached + 1
            self._conflicts[answer_id] = Conflict(answer_id, u, v, float(value), tuple(self._why(u, v)))
        self._applied = stop

    def _make_room(self) -> None:
        """Let the tables reach the largest item, and keep the hash table at most half full. They double, so this is rare."""
        have = len(self._items)
        if self._largest >= have:
            self._items = np.concatenate([self._items, closure.new_items(have, max(2 * have, self._largest + 1))])
        if 2 * len(self._ids) > len(self._slots):
            slots = closure.new_slots((2 * len(self._ids)).bit_length())
            closure.rehash(self._slots, slots)
            self._slots = slots

    def _path(self, u: int, v: int) -> list[str]:
        """Return the answers on the way from u to v in the must-link forest."""
        steps = {u: 0}
        from_u: list[int] = []
        while (above := int(self._items[u, UP])) >= 0:
            from_u.append(int(self._items[u, UP_ANSWER]))
            u = above
            steps[u] = len(from_u)
        from_v: list[int] = []
        while v not in steps:
            from_v.append(int(self._items[v, UP_ANSWER]))
            v = int(self._items[v, UP])
        return [self._ids[number] for number in from_u[: steps[v]] + from_v[::-1]]

    def _refresh(self) -> None:
        """Bring the closure up to the answers; built anew from those that are left, if one that it rests on was taken out."""
        if self._stale:
            names = [*reversed(self._firm), *(name for name in self._number if name not in self._firm)]
            answers, largest = self._answers[[self._number[name] for name in names]], self._largest
            self._clear()
            if names:
                self._answers, self._ids, self._largest = answers, names, largest
                self._number = {name: number for number, name in enumerate(names)}
        self._catch_up()


def _check(u: int, v: int, value: float, answer_id: str) -> None:
    if value != SAME and value != DIFFERENT:
        raise InputError(f"answer {answer_id!r} has the value {value}: the closure takes only 1 (same) and 0 (different)")
    if not (0 <= u < 1 << ITEM_BITS and 0 <= v < 1 << ITEM_BITS):
        raise InputError(f"answer {answer_id!r} is about the items {u} and {v}: item numbers go from 0 to 2^{ITEM_BITS} - 1")

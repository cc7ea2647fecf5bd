"""The closure of what people said: sets of items that are the same, cannot-links between the sets, and what contradicts them.

Same is transitive, and one "different" holds between whole sets. Sets are merged small into large, so m answers take
O(m log m) time and O(m + n) memory. Every known relation can name its answers. State lies in flat tables of
numbers, not in an object for each set: with a million answers the memory's latency and the garbage collector decide the speed.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.errors import InputError

_ITEM_BITS = 31


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
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._stale = False
        # Answers, by their number in the order in which they came.
        self._number: dict[str, int] = {}
        self._id: list[str] = []
        self._u, self._v, self._value = array("q"), array("q"), array("d")
        self._idle: set[int] = set()  # answers that changed nothing: they agreed with the closure, or contradict it
        self._conflicts: dict[str, Conflict] = {}
        # Sets of items, each named after one of them. The tables go up to the largest item that an answer is about.
        self._set = array("q")  # item -> set
        self._ring = array("q")  # item -> the next item of its set, round and round
        self._weight = array("q")  # set -> number of its items and links: what has to be moved when it is merged
        self._merges = 0
        # The must-link forest: item -> the next item on the way to the root (-1 there), and the answer that links them.
        self._up = array("q")
        self._up_answer = array("q")
        # Cannot-links. Each set has a chain of them: link 2a leads from the u of answer a to its v, link 2a + 1 back.
        self._apart: dict[int, int] = {}  # pair of sets -> answer
        self._first_link = array("q")  # set -> link, or -1
        self._next_link: dict[int, int] = {}  # link -> link

    def __len__(self) -> int:
        """Return how many answers are held, conflicts included."""
        return len(self._number)

    def known(self, u: int, v: int) -> float | None:
        """Return 1.0 if the items are known to be the same, 0.0 if different, None if neither follows."""
        if self._stale:
            self._rebuild()
        first, second = self._set_of(u), self._set_of(v)
        if first == second:
            return SAME
        return DIFFERENT if _pair(first, second) in self._apart else None

    def add(self, u: int, v: int, value: float, answer_id: str) -> bool:
        """Take an answer in; False if it contradicts what is known: it is then kept among the conflicts and not applied.

        The same answer again changes nothing.
        """
        if self._stale:
            self._rebuild()
        number = self._number.get(answer_id)
        if number is None:
            _check(u, v, value, answer_id)
            return self._take(u, v, value, answer_id)
        before = (self._u[number], self._v[number], self._value[number])
        if before != (u, v, value):
            raise InputError(f"answer {answer_id!r} was {before} before and is {(u, v, value)} now: remove it first")
        return answer_id not in self._conflicts

    def remove(self, answer_id: str) -> None:
        """Take an answer out again. What the remaining ones imply, in their order, holds then, conflicts included."""
        number = self._number.pop(answer_id, None)
        if number is None:
            raise InputError(f"there is no answer {answer_id!r} to take back")
        # An answer that changed nothing when it came leaves nothing behind. Otherwise the closure is rebuilt at the next
        # look at it, so that many removals in a row cost one rebuild.
        self._conflicts.pop(answer_id, None)
        self._stale = self._stale or number not in self._idle

    def why(self, u: int, v: int) -> list[str]:
        """Return the answers that the known relation of two items rests on, in the order of the path; [] if it is unknown."""
        relation = self.known(u, v)
        if relation is None or u == v:
            return []
        if relation == SAME:
            return self._path(u, v)
        first, second = self._set_of(u), self._set_of(v)
        link = self._apart[_pair(first, second)]
        near, far = self._u[link], self._v[link]
        if self._set[near] != first:
            near, far = far, near
        return [*self._path(u, near), self._id[link], *self._path(far, v)]

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict what came before them, in the order in which they came."""
        if self._stale:
            self._rebuild()
        return list(self._conflicts.values())

    def clusters(self, items: int) -> int:
        """Return the number of sets among `items` items: those that no answer touches are sets of their own."""
        if self._stale:
            self._rebuild()
        return items - self._merges

    def complete(self, items: int) -> bool:
        """Return whether every pair of `items` items is known: then `clusters` is the number of clusters."""
        sets = self.clusters(items)
        return len(self._apart) == sets * (sets - 1) // 2

    def groups(self) -> list[list[int]]:
        """Return the sets of two and more items, each sorted, in the order of their smallest item."""
        if self._stale:
            self._rebuild()
        names = [item for item, name in enumerate(self._set) if item == name and self._ring[item] != item]
        return sorted(sorted(self._items_of(name)) for name in names)

    def _set_of(self, item: int) -> int:
        return self._set[item] if item < len(self._set) else item

    def _take(self, u: int, v: int, value: float, answer_id: str) -> bool:
        if u >= len(self._set) or v >= len(self._set):
            self._reach(max(u, v))
        number = len(self._id)
        self._number[answer_id] = number
        self._id.append(answer_id)
        self._u.append(u)
        self._v.append(v)
        self._value.append(value)
        first, second = self._set[u], self._set[v]
        pair = _pair(first, second)
        if first == second or pair in self._apart:
            self._idle.add(number)
            if value == (SAME if first == second else DIFFERENT):
                return True
            self._conflicts[answer_id] = Conflict(answer_id, u, v, value, tuple(self.why(u, v)))
            return False
        if value == SAME:
            if self._weight[first] < self._weight[second]:
                self._join_trees(u, v, number)
                self._merge(second, first)
            else:
                self._join_trees(v, u, number)
                self._merge(first, second)
        else:
            self._apart[pair] = number
            self._chain(first, 2 * number)
            self._chain(second, 2 * number + 1)
        return True

    def _merge(self, heavy: int, light: int) -> None:
        """Put the lighter set into the heavier one."""
        self._merges += 1
        for item in self._items_of(light):
            self._set[item] = heavy
            self._weight[heavy] += 1
        self._ring[heavy], self._ring[light] = self._ring[light], self._ring[heavy]
        link = self._first_link[light]
        while link >= 0:
            following = self._next_link.pop(link, -1)
            other = self._set[self._u[link >> 1] if link & 1 else self._v[link >> 1]]
            answer = self._apart.pop(_pair(light, other), None)
            # None: a second link between the same two sets, which earlier mergers left in the chain.
            if answer is not None and self._apart.setdefault(_pair(heavy, other), answer) == answer:
                self._chain(heavy, link)
            link = following

    def _chain(self, name: int, link: int) -> None:
        head = self._first_link[name]
        if head >= 0:
            self._next_link[link] = head
        self._first_link[name] = link
        self._weight[name] += 1

    def _items_of(self, name: int) -> Iterator[int]:
        item = name
        while True:
            yield item
            item = self._ring[item]
            if item == name:
                return

    def _join_trees(self, u: int, v: int, number: int) -> None:
        """Hang the tree of u, which is turned so that u is its root, below v."""
        while u >= 0:
            following, answer = self._up[u], self._up_answer[u]
            self._up[u], self._up_answer[u] = v, number
            u, v, number = following, u, answer

    def _path(self, u: int, v: int) -> list[str]:
        """Return the answers on the way from u to v in the must-link forest."""
        steps = {u: 0}
        from_u: list[int] = []
        while self._up[u] >= 0:
            from_u.append(self._up_answer[u])
            u = self._up[u]
            steps[u] = len(from_u)
        from_v: list[int] = []
        while v not in steps:
            from_v.append(self._up_answer[v])
            v = self._up[v]
        return [self._id[number] for number in from_u[: steps[v]] + from_v[::-1]]

    def _reach(self, item: int) -> None:
        """Let the tables go up to an item; they double, so that this is rare."""
        have = len(self._set)
        more = max(item + 1, 2 * have) - have
        self._set.extend(range(have, have + more))
        self._ring.extend(range(have, have + more))
        self._weight.extend(array("q", [1]) * more)
        for table in (self._up, self._up_answer, self._first_link):
            table.extend(array("q", [-1]) * more)

    def _rebuild(self) -> None:
        remaining = [(self._u[number], self._v[number], self._value[number], name) for name, number in self._number.items()]
        self._clear()
        for u, v, value, answer_id in remaining:
            self._take(u, v, value, answer_id)


def _pair(first: int, second: int) -> int:
    """Return one number for two sets, whatever their order."""
    return first << _ITEM_BITS | second if first < second else second << _ITEM_BITS | first


def _check(u: int, v: int, value: float, answer_id: str) -> None:
    if value != SAME and value != DIFFERENT:
        raise InputError(f"answer {answer_id!r} has the value {value}: the closure takes only 1 (same) and 0 (different)")
    if not (0 <= u < 1 << _ITEM_BITS and 0 <= v < 1 << _ITEM_BITS):
        raise InputError(f"answer {answer_id!r} is about the items {u} and {v}: item numbers go from 0 to 2^{_ITEM_BITS} - 1")

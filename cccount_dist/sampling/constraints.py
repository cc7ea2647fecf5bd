"""The closure of what people said: sets of items that are the same, cannot-links between the sets, and what contradicts them.

Same is transitive, and one "different" holds between whole sets. Sets are merged small into large, so m answers take
O(m log m) time and O(m) memory; items that no answer touches cost nothing. Every known relation can name its answers.
"""

from dataclasses import dataclass

from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.errors import InputError


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
        self._answers: dict[str, tuple[int, int, float]] = {}  # in the order in which they came
        self._stale = False
        self._clear()

    def _clear(self) -> None:
        self._set: dict[int, int] = {}  # item -> its set, named after one of its items; absent: a set of its own
        self._members: dict[int, list[int]] = {}  # set -> items; absent: only the item that it is named after
        self._apart: dict[int, dict[int, str]] = {}  # set -> sets that differ from it, with the answer that says so
        self._up: dict[int, tuple[int, str]] = {}  # must-link forest: item -> next item on the way to the root, and the answer
        self._used: set[str] = set()  # answers that the closure rests on; the others agreed with it, or are conflicts
        self._conflicts: dict[str, Conflict] = {}
        self._merges = 0
        self._separations = 0  # pairs of sets that are known to differ

    def __len__(self) -> int:
        """Return how many answers are held, conflicts included."""
        return len(self._answers)

    def known(self, u: int, v: int) -> float | None:
        """Return 1.0 if the items are known to be the same, 0.0 if different, None if neither follows."""
        if self._stale:
            self._rebuild()
        first, second = self._set.get(u, u), self._set.get(v, v)
        if first == second:
            return SAME
        apart = self._apart.get(first)
        return DIFFERENT if apart is not None and second in apart else None

    def add(self, u: int, v: int, value: float, answer_id: str) -> bool:
        """Take an answer in; False if it contradicts what is known: it is then kept among the conflicts and not applied.

        The same answer again changes nothing.
        """
        if value not in (SAME, DIFFERENT):
            raise InputError(f"answer {answer_id!r} has the value {value}: the closure takes only 1 (same) and 0 (different)")
        before = self._answers.setdefault(answer_id, (u, v, value))
        if before != (u, v, value):
            raise InputError(f"answer {answer_id!r} was {before} before and is {(u, v, value)} now: remove it first")
        if self._stale:
            self._rebuild()
        elif answer_id not in self._used and answer_id not in self._conflicts:
            self._apply(u, v, value, answer_id)
        return answer_id not in self._conflicts

    def remove(self, answer_id: str) -> None:
        """Take an answer out again. What the remaining ones imply, in their order, holds then, conflicts included."""
        if self._answers.pop(answer_id, None) is None:
            raise InputError(f"there is no answer {answer_id!r} to take back")
        # An answer that changed nothing when it came leaves nothing behind. Otherwise the closure is rebuilt at the next
        # look at it, so that many removals in a row cost one rebuild.
        self._conflicts.pop(answer_id, None)
        self._stale = self._stale or answer_id in self._used

    def why(self, u: int, v: int) -> list[str]:
        """Return the answers that the known relation of two items rests on, in the order of the path; [] if it is unknown."""
        relation = self.known(u, v)
        if relation is None:
            return []
        if relation == SAME:
            return self._path(u, v)
        link = self._apart[self._set.get(u, u)][self._set.get(v, v)]
        near, far, _ = self._answers[link]
        if self._set.get(near, near) != self._set.get(u, u):
            near, far = far, near
        return [*self._path(u, near), link, *self._path(far, v)]

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
        return self._separations == sets * (sets - 1) // 2

    def groups(self) -> list[list[int]]:
        """Return the sets of two and more items, each sorted, in the order of their smallest item."""
        if self._stale:
            self._rebuild()
        return sorted(sorted(members) for members in self._members.values())

    def _apply(self, u: int, v: int, value: float, answer_id: str) -> None:
        first, second = self._set.get(u, u), self._set.get(v, v)
        if first == second:
            relation: float | None = SAME
        else:
            relation = DIFFERENT if second in self._apart.get(first, ()) else None
        if relation is None:
            self._used.add(answer_id)
            if value == SAME:
                self._link(u, v, answer_id)
                self._merge(first, second)
            else:
                self._apart.setdefault(first, {})[second] = answer_id
                self._apart.setdefault(second, {})[first] = answer_id
                self._separations += 1
        elif relation != value:
            self._conflicts[answer_id] = Conflict(answer_id, u, v, value, tuple(self.why(u, v)))

    def _merge(self, first: int, second: int) -> None:
        """Put the lighter set into the heavier one; its weight is what has to be moved: items and cannot-links."""
        if self._weight(first) < self._weight(second):
            first, second = second, first
        self._merges += 1
        moved = self._members.pop(second, [second])
        self._members.setdefault(first, [first]).extend(moved)
        for item in moved:
            self._set[item] = first
        links = self._apart.pop(second, None)
        if links:
            mine = self._apart.setdefault(first, {})
            for other, answer_id in links.items():
                theirs = self._apart[other]
                del theirs[second]
                if other in mine:
                    self._separations -= 1
                else:
                    mine[other] = theirs[first] = answer_id

    def _weight(self, name: int) -> int:
        return len(self._members.get(name, ())) + len(self._apart.get(name, ()))

    def _link(self, u: int, v: int, answer_id: str) -> None:
        """Join two trees of the must-link forest: the smaller one is turned so that its end of the link is its root."""
        if len(self._members.get(self._set.get(u, u), ())) > len(self._members.get(self._set.get(v, v), ())):
            u, v = v, u
        item: int | None = u
        above = (v, answer_id)
        while item is not None:
            following = self._up.get(item)
            self._up[item] = above
            if following is None:
                break
            item, above = following[0], (item, following[1])

    def _path(self, u: int, v: int) -> list[str]:
        """Return the answers on the way from u to v in the must-link forest."""
        to_root = self._ancestors(u)
        steps = {item: count for count, item in enumerate(to_root)}
        from_v: list[str] = []
        while v not in steps:
            v, answer_id = self._up[v]
            from_v.append(answer_id)
        return [self._up[item][1] for item in to_root[: steps[v]]] + from_v[::-1]

    def _ancestors(self, item: int) -> list[int]:
        way = [item]
        while (step := self._up.get(way[-1])) is not None:
            way.append(step[0])
        return way

    def _rebuild(self) -> None:
        self._stale = False
        self._clear()
        for answer_id, (u, v, value) in self._answers.items():
            self._apply(u, v, value, answer_id)

"""What people said about pairs of items, seen from the tests: known, unsure or open."""

from cccount_dist.sampling.constraints import Constraints

Pair = tuple[int, int]


def pair(u: int, v: int) -> Pair:
    return (u, v) if u < v else (v, u)


class Said:
    """The closure of the answers, the pairs that people were unsure about, and the open ones."""

    def __init__(self) -> None:
        self.closure = Constraints()
        self.unsure: set[Pair] = set()
        self.open: dict[Pair, int] = {}  # -> question
        self._values: dict[int, tuple[Pair, float | None]] = {}  # question -> pair and answer

    def take(self, question: int, items: Pair, value: float | None) -> bool:
        """Write an answer down. Return False if it changes an earlier one to the same question."""
        before = self._values.get(question)
        if before is None:
            self.open.pop(items, None)
        elif before[1] is None:
            self.unsure.discard(items)
        else:
            self.closure.remove(str(question))
        self._values[question] = items, value
        if value is None:
            self.unsure.add(items)
        else:
            self.closure.add(*items, value, str(question))
        return before is None

    def value(self, question: int) -> tuple[float | None] | None:
        """Return the answer to a question in a tuple, or None if there is none."""
        found = self._values.get(question)
        return None if found is None else (found[1],)

    def links(self) -> list[tuple[int, int, float]]:
        """Return the answers that hold: neither unsure nor against what came before them."""
        answers = ((*items, value) for items, value in self._values.values() if value is not None)
        return [(u, v, value) for u, v, value in answers if self.closure.known(u, v) == value]

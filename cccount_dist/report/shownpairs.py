"""Which judged pairs a report shows: spread over the whole campaign, a fair share of every answer, the same ones each time."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from cccount_dist.report.wording import thinned

MOST_PAIRS = 48


class Judged(Protocol):
    """Something with an answer: 1 same, 0 different, a rating in between, None unsure."""

    @property
    def value(self) -> float | None: ...


JudgedT = TypeVar("JudgedT", bound=Judged)


def choose_pairs(judged: Iterable[JudgedT], most: int = MOST_PAIRS) -> list[JudgedT]:
    """Return at most `most` of the judged pairs, in their order.

    Same, different and the rest (unsure, ratings) get equal shares; what a short one leaves goes to the others.
    """
    rows = list(judged)
    groups: list[list[int]] = [[], [], []]
    for place, row in enumerate(rows):
        groups[0 if row.value == 1.0 else 1 if row.value == 0.0 else 2].append(place)
    chosen = [group[i] for group, share in zip(groups, _shares([len(g) for g in groups], most), strict=True)
              for i in thinned(len(group), share)[:share]]  # fmt: skip
    return [rows[place] for place in sorted(chosen)]


def _shares(sizes: Sequence[int], most: int) -> list[int]:
    """Divide `most` evenly; the smallest first, so that what it cannot use is left for the larger ones.

    >>> _shares([1000, 5, 0], 48), _shares([1000, 1000, 1000], 48), _shares([2, 3, 1], 48)
    ([43, 5, 0], [16, 16, 16], [2, 3, 1])
    """
    shares = [0] * len(sizes)
    left = most
    by_size = sorted(range(len(sizes)), key=lambda group: sizes[group])
    for position, group in enumerate(by_size):
        shares[group] = min(sizes[group], left // (len(sizes) - position))
        left -= shares[group]
    return shares

"""How good a grouping is, measured and not hoped for: every number with an interval."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """An estimate and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quality:
    """What random pages say about a grouping. A measure is None until there are enough pages for an honest interval.

    right : share of the items that are in the right group
    precision, recall : of pairs: of those that are together, the share that belongs together; of those that belong together, the
        share that is together
    pages : the random pages that this rests on
    level : of the intervals
    least_sure : items, the least sure first
    doubtful : groups (numbers of the labels), the most doubtful first
    hour : by how much one more hour of a person is expected to raise `right`
    """

    right: Bounds | None
    precision: Bounds | None
    recall: Bounds | None
    pages: int
    level: float = 0.95
    least_sure: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    hour: float | None = None

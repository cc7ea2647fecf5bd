"""How good a grouping is and how many classes there are, as a row of `results/groupings.parquet` keeps it. Light to import."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from cccount_dist.campaign.noun import Noun

if TYPE_CHECKING:
    from cccount_dist.clustering.quality import Bounds
    from cccount_dist.clustering.result import Grouping


@dataclass(frozen=True, slots=True)
class QualityOutcome:
    """The share of items in the right group, and pairwise precision and recall, each with its interval (None: not known yet).

    random_pages : that this rests on
    hour : by how much one more hour of a person should raise `right`; None: not known
    least_sure, doubtful : items, and groups (numbers of the labels), to look at first
    """

    right: float
    low: float
    high: float
    precision: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None
    recall: float | None = None
    recall_low: float | None = None
    recall_high: float | None = None
    random_pages: int = 0
    hour: float | None = None
    least_sure: Sequence[int] = ()
    doubtful: Sequence[int] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self | None:
        """Return what a row of the course says; None before it can be honest, and for methods that do not measure it."""
        if row.get("right") is None:
            return None
        pairs = {f"{name}{end}": row.get(f"{name}{end}") for name in ("precision", "recall") for end in ("", "_low", "_high")}
        return cls(
            row["right"],
            row["right_low"],
            row["right_high"],
            **pairs,
            random_pages=row.get("random_pages") or 0,
            hour=row.get("hour"),
            least_sure=row.get("least_sure") or (),
            doubtful=row.get("doubtful") or (),
        )

    def words(self) -> str:
        """
        >>> QualityOutcome(0.93, 0.881, 0.957).words()
        'About 93 % of the items are in the right group (88 to 96 %).'
        """
        share, low, high = (f"{100 * value:.0f}" for value in (self.right, self.low, self.high))
        return f"About {share} % of the items are in the right group ({low} to {high} %)."


@dataclass(frozen=True, slots=True)
class CountBounds:
    """How many classes there are."""

    estimate: float
    low: float
    high: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self | None:
        estimate, low, high = (row.get(f"count{end}") for end in ("", "_low", "_high"))
        return None if estimate is None or low is None or high is None else cls(estimate, low, high)

    def words(self, noun: Noun) -> str:
        """
        >>> CountBounds(24.6, 23.8, 28.2).words(Noun("individual", "individuals"))
        'As a count: about 25 individuals (23 to 29).'
        """
        return f"As a count: {noun.about(self.estimate, self.low, self.high)}."


def measured_columns(result: "Grouping") -> dict[str, object]:
    """What a refresh keeps of a grouping's quality; nothing is said where nothing was measured."""
    found = result.quality
    columns: dict[str, object] = _ends("count", result.count)
    if found is None:
        return columns
    for name, bounds in (("right", found.right), ("precision", found.precision), ("recall", found.recall)):
        columns |= _ends(name, bounds)
    rest = {"random_pages": found.pages, "least_sure": found.least_sure, "doubtful": found.doubtful, "hour": found.hour}
    return columns | {name: list(value) if isinstance(value, tuple) else value for name, value in rest.items()}


def _ends(name: str, bounds: "Bounds | None") -> dict[str, object]:
    return {} if bounds is None else {name: bounds.value, f"{name}_low": bounds.low, f"{name}_high": bounds.high}

"""What a report says, as plain data: gathered by `flows/report.py`, put into words and pictures by the rest of this package.

Its size is bounded, whatever the collection and the campaign: some hundred estimates, some dozen pairs, a few failed images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from storage.settings import Goal, Settings


@dataclass(frozen=True, slots=True)
class Estimate:
    """One refresh of a count: what was known after so many answers."""

    questions: int
    estimate: float
    low: float
    high: float
    seen: float | None = None  # clusters seen: a lower bound that is certain if the answers are right


@dataclass(frozen=True, slots=True)
class Way:
    """One way to count from the same answers."""

    name: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """What an interval of some width takes in all, in answers."""

    width: float  # in parts of the estimate
    answers: int


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A picture as a data: address, or the reason why there is none."""

    item_id: str
    picture: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A question that was answered: 1 same, 0 different, a rating in between, None unsure."""

    question_id: int
    value: float | None
    first: Thumbnail
    second: Thumbnail


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """What was counted."""

    items: int
    failed: int  # items without a vector
    failed_examples: Sequence[tuple[str, str]]  # id and reason
    encoder: str | None
    dimensions: int | None
    truth: int | None  # number of different labels, if every counted item has one
    has_images: bool


@dataclass(frozen=True, slots=True)
class CountFacts:
    """Everything in one report of a count campaign."""

    campaign: str
    settings: Settings
    goal: Goal
    collection: CollectionFacts
    estimates: Sequence[Estimate]
    questions: int  # answers that somebody gave
    inferred: int  # answers that followed from others
    unsure: int
    contradictions: int
    pending: int
    exact: int | None  # the number of clusters, once the answers decide every pair
    annotators: Mapping[str, int]  # who gave how many answers
    pairs: Sequence[JudgedPair]
    seconds_per_pair: float
    version: str
    written_at: datetime
    glances: int = 0  # pages that somebody was shown
    seconds_per_page: float = 30.0
    sizes: Mapping[int, int] = field(default_factory=dict)  # items placed in a cluster -> clusters seen with so many
    ways: Sequence[Way] = ()  # other ways to count from the same answers
    warnings: Sequence[str] = ()
    forecast: Forecast | None = None

    @property
    def seconds(self) -> float:
        """What the answers took people, by the cost model."""
        return self.questions * self.seconds_per_pair + self.glances * self.seconds_per_page

    @property
    def last(self) -> Estimate | None:
        return self.estimates[-1] if self.estimates else None

"""What a report says, as plain data: gathered by each kind of campaign, put into words and pictures by the rest of this package.

Its size is bounded, whatever the collection and the campaign: some hundred estimates, some dozen pairs, a few failed images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cccount_dist.campaign.effort import Effort
from cccount_dist.campaign.noun import Noun, noun_of
from cccount_dist.campaign.sidewords import SideFigures
from cccount_dist.individuals.roster import Individual
from storage.epochs import Epoch
from storage.settings import Goal, Settings


@dataclass(frozen=True, slots=True)
class Estimate:
    """One refresh of a count: what was known after so many answers."""

    answers: int
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
class Seen:
    """The individuals of a campaign, as a report shows them."""

    shown: Sequence[tuple[Individual, Thumbnail]]
    total: int
    complete: bool  # False: those that a count saw
    sides: SideFigures | None = None
    catalogue: str = ""  # who was seen again, who is new, who is missing, in words


@dataclass(frozen=True, slots=True)
class CountFacts:
    """Everything in one report of a count campaign."""

    campaign: str
    settings: Settings
    goal: Goal
    collection: CollectionFacts
    estimates: Sequence[Estimate]
    effort: Effort
    unsure: int  # pairs, on pages too, about which nobody could tell
    contradictions: int
    pending: int
    exact: int | None  # the number of clusters, once the answers decide every pair
    pairs: Sequence[JudgedPair]
    version: str
    written_at: datetime
    sizes: Mapping[int, int] = field(default_factory=dict)  # items placed in a cluster -> clusters seen with so many
    ways: Sequence[Way] = ()  # other ways to count from the same answers
    warnings: Sequence[str] = ()
    forecast: Forecast | None = None
    epochs: Sequence[Epoch] = ()  # where other samplers took over
    price: float | None = None  # of a question; None: not told
    individuals: Seen | None = None  # of a count that places items

    @property
    def noun(self) -> Noun:
        return noun_of(self.goal)

    @property
    def last(self) -> Estimate | None:
        return self.estimates[-1] if self.estimates else None

"""What the report of a grouping says, as plain data: gathered by `kinds/cluster/report.py`, put into words by `grouppage.py`.

Its size is bounded, whatever the collection and the campaign: some hundred refreshes, a dozen groups with a few pictures each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cccount_dist.campaign.effort import Effort
from cccount_dist.campaign.noun import GROUP, Noun, noun_of
from cccount_dist.report.facts import CollectionFacts, JudgedPair, Seen, Thumbnail
from cccount_dist.report.qualitysection import QualityFacts
from cccount_dist.report.ratingsection import RatingFacts
from storage.epochs import Epoch
from storage.settings import Goal, Settings


@dataclass(frozen=True, slots=True)
class Refresh:
    """What was known after so many answers; agreement with the labels only where there are labels."""

    answers: int
    clusters: int
    entropy: float
    nmi: float | None
    ari: float | None
    expected_classes: float | None = None
    jcc: float | None = None
    rwcp: float | None = None


@dataclass(frozen=True, slots=True)
class Sheet:
    """Some pictures of one group."""

    cluster: int
    size: int
    pictures: Sequence[Thumbnail]


@dataclass(frozen=True, slots=True)
class NextPair:
    """A pair that would be asked next."""

    purpose: str
    first: Thumbnail
    second: Thumbnail


@dataclass(frozen=True, slots=True)
class GroupingFacts:
    """Everything in one report of a grouping campaign."""

    campaign: str
    settings: Settings
    goal: Goal
    collection: CollectionFacts
    course: Sequence[Refresh]
    sizes: Mapping[int, int]  # size of a group -> how many groups have it
    sheets: Sequence[Sheet]  # of the largest groups
    effort: Effort
    unsure: int
    contradictions: int  # in the closure
    against: Sequence[JudgedPair]  # answers that the groups go against: examples
    against_count: int
    pending: int
    next: Sequence[NextPair]
    warning: str | None
    version: str
    written_at: datetime
    ratings: RatingFacts | None = None  # of a campaign that asks for ratings
    epochs: Sequence[Epoch] = ()  # where other samplers took over
    quality: QualityFacts | None = None  # of a method that measures it
    price: float | None = None  # of a question; None: not told
    individuals: Seen | None = None

    @property
    def noun(self) -> Noun:
        """What a group is called. Where some are probably parts of others, they are groups, and not what the user counts."""
        parts = self.last is not None and self.last.expected_classes is not None
        return GROUP if parts else noun_of(self.goal, GROUP)

    @property
    def last(self) -> Refresh | None:
        return self.course[-1] if self.course else None

    @property
    def fission(self) -> float | None:
        """Groups for each class that the labels name: 1 is what it should be."""
        truth, last = self.collection.truth, self.last
        return None if truth is None or last is None else last.clusters / truth

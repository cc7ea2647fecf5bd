"""What the report of a grouping says, as plain data: gathered by `flows/groupreport.py`, put into words by `groups.py`.

Its size is bounded, whatever the collection and the campaign: some hundred refreshes, a dozen groups with a few pictures each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cccount_dist.report.facts import CollectionFacts, JudgedPair, Thumbnail
from cccount_dist.report.spectral import RatingFacts
from storage.settings import Goal, Settings


@dataclass(frozen=True, slots=True)
class Refresh:
    """What was known after so many answers; agreement with the labels only where there are labels."""

    questions: int
    clusters: int
    entropy: float
    nmi: float | None
    ari: float | None
    expected_classes: float | None = None


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
    questions: int
    inferred: int
    unsure: int
    contradictions: int  # in the closure
    against: Sequence[JudgedPair]  # answers that the groups go against: examples
    against_count: int
    pending: int
    next: Sequence[NextPair]
    annotators: Mapping[str, int]
    warning: str | None
    version: str
    written_at: datetime
    ratings: RatingFacts | None = None  # of a campaign that asks for ratings

    @property
    def last(self) -> Refresh | None:
        return self.course[-1] if self.course else None

    @property
    def fission(self) -> float | None:
        """Groups for each class that the labels name: 1 is what it should be."""
        truth, last = self.collection.truth, self.last
        return None if truth is None or last is None else last.clusters / truth

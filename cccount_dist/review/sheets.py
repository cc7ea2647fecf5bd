"""What goes over the desk: sheets to an annotator, receipts back, and facts about an item."""

from dataclasses import dataclass, field
from datetime import datetime

from cccount_dist.sampling.questions.same import SAME_QUESTION


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that is compared with the sheet's anchor, and the question that the answer is given to."""

    question_id: int
    item: int


@dataclass(frozen=True, slots=True)
class Sheet:
    """What one person is shown at once, and holds until `expires_at`."""

    id: str
    kind: str  # the name of the script's sheet that shows it
    anchor: int
    candidates: tuple[Candidate, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Rejection:
    """An answer that cannot be one, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of answers, by their ids: stored durably now, known from before, or rejected."""

    stored: list[str] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    rejected: list[Rejection] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer that was given and not taken back, and how it was shown."""

    answer_id: str
    question_id: int
    u: int
    v: int
    value: float | None
    answered_at: datetime
    page: int | None = None
    kind: str = SAME_QUESTION.sheet


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """Context for a reviewer. `uri` stays on the server."""

    id: str
    taken_at: datetime | None
    group: str | None
    uri: str | None

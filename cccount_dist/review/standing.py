"""Where a campaign stands: the progress page as plain data."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from cccount_dist.sampling.reading import Reading
from storage.campaigns import CampaignFolder


@dataclass(frozen=True, slots=True)
class AnnotatorStanding:
    """One person: how much, how fast, how reliable. A rate is None while nothing is known about it; intervals are 95 %."""

    name: str
    answers: int
    answers_per_hour: float | None
    miss: float | None
    miss_interval: tuple[float, float] | None
    false_same: float | None
    false_same_interval: tuple[float, float] | None
    suspect: bool = False  # errs clearly more often than the others


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree beyond chance: Cohen's kappa of two, Krippendorff's alpha of all."""

    alpha: float | None
    pairs: list[tuple[str, str, float | None, int]]  # two people, their kappa, and the questions that both answered


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A pair on which people, or what they imply, differ: how many say same, how many different."""

    u: int
    v: int
    same: int
    different: int


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress page."""

    campaign: str
    method: str
    kind: str
    state: str
    result: dict[str, Any] | None  # estimate, low, high, level; or clusters
    questions: int
    answers: int
    pending: int
    open_sheets: int
    overlap: int
    forecast_questions: int | None
    forecast_hours: float | None
    seconds_per_pair: float | None
    seconds_per_page: float | None
    annotators: list[AnnotatorStanding] = field(default_factory=list)
    agreement: Agreement = field(default_factory=lambda: Agreement(None, []))
    contradictions: list[Contradiction] = field(default_factory=list)
    refreshed_at: datetime | None = None


def standing_of(folder: CampaignFolder, reading: Reading, *, now: datetime) -> Standing:
    """Gather it. Reads the last row of the results; everything else is in memory."""
    settings, ledger = folder.settings(), reading.ledger
    pending = ledger.pending(reading.questions)
    return Standing(
        campaign=folder.name,
        method=settings.method,
        kind=settings.kind,
        state="running",
        result=None,
        questions=ledger.questions,
        answers=ledger.position,
        pending=len(pending),
        open_sheets=len(pending),
        overlap=ledger.overlap,
        forecast_questions=None,
        forecast_hours=None,
        seconds_per_pair=None,
        seconds_per_page=None,
        refreshed_at=now,
    )

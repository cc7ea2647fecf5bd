"""Where a campaign stands: the progress page as plain data.

What answers change is counted as they come; the result is the last row of `results/`, which `cccount advance` refreshes. Only the
rates of people take time, that of one Dawid-Skene estimate, and need no lock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from cccount_dist.review.activity import Activity
from cccount_dist.review.rates import Reliability
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.campaigns import RESULTS, CampaignFolder
from storage.settings import Goal

_MOST_CONTRADICTIONS = 100


@dataclass(frozen=True, slots=True)
class AnnotatorStanding:
    """One person: how much, how fast, how reliable. A rate is None while nothing is known about it; intervals are 95 %."""

    name: str
    answers: int
    answers_per_hour: float | None
    miss: float | None = None
    miss_interval: tuple[float, float] | None = None
    false_same: float | None = None
    false_same_interval: tuple[float, float] | None = None
    changed_mind: float | None = None  # share of repeats that were answered otherwise than before
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
    queue: int  # questions that want somebody now, more votes for doubtful ones included
    overlap: int
    budget: int
    target_width: float | None
    forecast_questions: int | None
    forecast_hours: float | None
    seconds_per_pair: float | None
    seconds_per_page: float | None
    annotators: list[AnnotatorStanding] = field(default_factory=list)
    agreement: Agreement = field(default_factory=lambda: Agreement(None, []))
    contradictions: list[Contradiction] = field(default_factory=list)
    refreshed_at: datetime | None = None  # the result
    now: datetime | None = None


def standing_of(folder: CampaignFolder, reading: Reading, activity: Activity, queue: int, now: datetime) -> Standing:
    """Gather what is quickly had: everything but how reliable people are. `queue`: questions that want somebody now."""
    settings, goal, ledger = folder.settings(), folder.goal(), reading.ledger
    spec, fields = RESULTS[settings.kind]
    last = folder.last_row(spec)
    forecast = None if last is None else last.get("forecast")
    pair, page = activity.seconds_per_pair, activity.seconds_per_page
    return Standing(
        campaign=folder.name,
        method=settings.method,
        kind=settings.kind,
        state=state_of(folder, last),
        result={name: last[name] for name in fields} if last else None,
        questions=ledger.questions,
        answers=ledger.position,
        pending=len(ledger.pending(reading.questions)),
        queue=queue,
        overlap=ledger.overlap,
        budget=goal.budget,
        target_width=goal.target_width,
        forecast_questions=forecast,
        forecast_hours=_hours(forecast, reading, goal, activity),
        seconds_per_pair=pair,
        seconds_per_page=page,
        annotators=[AnnotatorStanding(name, answers, rate) for name, answers, rate in activity.people],
        contradictions=_contradictions(reading),
        refreshed_at=None if last is None else last["refreshed_at"],
        now=now,
    )


def with_reliability(standing: Standing, found: Reliability) -> Standing:
    """The same with what is known about everybody."""
    people = []
    for person in standing.annotators:
        rates = found.people.get(person.name)
        steady = found.steadiness.get(person.name)
        people.append(
            replace(
                person,
                miss=None if rates is None else rates.miss.value,
                miss_interval=None if rates is None else rates.miss.interval,
                false_same=None if rates is None else rates.false_same.value,
                false_same_interval=None if rates is None else rates.false_same.interval,
                changed_mind=None if steady is None else steady.value,
                suspect=person.name in found.suspects,
            )
        )
    return replace(standing, annotators=people, agreement=Agreement(found.alpha, found.kappas))


def state_of(folder: CampaignFolder, last: Mapping[str, Any] | None) -> str:
    """The state that the last row of the results tells; a step that nobody is taking any more is `stopped`."""
    state = str(last["state"]) if last else "running"
    return "stopped" if state == "running" and not folder.is_being_advanced else state


def _hours(forecast: int | None, reading: Reading, goal: Goal, activity: Activity) -> float | None:
    """Hours of one person's work until the wanted width, at the speed and with the votes for each question of this campaign."""
    if forecast is None:
        return None
    ledger = reading.ledger
    done = ledger.questions + ledger.glances * goal.page_cost
    votes = max(1.0, reading.votes / max(1, ledger.questions + ledger.glances)) if ledger.overlap > 1 else 1.0
    pair = activity.seconds_per_pair
    if pair is None and activity.seconds_per_page is not None:
        pair = activity.seconds_per_page / goal.page_cost
    return max(0.0, forecast - done) * votes * (goal.pair_seconds if pair is None else pair) / 3600.0


def _contradictions(reading: Reading) -> list[Contradiction]:
    """The newest open ones: questions on which people differ, and answers that others contradict."""
    ledger, questions = reading.ledger, reading.questions
    pairs = {(questions[i].u, questions[i].v): i for i in ledger.disputed}
    for conflict in ledger.constraints.conflicts:
        row = ledger.row(conflict.answer_id)
        pairs[conflict.u, conflict.v] = -1 if row is None else row.question_id
    found = []
    for (u, v), question_id in list(pairs.items())[-_MOST_CONTRADICTIONS:]:
        values = [vote.value for vote in ledger.votes(question_id)]
        found.append(Contradiction(u, v, values.count(SAME), values.count(DIFFERENT)))
    return found

"""Where a campaign stands: the progress page as plain data.

What answers change is counted as they come; the result is the last row of `results/`, which `cccount advance` refreshes. Only the
rates of people take time, that of one Dawid-Skene estimate, and need no lock.
"""

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from cccount_dist.campaign.activity import Activity
from cccount_dist.campaign.advancing import kind_of, state_of
from cccount_dist.campaign.effort import Effort, effort_of
from cccount_dist.campaign.epochs import epoch_words
from cccount_dist.campaign.noun import CLUSTER, GROUP, noun_of
from cccount_dist.report.measured import QualityOutcome
from cccount_dist.review.outlook import outlook_of
from cccount_dist.review.rates import ENOUGH, Reliability
from cccount_dist.sampling.methods import methods_of
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.campaigns import CampaignFolder
from storage.settings import Goal

_MOST_CONTRADICTIONS = 100
_MOST_POINTS = 60
ENOUGH_REPEATS = 10  # repeats, from which on a rate is told


@dataclass(frozen=True, slots=True)
class AnnotatorStanding:
    """One person: how much, how fast, how reliable. Answers are pairs and pages (`campaign/effort.py`).

    A rate is None as long as there were too few checks to say anything; intervals are 95 %.
    """

    name: str
    answers: int
    answers_per_hour: float | None
    miss: float | None = None
    miss_interval: tuple[float, float] | None = None
    false_same: float | None = None
    false_same_interval: tuple[float, float] | None = None
    changed_mind: float | None = None  # share of repeats that were answered otherwise than before
    suspect: bool = False  # errs clearly more often than the others
    checks: int = 0  # answers that could be compared with gold or with those of others …
    miss_checks: int = 0  # … of them, those to pairs that are the same, which the rate of misses rests on …
    false_same_checks: int = 0  # … and those to pairs that are different
    repeats: int = 0  # pairs that were shown again to the same person


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
    said: list[tuple[str, float]] = field(default_factory=list)  # about this pair: who, and 1 same or 0 different
    against: list[tuple[int, int, float, str]] = field(default_factory=list)  # what implies the opposite: u, v, value, who


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """The result after so many answers."""

    answers: int
    value: float
    low: float | None = None
    high: float | None = None


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
    headline: str = ""  # the result in a few words, or that there is none yet
    epoch: str | None = None  # since when another sampler asks, and why
    noun: tuple[str, str] = ("cluster", "clusters")  # what is counted: one, many
    effort: Effort = field(default_factory=Effort)
    quality: QualityOutcome | None = None  # of groups, once it is known
    random_pages: int | None = None  # that measure it; None: the method does not
    given: int = 0  # answers of people, further votes included
    further: int = 0
    spent: float = 0.0  # of the budget
    expected: int | None = None  # answers in all, as far as budget and forecast tell
    course: list[CoursePoint] = field(default_factory=list)
    refreshed_at: datetime | None = None  # the result
    now: datetime | None = None


def standing_of(folder: CampaignFolder, reading: Reading, activity: Activity, queue: int, now: datetime) -> Standing:
    """Gather what is quickly had: everything but how reliable people are. `queue`: questions that want somebody now."""
    settings, goal, ledger = folder.settings(), folder.goal(), reading.ledger
    kind = kind_of(folder)
    last = folder.last_row(kind.course)
    forecast = None if last is None else last.get("forecast")
    pair, page = activity.seconds_per_pair, activity.seconds_per_page
    effort, noun = effort_of(ledger, costs=activity.costs(goal)), noun_of(goal, GROUP if "clusters" in kind.shown else CLUSTER)
    method = methods_of(settings.kind).get(settings.method)
    return Standing(
        campaign=folder.name,
        method=settings.method,
        kind=settings.kind,
        state=state_of(folder, last),
        result={name: last[name] for name in kind.shown} if last else None,
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
        annotators=[AnnotatorStanding(p.name, p.answers, activity.answers_per_hour(p.name)) for p in effort.people],
        contradictions=_contradictions(reading),
        headline=kind.nothing_yet if last is None else kind.found(last, goal),
        epoch=epoch_words(folder.epochs()),
        noun=(noun.one, noun.many),
        effort=effort,
        quality=QualityOutcome.of(last or {}),
        random_pages=(last or {}).get("random_pages") or 0 if method is not None and method.measures else None,
        given=effort.given,
        further=effort.further,
        spent=effort.spent(goal),
        expected=outlook_of(folder, reading).expected,
        course=_course(folder),
        refreshed_at=None if last is None else last["refreshed_at"],
        now=now,
    )


def with_reliability(standing: Standing, found: Reliability) -> Standing:
    """The same with what is known about everybody; nothing is said about somebody before there were enough checks."""
    people = []
    for person in standing.annotators:
        checks, rates = found.checks.get(person.name, 0), found.people.get(person.name)
        known = rates if checks >= ENOUGH else None
        miss = None if known is None or known.miss.trials < ENOUGH else known.miss
        false_same = None if known is None or known.false_same.trials < ENOUGH else known.false_same
        steady = found.steadiness.get(person.name)
        repeats = 0 if steady is None else round(steady.trials)
        people.append(
            replace(
                person,
                miss=None if miss is None else miss.value,
                miss_interval=None if miss is None else miss.interval,
                false_same=None if false_same is None else false_same.value,
                false_same_interval=None if false_same is None else false_same.interval,
                changed_mind=None if steady is None or repeats < ENOUGH_REPEATS else steady.value,
                suspect=person.name in found.suspects and checks >= ENOUGH,
                checks=checks,
                miss_checks=0 if rates is None else min(checks, round(rates.miss.trials)),
                false_same_checks=0 if rates is None else min(checks, round(rates.false_same.trials)),
                repeats=repeats,
            )
        )
    return replace(standing, annotators=people, agreement=Agreement(found.alpha, found.kappas))


def _course(folder: CampaignFolder) -> list[CoursePoint]:
    """The result over the answers: an estimate with its interval, or a number of groups; some dozen points."""
    table = folder.read_table(kind_of(folder).course)
    found: dict[int, CoursePoint] = {}
    value = next((name for name in ("estimate", "clusters", "subclusters") if name in table.column_names), None)
    for row in table.to_pylist() if value is not None else ():
        if row[value] is not None:
            answers = row["questions"] + (row.get("glances") or 0)
            found.pop(answers, None)  # so that the order stays that of the refreshes
            found[answers] = CoursePoint(answers, row[value], row.get("low"), row.get("high"))
    points = list(found.values())
    step = max(1, math.ceil(len(points) / _MOST_POINTS))
    return points[:-1:step] + points[-1:]


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
    against = {}
    for conflict in ledger.conflicts:
        row = ledger.row(conflict.answer_id)
        pairs[conflict.u, conflict.v] = -1 if row is None else row.question_id
        rows = [ledger.row(one) for one in conflict.against]
        against[conflict.u, conflict.v] = [(r.u, r.v, float(r.value or 0.0), r.annotator) for r in rows if r is not None]
    found = []
    for (u, v), question_id in list(pairs.items())[-_MOST_CONTRADICTIONS:]:
        said = [(vote.annotator, vote.value) for vote in ledger.votes(question_id) if vote.value in (SAME, DIFFERENT)]
        values = [value for _, value in said]
        told = [(who, float(value)) for who, value in said if value is not None]
        found.append(Contradiction(u, v, values.count(SAME), values.count(DIFFERENT), told, against.get((u, v), [])))
    return found

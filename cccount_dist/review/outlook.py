"""What somebody at the page wants to know beside the pictures: how far it is; if there is nothing to answer, why and how long.

Cheap: how far it is costs the last row of the results; why there is nothing costs the questions, and is asked only then.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cccount_dist.campaign.advancing import kind_of, state_of
from cccount_dist.campaign.noun import noun_of
from cccount_dist.sampling.reading import Reading
from storage.campaigns import CampaignFolder
from storage.handouts import Handout
from storage.settings import Goal


@dataclass(frozen=True, slots=True)
class Outlook:
    """How far a campaign is, for one person."""

    answers: int  # pairs and pages that are answered, by everybody
    expected: int | None  # in all, as far as budget and forecast tell; None when nothing more is asked
    state: str
    why: str | None = None  # there is nothing to answer: the reason
    seconds: float | None = None  # and for how long at most, where that is known


def outlook_of(folder: CampaignFolder, reading: Reading) -> Outlook:
    """How far the campaign is."""
    ledger, last = reading.ledger, folder.last_row(kind_of(folder).course)
    state, goal = state_of(folder, last), folder.goal()
    forecast = None if last is None else last.get("forecast")
    over = state in ("done", "stopped") and not ledger.pending(reading.questions)
    first = goal.page_cost if reading.page_size > 1 else 1.0
    expected = None if over else expected_answers(ledger.questions, ledger.glances, goal, forecast, first=first)
    return Outlook(ledger.questions + ledger.glances, expected, state)


def expected_answers(pairs: int, pages: int, goal: Goal, forecast: int | None, *, first: float = 1.0) -> int:
    """Pairs and pages in all, if those to come are like those that were; `first`: what one takes of the budget before any was.

    >>> expected_answers(23, 0, Goal(400, "people"), 300), expected_answers(0, 10, Goal(100, "people"), None)
    (300, 30)
    """
    done, spent = pairs + pages, pairs + pages * goal.page_cost
    total = goal.budget if forecast is None else min(goal.budget, forecast)
    each = spent / done if done else first
    return done + math.ceil(max(0.0, total - spent) / each)


def why_nothing(
    folder: CampaignFolder, reading: Reading, held: Iterable[Handout], annotator: str, state: str, now: datetime
) -> tuple[str, float | None]:
    """Say why there is nothing to answer for this person, and for how many seconds at most, where that is known."""
    ledger, goal = reading.ledger, folder.goal()
    noun = noun_of(goal)
    pending = ledger.pending(reading.questions)
    if not pending:
        spent = ledger.questions + ledger.glances * goal.page_cost
        if state == "done":
            return f"This campaign is done: no more questions about {noun.many}. Thank you.", None
        if spent >= goal.budget:
            return f"The budget of {goal.budget:,} answer{'' if goal.budget == 1 else 's'} is used up. Thank you.", None
        if state == "stopped":
            return "Nobody advances this campaign just now. Whoever runs it starts `cccount advance`; then it goes on here.", None
        return "The next questions are being chosen from the answers so far. New ones appear here by themselves.", None
    open_ = {question.id for question in pending}
    mine = {i for i in open_ if any(vote.annotator == annotator for vote in ledger.votes(i))}
    if mine == open_:
        return f"You have answered all {len(open_):,} open questions: now other people's answers to them are wanted.", None
    others = [sheet for sheet in held if sheet.annotator != annotator and any(c[0] in open_ for c in sheet.candidates)]
    with_others = {c[0] for sheet in others for c in sheet.candidates if c[0] in open_}
    if with_others:
        names = len({sheet.annotator for sheet in others})
        who = "another person has" if names == 1 else f"{names:,} other people have"
        what = "it" if len(open_) == 1 else "them"
        wait = max(0.0, min(sheet.expires for sheet in others) - now.timestamp())
        count = "The only open question is" if len(open_) == 1 else f"The {len(open_):,} open questions are"
        return (
            f"{count} taken: {who} {what} on the screen. What they leave comes to you. New ones appear here by themselves.",
            wait,
        )
    return "Questions are open, and are being fetched.", None


__all__ = ["Outlook", "expected_answers", "outlook_of", "why_nothing"]

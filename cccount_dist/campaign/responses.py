"""From what somebody says to rows of the answer log: answers, flags, and taking either back. What cannot be a row is named.

Nothing is stored here: `campaign.py` does that, for everybody. Time: the answer; for a flag the questions that are open.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from unicodedata import category

from cccount_dist.sampling.ledger import FLAG, OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import Question
from storage.errors import InputError

LONGEST_NAME = 128  # of an annotator, in characters
_LONGEST_ID = 300
_LONGEST_REASON = 200
_MOST_SECONDS = 366 * 24 * 3600.0  # a year; much more would not fit into the log, which has 32 bits for it
_MOST_CLICKS = 10_000
_REPLACES = "/replaces"  # behind the id of a vote: the id of what takes the person's earlier one back


def new_id() -> str:
    """Return an id that nobody else makes."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Response:
    """What somebody answered: 1 same, 0 different, another kind's number in [0, 1], or None for unsure.

    Whoever answers makes the id, so that a retry after a lost connection is recognised and counts once.
    """

    question_id: int
    value: float | None
    annotator: str = "anonymous"
    seconds: float = 0.0
    id: str = field(default_factory=new_id)
    undoes: str | None = None
    clicks: int | None = None  # that the cell of a sheet took; None: not counted


def answer_row(
    response: Response, questions: Sequence[Question], campaign: str, *, source: str = "people", at: int | None = None
) -> LoggedAnswer:
    """Return the row of the log that a response makes; `InputError` if it cannot be an answer to its question."""
    if not 0 <= response.question_id < len(questions):
        raise InputError(f"campaign {campaign!r} has no question {response.question_id}: it has {len(questions)}")
    question = questions[response.question_id]
    check_response(response)
    question_kind(question.kind).check(response.value, question.id)
    return LoggedAnswer(
        response.id,
        question.id,
        question.u,
        question.v,
        response.value,
        source,
        response.annotator,
        response.undoes,
        question.page,
        response.seconds,
        at,
        response.clicks,
    )


def flag_rows(
    item: int, reason: str, waiting: Iterable[Question], *, annotator: str, flag_id: str, at: int | None
) -> list[LoggedAnswer]:
    """Return the row that says that an item's picture is of no use, and an unsure answer to each question that waits about it."""
    said = f"{FLAG}: {' '.join(reason.split())[:_LONGEST_REASON]}".rstrip(": ")
    about = [q for q in waiting if item in (q.u, q.v)]
    return [
        LoggedAnswer(flag_id, OUTSIDE, item, item, None, said, annotator, at=at),
        *(LoggedAnswer(answered_by(flag_id, q), q.id, q.u, q.v, None, FLAG, annotator, page=q.page, at=at) for q in about),
    ]


def answered_by(flag_id: str, question: Question) -> str:
    """Return the id of the answer that a flag gives to a question."""
    return f"{flag_id}/{question.id}"


def undo_rows(rows: Iterable[LoggedAnswer], undo_id: str) -> list[LoggedAnswer]:
    """Return the rows that take these back; the first of them has the id."""
    return [
        LoggedAnswer(
            undo_id if number == 0 else f"{undo_id}/{number}",
            row.question_id,
            row.u,
            row.v,
            None,
            row.source,
            row.annotator,
            row.id,
            row.page,
        )
        for number, row in enumerate(rows)
    ]


def one_vote_each(rows: Iterable[LoggedAnswer], ledger: Ledger) -> list[LoggedAnswer]:
    """Let everybody have one vote on a question: what somebody said before is taken back behind what they say now.

    The same again is left out: it says nothing new. In this order (vote, undo) no question is without an answer in between.
    Ids that the ledger knows must not be among the rows. Time: the rows.
    """
    kept: list[LoggedAnswer] = []
    said: dict[tuple[int, str], LoggedAnswer | None] = {}
    for row in rows:
        key = (row.question_id, row.annotator)
        before = said[key] if key in said else ledger.standing(*key)
        if row.undoes is not None:
            if before is not None and before.id == row.undoes:
                said[key] = None
            kept.append(row)
        elif before is None:
            said[key] = row
            kept.append(row)
        elif before.value != row.value:
            said[key] = row
            kept += replacing(row, before)
    return kept


def replacing(row: LoggedAnswer, before: LoggedAnswer) -> list[LoggedAnswer]:
    """Return the rows by which a vote takes the place of an earlier one of the same person."""
    return [row, *undo_rows([before], f"{row.id}{_REPLACES}")]


def is_replacing(row: LoggedAnswer) -> bool:
    """Whether the row was made beside a vote, to take the earlier one back."""
    return row.undoes is not None and row.id.endswith(_REPLACES)


def check_response(response: Response) -> None:
    """Raise `InputError` for what can be an answer to no question at all."""
    if not (response.id and 0.0 <= response.seconds <= _MOST_SECONDS):
        raise InputError(f"an answer needs an id, and seconds of 0 or more, less than a year, not {response.seconds}")
    if response.clicks is not None and not 0 <= response.clicks <= _MOST_CLICKS:
        raise InputError(f"the clicks of an answer are 0 to {_MOST_CLICKS:,}, not {response.clicks}")
    _check_text(response.id, "an answer's id", _LONGEST_ID)
    _check_text(response.undoes or "", "an answer's id", _LONGEST_ID)
    _check_text(response.annotator, "an annotator's name", LONGEST_NAME)


def check_annotator(name: str) -> None:
    if not name.strip():
        raise InputError("an annotator needs a name")
    _check_text(name, "an annotator's name", LONGEST_NAME)


def _check_text(text: str, what: str, longest: int) -> None:
    """Raise `InputError` for what no log, page or table could show: control characters, halves of characters, no end."""
    if len(text) > longest:
        raise InputError(f"{what} has at most {longest} characters, not {len(text):,}: {text[:40]!r}…")
    wrong = "" if text.isascii() and text.isprintable() else next((one for one in text if category(one) in ("Cc", "Cs")), "")
    if wrong:
        raise InputError(f"{what} has a character that cannot be stored, {wrong!r}: {text[:40]!r}")

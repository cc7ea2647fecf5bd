"""Between rows of the query log and the objects that samplers and ledgers work with."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby

import pyarrow as pa

from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.replay import Round
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, CorruptionError, InputError
from storage.problems import Problem
from storage.schema import ANSWERS, QUESTIONS

_REPAIR = "use the version of cccount, or load the plug-in, that asked it"


def questions_table(questions: Sequence[Question], *, number: int, after: int) -> pa.Table:
    """Rows of `questions/` for one call of ask()."""
    now = datetime.now(UTC)
    columns = {
        "question_id": [q.id for q in questions],
        "u": [q.u for q in questions],
        "v": [q.v for q in questions],
        "kind": [q.kind for q in questions],
        "purpose": [q.purpose for q in questions],
        "round": [number] * len(questions),
        "page": [q.page for q in questions],
        "asked_at": [now] * len(questions),
        "after": [after] * len(questions),
    }
    return QUESTIONS.table(columns)


def rounds_of(table: pa.Table) -> list[Round]:
    """The calls of ask() that wrote these rows of `questions/`."""
    rows = zip(*(table.column(name).to_pylist() for name in ("round", "after")), questions_of(table), strict=True)
    rounds = []
    for (number, after), group in groupby(rows, key=lambda row: (row[0], row[1])):
        rounds.append(Round(number=number, after=after, questions=[row[2] for row in group]))
    return rounds


def questions_of(table: pa.Table) -> list[Question]:
    """The questions of these rows; `CorruptionError` that names a kind of question that nobody here knows."""
    names = ("question_id", "u", "v", "kind", "purpose", "page")
    columns = [table.column(name).to_pylist() for name in names]
    if (problem := _unknown_kind(columns[0], columns[3])) is not None:
        raise CorruptionError(f"{problem}: {_REPAIR}")
    return [Question(*row) for row in zip(*columns, strict=True)]


def answers_table(answers: Sequence[LoggedAnswer]) -> pa.Table:
    """Rows of `answers/`; those without a time are stamped with the present one."""
    now = microseconds(datetime.now(UTC))
    columns = {
        "answer_id": [a.id for a in answers],
        "question_id": [a.question_id for a in answers],
        "u": [a.u for a in answers],
        "v": [a.v for a in answers],
        "value": [a.value for a in answers],
        "page": [a.page for a in answers],
        "annotator": [a.annotator for a in answers],
        "answered_at": [now if a.at is None else a.at for a in answers],
        "seconds": [a.seconds for a in answers],
        "source": [a.source for a in answers],
        "undoes": [a.undoes for a in answers],
        "clicks": [a.clicks for a in answers],
    }
    return ANSWERS.table(columns)


def answers_of(table: pa.Table) -> list[LoggedAnswer]:
    names = ("answer_id", "question_id", "u", "v", "value", "source", "annotator", "undoes", "page", "seconds")
    columns = [table.column(name).to_pylist() for name in names]
    # Whole numbers: a million Python datetimes would take longer than all the rest.
    columns += [table.column("answered_at").cast(pa.int64()).to_pylist(), table.column("clicks").to_pylist()]
    return [LoggedAnswer(*row) for row in zip(*columns, strict=True)]


def microseconds(moment: datetime) -> int:
    """Return a moment as the log keeps it.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, 5, UTC))
    1000005
    """
    return (moment - _EPOCH) // timedelta(microseconds=1)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def kind_problems(folder: CampaignFolder) -> Iterator[Problem]:
    """Say whether a campaign's log has a kind of question that nobody here knows; nothing is raised."""
    try:
        table = folder.log.questions()
    except CccountError:  # parts that cannot be read are the log's own to report
        return
    if (problem := _unknown_kind(*(table.column(name).to_pylist() for name in ("question_id", "kind")))) is not None:
        yield Problem(f"{folder.workspace.location}/{folder.prefix}/questions", problem, _REPAIR)


def _unknown_kind(numbers: Sequence[int], kinds: Sequence[str]) -> str | None:
    """What is wrong with the first question of a kind that nobody here knows; None if there is none."""
    for kind in dict.fromkeys(kinds):
        try:
            question_kind(kind)
        except InputError as error:
            return f"question {numbers[kinds.index(kind)]} of the log cannot be read: {error}"
    return None

"""Questions out to a file, answers back in: csv, parquet or json by the file's ending, or Label Studio's tasks.

The exported file lists every answer of the campaign and, with an empty value, every question that waits for one. Fill in the
values and import the same file: rows that the campaign knows already are recognised, so importing twice changes nothing. A row
that cannot be an answer, or is one to another pair, is named with its line; the others are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.sampling.ledger import CLOSED, INFERRED, LoggedAnswer, is_check, is_flag
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import Question
from cccount_dist.taken import require_for
from flows.exchange.answerfiles import Row, check_ending, read_rows, require_absent, rows_written, write_rows
from flows.exchange.cells import number, said, text, whole
from flows.exchange.labelstudio import ANNOTATION, answers_of_task, is_task, write_tasks
from flows.exchange.origin import Origin, campaign_of
from flows.exchange.outcomes import Exported, Imported, Rejected
from storage.errors import InputError
from storage.workspace import Workspace

NUMBERS = ("question_id", "u", "v")
COLUMNS = (
    "question_id",
    "id_u",
    "id_v",
    "uri_u",
    "uri_v",
    "kind",
    "value",
    "annotator",
    "seconds",
    "clicks",
    "answer_id",
    "source",
    "u",
    "v",
    "answered_at",
    "campaign",
    "workspace",
)
OF_PACKS = ("undoes", "flag_item", "id_item", "reason")
SCHEMA = pa.schema([(name, pa.int64() if name in NUMBERS else pa.string()) for name in COLUMNS])
EXPECTED = "question_id and value (same, different, unsure; a rating: a number from 0 to 1)"
FORMATS = ("by ending", "label-studio")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export_answers(workspace: str, campaign: str, file: str, form: str = FORMATS[0], *, overwrite: bool = False) -> Exported:
    """Write every answer, each person's where several gave one, and every open question with an empty value.

    For Label Studio, the open questions alone. A file that is there is kept, unless `overwrite`: people may have filled it in.
    """
    if form not in FORMATS:
        raise InputError(f"--format takes {' or '.join(FORMATS)}, not {form!r}")
    path = Path(file)
    if form == FORMATS[0]:
        check_ending(path)
    if not overwrite:
        require_absent(path)
    require_for("answers export", Workspace.open(workspace), campaign)
    opened = Campaign.open(workspace, campaign)
    origin = Origin(Workspace.open(workspace), campaign)
    questions, ledger = opened.questions, opened.ledger
    waiting = ledger.pending(questions)
    exported = Exported(file=file, questions=len(questions), answered=len(questions) - len(waiting), pending=len(waiting))
    if form != FORMATS[0]:
        return replace(exported, config=write_tasks(path, waiting, origin, overwrite=overwrite))
    rows = []
    for question in questions:
        answers: list[LoggedAnswer | None] = [*ledger.answers(question.id)]
        if not ledger.is_answered(question.id):
            answers.append(None)
        rows += [_row(question, answer, origin) for answer in answers]
    write_rows(path, rows, SCHEMA, overwrite=overwrite)
    return exported


def _row(question: Question, answer: LoggedAnswer | None, origin: Origin) -> Row:
    row = {
        "question_id": question.id,
        "uri_u": origin.collection.uri(question.u),
        "uri_v": origin.collection.uri(question.v),
        "kind": question.kind,
        "value": question_kind(question.kind).write(answer.value) if answer else "",
        "annotator": answer.annotator if answer else "",
        "seconds": str(answer.seconds) if answer and answer.seconds else "",
        "clicks": str(answer.clicks) if answer and answer.clicks is not None else "",
        "answer_id": answer.id if answer else "",
        "source": answer.source if answer else "",
        "answered_at": (_EPOCH + timedelta(microseconds=answer.at)).isoformat() if answer and answer.at is not None else "",
        **origin.told(question),
    }
    return {name: row[name] for name in COLUMNS}


@dataclass(slots=True)
class _Sorted:
    """The rows of a file, by what they are."""

    responses: list[tuple[int, Response]] = field(default_factory=list)
    flags: list[tuple[int, Row]] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)
    ours: int = 0  # what cccount said itself, or knows of people: nothing to bring in


def import_answers(workspace: str, campaign: str | None, file: str) -> Imported:
    """Read answers. What cannot be one is listed under `rejected` with its line; everything else is recorded.

    `campaign` is needed for a file that names none; one that disagrees with the file is refused.
    """
    opened = Workspace.open(workspace)
    require_for("answers import", opened, campaign, more_answers=rows_written(Path(file)))
    rows, rejected = _rows(Path(file))
    origin = Origin(opened, campaign_of([row for _, row in rows], campaign, opened.campaigns(), file))
    asked = Campaign.open(workspace, origin.campaign)
    found = _Sorted(rejected=rejected)
    questions = asked.questions
    for line, row in rows:
        try:
            _sort(found, line, row, origin, questions)
        except InputError as error:
            found.rejected.append((line, str(error)))
    if not (found.responses or found.flags or found.rejected or found.ours):
        raise InputError(f"{file}: none of its {len(rows):,} rows has a value: expected {EXPECTED}")
    refused = asked.refused([response for _, response in found.responses])
    found.rejected += [(found.responses[place][0], reason) for place, reason in refused.items()]
    kept = [response for place, (_, response) in enumerate(found.responses) if place not in refused]
    recorded = asked.tell(kept, source="file") + _flag(asked, found, origin)
    return Imported(
        file=file,
        campaign=origin.campaign,
        answers=len(kept),
        recorded=recorded,
        rejected=[Rejected(*row) for row in sorted(found.rejected)],
    )


def _rows(path: Path) -> tuple[list[tuple[int, Row]], list[tuple[int, str]]]:
    """The rows of the file, and what is none; a task of Label Studio is as many as it has annotations."""
    given = read_rows(path, (*COLUMNS, *OF_PACKS))
    if not any(is_task(row) for _, row in given.rows):
        given.require(EXPECTED, "question_id", "flag_item")
        given.require(EXPECTED, "value", "undoes", "flag_item")
    rows: list[tuple[int, Row]] = []
    for line, row in given.rows:
        if not is_task(row):
            rows.append((line, row))
            continue
        for answer in answers_of_task(row):
            if isinstance(answer, InputError):
                given.rejected.append((line, str(answer)))
            else:
                rows.append((line, answer))
    return rows, given.rejected


def _sort(found: _Sorted, line: int, row: Row, origin: Origin, questions: Sequence[Question]) -> None:
    origin.check(row)
    if text(row.get("flag_item"), "flag_item"):
        found.flags.append((line, row))
        return
    value, undoes, source = (
        said(row.get("value")),
        text(row.get("undoes"), "undoes", exact=True),
        text(row.get("source"), "source"),
    )
    if not (value or undoes):
        return
    if source in (INFERRED, CLOSED) or is_check(source) or is_flag(source):
        found.ours += 1
        return
    question_id = whole(row.get("question_id"), "question_id")
    if not 0 <= question_id < len(questions):
        raise InputError(f"campaign {origin.campaign!r} has no question {question_id}: it has {len(questions)}")
    question = questions[question_id]
    origin.check_pair(row, question)
    found.responses.append((line, _response(row, question, value, undoes, origin.campaign)))


def _response(row: Row, question: Question, value: str, undoes: str, campaign: str) -> Response:
    annotator = text(row.get("annotator"), "annotator") or "file"
    own = text(row.get("answer_id"), "answer_id", exact=True)
    if ANNOTATION in row:
        own = f"label-studio-{campaign}-{question.id}-{row[ANNOTATION]}"
    if undoes:
        return Response(question.id, None, annotator, 0.0, own or f"undo-{undoes}", undoes)
    seconds = number(row.get("seconds"), "seconds")
    clicks = whole(row.get("clicks"), "clicks") if text(row.get("clicks"), "clicks") else None
    # Without an id of its own, what was said by whom to which question is the id: the same file again changes nothing.
    own = own or f"file-{question.id}-{annotator}-{value}"
    return Response(question.id, question_kind(question.kind).read(value), annotator, seconds, own, clicks=clicks)


def _flag(asked: Campaign, found: _Sorted, origin: Origin) -> int:
    """Record the pictures that an offline pack says are of no use, or are after all, and return how many rows are new."""
    recorded = 0
    for line, row in found.flags:
        try:
            recorded += _flagged(asked, row, origin)
        except InputError as error:
            found.rejected.append((line, str(error)))
    return recorded


def _flagged(asked: Campaign, row: Row, origin: Origin) -> bool:
    item, own = whole(row["flag_item"], "flag_item"), text(row.get("answer_id"), "answer_id", exact=True)
    if not own:
        raise InputError("a flag needs an answer_id")
    if 0 <= item < origin.collection.items:
        origin.check_item(row, "flag_item", "id_item", item, f"item {item}")
    who = text(row.get("annotator"), "annotator") or "file"
    if undoes := text(row.get("undoes"), "undoes", exact=True):
        return asked.unflag(undoes, annotator=who, id=own)
    return asked.flag(item, text(row.get("reason"), "reason"), annotator=who, id=own)

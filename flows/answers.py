"""Questions out to a file, answers back in: csv, parquet or json by the file's ending, or Label Studio's tasks.

The exported file lists every answer of the campaign and, with an empty value, every question that waits for one. Fill in the
values and import the same file: rows that the campaign knows already are recognised, so importing twice changes nothing. A row
that cannot be an answer is named with its line; the others are kept.
"""

import math
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cccount_dist.campaign import Campaign, Response
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.ledger import INFERRED, LoggedAnswer, is_check, is_flag
from cccount_dist.sampling.types import Question
from flows.answerfiles import Row, check_ending, read_rows, write_rows
from flows.labelstudio import answers_of_task, is_task, write_tasks
from storage.collection import Collection
from storage.errors import InputError
from storage.workspace import Workspace

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
    "answer_id",
    "source",
    "u",
    "v",
    "answered_at",
)
WORDS = {"same": 1.0, "yes": 1.0, "different": 0.0, "no": 0.0, "unsure": None}
FORMATS = ("by ending", "label-studio")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export_answers(workspace: str, campaign: str, file: str, form: str = FORMATS[0]) -> dict[str, Any]:
    """Write every answer, each person's where several gave one, and every open question with an empty value.

    For Label Studio, the open questions alone.
    """
    if form not in FORMATS:
        raise InputError(f"--format takes {' or '.join(FORMATS)}, not {form!r}")
    path = Path(file)
    if form == FORMATS[0]:
        check_ending(path)
    opened = Campaign.open(workspace, campaign)
    collection = Workspace.open(workspace).collection()
    questions, ledger = opened.questions, opened.ledger
    waiting = ledger.pending(questions)
    counts = {"questions": len(questions), "answered": len(questions) - len(waiting), "pending": len(waiting)}
    if form != FORMATS[0]:
        return {"file": file, **counts, "config": write_tasks(path, waiting, collection, campaign)}
    rows = []
    for question in questions:
        answers: list[LoggedAnswer | None] = [*ledger.answers(question.id)]
        if not ledger.is_answered(question.id):
            answers.append(None)
        rows += [_row(question, answer, collection) for answer in answers]
    write_rows(path, rows, COLUMNS)
    return {"file": file, **counts}


def _row(question: Question, answer: LoggedAnswer | None, collection: Collection) -> Row:
    return {
        "question_id": question.id,
        "id_u": collection.ids[question.u],
        "id_v": collection.ids[question.v],
        "uri_u": collection.uri(question.u),
        "uri_v": collection.uri(question.v),
        "kind": question.kind,
        "value": _word(answer.value, question.kind) if answer else "",
        "annotator": answer.annotator if answer else "",
        "seconds": str(answer.seconds) if answer and answer.seconds else "",
        "answer_id": answer.id if answer else "",
        "source": answer.source if answer else "",
        "u": question.u,
        "v": question.v,
        "answered_at": (_EPOCH + timedelta(microseconds=answer.at)).isoformat() if answer and answer.at is not None else "",
    }


def import_answers(workspace: str, campaign: str, file: str) -> dict[str, Any]:
    """Read answers. What cannot be one is listed under `rejected` with its line; everything else is recorded."""
    opened = Campaign.open(workspace, campaign)
    responses: list[tuple[int, Response]] = []
    rejected: list[tuple[int, str]] = []
    flags: list[tuple[int, Row]] = []
    for line, row in _answers(Path(file), campaign, rejected):
        if row.get("flag_item") is not None:
            flags.append((line, row))
            continue
        try:
            response = _response(row)
        except InputError as error:
            rejected.append((line, str(error)))
        else:
            responses += [] if response is None else [(line, response)]
    refused = opened.refused([response for _, response in responses])
    rejected += [(responses[number][0], reason) for number, reason in refused.items()]
    kept = [response for number, (_, response) in enumerate(responses) if number not in refused]
    recorded = opened.tell(kept, source="file") + _flag(workspace, campaign, flags, rejected)
    found = [{"line": line, "reason": reason} for line, reason in sorted(rejected)]
    return {"file": file, "answers": len(kept), "recorded": recorded, "rejected": found}


def _flag(workspace: str, campaign: str, flags: list[tuple[int, Row]], rejected: list[tuple[int, str]]) -> int:
    """Record the pictures that an offline pack says are of no use, or are after all, and return how many rows are new."""
    if not flags:
        return 0
    recorded = 0
    with closing(Desk(Workspace.open(workspace), campaign)) as desk:
        for line, row in flags:
            try:
                item, own, who = int(row["flag_item"]), str(row["answer_id"]), str(row.get("annotator") or "file")
                undoes = str(row.get("undoes") or "")
                receipt = (
                    desk.unflag(who, undoes, id=own) if undoes else desk.flag(who, item, str(row.get("reason") or ""), id=own)
                )
            except (KeyError, TypeError, ValueError) as error:
                rejected.append((line, f"a flag needs the number of an item and an answer_id: {error}"))
                continue
            recorded += len(receipt.stored)
            rejected += [(line, refusal.reason) for refusal in receipt.rejected]
    return recorded


def _answers(path: Path, campaign: str, rejected: list[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    """The rows of the file; a task of Label Studio is as many as it has annotations."""
    for line, row in read_rows(path):
        if not is_task(row):
            yield line, row
            continue
        try:
            for answer in answers_of_task(row, campaign):
                yield line, answer
        except InputError as error:
            rejected.append((line, str(error)))


def _response(row: dict[str, Any]) -> Response | None:
    text, undoes = _text(row.get("value")), str(row.get("undoes") or "")
    if (
        not (text or undoes)
        or row.get("source") == INFERRED
        or is_check(str(row.get("source")))
        or is_flag(str(row.get("source")))
    ):
        return None
    try:
        question = int(row["question_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"question_id is missing or no whole number: {row.get('question_id')!r}") from error
    annotator = str(row.get("annotator") or "file")
    # Without an id of its own, what was said by whom to which question is the id: the same file again changes nothing.
    answer_id = str(row.get("answer_id") or f"file-{question}-{annotator}-{text}")
    if undoes:
        return Response(question, None, annotator, 0.0, str(row.get("answer_id") or f"undo-{undoes}"), undoes)
    return Response(question, _value(text), annotator, _seconds(row.get("seconds")), answer_id)


def parse_value(value: object) -> float | None:
    """Return what a cell says: 1 same, 0 different, a number; None for an empty one and for unsure."""
    text = _text(value)
    return _value(text) if text else None


def _text(value: object) -> str:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value).strip().lower()


def _value(text: str) -> float | None:
    if text in WORDS:
        return WORDS[text]
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{text!r} is none of same, different, unsure, nor a number") from error


def _seconds(value: Any) -> float:
    try:
        return float(value or 0.0)
    except (TypeError, ValueError) as error:
        raise InputError(f"seconds is no number: {value!r}") from error


def _word(value: float | None, kind: str) -> str:
    if value is None:
        return "unsure"
    return str(value) if kind == "rating" else "same" if value == 1.0 else "different"

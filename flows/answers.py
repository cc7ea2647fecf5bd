"""Questions out to a file, answers back in: csv, parquet or json by the file's ending.

The exported file lists every answer of the campaign and, with an empty value, every question that waits for one. Fill in the
values and import the same file: rows that the campaign knows already are recognised, so importing twice changes nothing.
"""

import csv
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cccount_dist.campaign import Campaign, Response
from storage.errors import InputError, StoreError
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
)
WORDS = {"same": 1.0, "yes": 1.0, "different": 0.0, "no": 0.0, "unsure": None}


def export_answers(workspace: str, campaign: str, file: str) -> dict[str, Any]:
    """Write every answer, and every open question with an empty value."""
    write = _writer(Path(file))
    opened = Campaign.open(workspace, campaign)
    collection = Workspace.open(workspace).collection()
    questions, ledger = opened.questions, opened.ledger
    rows = []
    for question in questions:
        answer = ledger.settled(question.id)
        rows.append(
            {
                "question_id": question.id,
                "id_u": collection.ids[question.u],
                "id_v": collection.ids[question.v],
                "uri_u": collection.uri(question.u),
                "uri_v": collection.uri(question.v),
                "kind": question.kind,
                "value": _word(answer.value, question.kind) if answer else "",
                "annotator": answer.annotator if answer else "",
                "seconds": "",
                "answer_id": answer.id if answer else "",
                "source": answer.source if answer else "",
                "u": question.u,
                "v": question.v,
            }
        )
    try:
        write(Path(file), rows)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror}") from error
    waiting = sum(not row["answer_id"] for row in rows)
    return {"file": file, "questions": len(rows), "answered": len(rows) - waiting, "pending": waiting}


def import_answers(workspace: str, campaign: str, file: str) -> dict[str, Any]:
    """Read answers; all rows are checked before the first one is recorded."""
    opened = Campaign.open(workspace, campaign)
    responses = [r for number, row in _read(Path(file)) if (r := _response(row, f"{file}, row {number}")) is not None]
    recorded = opened.tell(responses, source="file")
    return {"file": file, "answers": len(responses), "recorded": recorded}


def _response(row: dict[str, Any], where: str) -> Response | None:
    value = row.get("value")
    text = "" if value is None or (isinstance(value, float) and math.isnan(value)) else str(value).strip().lower()
    if not text or row.get("source") == "inferred":
        return None
    try:
        question = int(row["question_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: question_id is missing or no whole number: {row.get('question_id')!r}") from error
    annotator = str(row.get("annotator") or "file")
    # Without an id of its own, what was said by whom to which question is the id: the same file again changes nothing.
    answer_id = str(row.get("answer_id") or f"file-{question}-{annotator}-{text}")
    return Response(question, _value(text, where), annotator, _seconds(row.get("seconds"), where), answer_id)


def _value(text: str, where: str) -> float | None:
    if text in WORDS:
        return WORDS[text]
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"{where}: {text!r} is none of same, different, unsure, nor a number") from error


def _seconds(value: Any, where: str) -> float:
    try:
        return float(value or 0.0)
    except ValueError as error:
        raise InputError(f"{where}: seconds is no number: {value!r}") from error


def _word(value: float | None, kind: str) -> str:
    if value is None:
        return "unsure"
    return str(value) if kind == "rating" else "same" if value == 1.0 else "different"


Rows = list[dict[str, Any]]


def _read(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8-sig") as source:
                yield from enumerate(csv.DictReader(source), start=2)
        elif path.suffix == ".parquet":
            yield from enumerate(pq.read_table(path).to_pylist(), start=1)
        elif path.suffix == ".json":
            yield from enumerate(json.loads(path.read_text(encoding="utf-8")), start=1)
        else:
            raise _unknown_ending(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:  # JSON, UTF-8 and Arrow errors are all ValueErrors
        raise InputError(f"{path} is not a readable {path.suffix.removeprefix('.')} file: {error}") from error


def _writer(path: Path) -> Callable[[Path, Rows], None]:
    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".json": _write_json}
    if path.suffix not in writers:
        raise _unknown_ending(path)
    return writers[path.suffix]


def _write_csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as sink:
        table = csv.DictWriter(sink, COLUMNS)
        table.writeheader()
        table.writerows(rows)


def _write_parquet(path: Path, rows: Rows) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def _write_json(path: Path, rows: Rows) -> None:
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def _unknown_ending(path: Path) -> InputError:
    return InputError(f"{path}: the file's ending must be .csv, .parquet or .json")

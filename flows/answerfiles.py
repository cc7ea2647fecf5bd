"""Rows of answers in files: csv, parquet or json by the file's ending. A row knows its line, so that a bad one can be named."""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from storage import parquet
from storage.errors import InputError, StoreError

Row = dict[str, Any]
ENDINGS = (".csv", ".parquet", ".json")


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """Return each row with its line, or its number from 1 where a file has no lines; `InputError` if the file cannot be read."""
    check_ending(path)
    try:
        if path.suffix == ".csv":
            with path.open(newline="", encoding="utf-8-sig") as source:
                lines = csv.DictReader(source)
                for row in lines:
                    yield lines.line_num, row
        elif path.suffix == ".parquet":
            yield from enumerate(parquet.from_bytes(path.read_bytes()).to_pylist(), start=1)
        else:
            yield from enumerate(_listed(json.loads(path.read_text(encoding="utf-8"))), start=1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, csv.Error) as error:  # JSON, UTF-8 and Arrow errors are all ValueErrors
        raise InputError(f"{path} is not a readable {path.suffix.removeprefix('.')} file: {error}") from error


def write_rows(path: Path, rows: Sequence[Row], columns: Sequence[str]) -> None:
    """Write rows of these columns."""
    try:
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as sink:
                table = csv.DictWriter(sink, columns)
                table.writeheader()
                table.writerows(rows)
        elif path.suffix == ".parquet":
            path.write_bytes(parquet.to_bytes(pa.Table.from_pylist(list(rows))))
        else:
            path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def check_ending(path: Path) -> None:
    """Raise `InputError` unless the file's ending is one that can be read and written."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: the file's ending must be .csv, .parquet or .json")


def _listed(content: object) -> list[Row]:
    rows = content.get("answers") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("it must hold a list of objects")
    return rows

"""Rows of answers in files: csv, parquet or json by the file's ending. A row knows its line, so that a bad one can be named.

Memory and time: the file.
"""

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from flows.exchange.csvfiles import csv_bytes, csv_table
from storage import parquet
from storage.errors import InputError, StoreError
from storage.reading import known_errors, read_regular, reading, reason, require_file

Row = dict[str, Any]  # a file of somebody else: any column, any type, checked cell by cell
ENDINGS = (".csv", ".parquet", ".json")
_AS_CSV = (".csv", ".tsv", ".txt")
_BYTES_OF_ROW = 200  # in a text file, with names and places of two pictures
_SHARED = ("workspace", "campaign")  # a JSON object says these once for all of its rows


@dataclass(frozen=True, slots=True)
class Rows:
    """What is in a file: rows with their line, or their number from 1 where a file has no lines; and what is no row."""

    path: Path
    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, Row]] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)

    def require(self, expected: str, *names: str) -> None:
        """Raise `InputError` unless there is a row, and one of these columns; `expected` says what a file should have."""
        if not set(names) & set(self.columns):
            found = ", ".join(" ".join(name.split()) for name in self.columns[:20]) or "nothing"
            raise InputError(f"{self.path} has no column {' or '.join(names)}: expected {expected}; found {found}")
        if not self.rows and not self.rejected:
            raise InputError(f"{self.path} has no rows: expected {expected}; found a header and nothing below it")


def rows_written(path: Path) -> int:
    """Return about how many rows a file has, as far as that can be told before it is read; 0 for what is no such file."""
    try:
        if path.suffix.lower() == ".parquet":
            return int(pq.read_metadata(path).num_rows)
        return path.stat().st_size // _BYTES_OF_ROW
    except known_errors():
        return 0


def read_rows(path: Path, names: Collection[str]) -> Rows:
    """Read a file. `names`: columns that may be expected; `InputError` for what is no table at all."""
    check_ending(path, (*ENDINGS, *_AS_CSV))
    require_file(path)
    found = Rows(path)
    with reading(path):
        data = read_regular(path)
        if not data.strip():
            raise InputError(f"{path} is empty")
        if path.suffix.lower() in _AS_CSV:
            _take_csv(found, data, names)
        elif path.suffix.lower() == ".parquet":
            _take_table(found, parquet.from_bytes(data))
        else:
            _take_json(found, json.loads(data))
    return found


def _take_csv(found: Rows, data: bytes, names: Collection[str]) -> None:
    try:
        columns, rows = csv_table(data, names)
        found.columns.extend(columns)
        for line, row in rows:
            if isinstance(row, str):
                found.rejected.append((line, row))
            else:
                found.rows.append((line, row))
    except UnicodeDecodeError as error:
        hint = "save it as `CSV UTF-8`, or as text in UTF-16"
        raise InputError(f"cannot read {found.path}: byte {error.start} is no {error.encoding.upper()}: {hint}") from error
    except InputError as error:
        raise InputError(f"{found.path}: {error}") from error


def _take_table(found: Rows, table: pa.Table) -> None:
    found.columns.extend(table.column_names)
    try:
        found.rows.extend(enumerate(table.to_pylist(), start=1))
    except known_errors():  # a cell that is no value of its type: then row by row, which takes longer
        for number in range(len(table)):
            try:
                found.rows.extend((number + 1, row) for row in table.slice(number, 1).to_pylist())
            except known_errors() as error:
                found.rejected.append((number + 1, f"a cell cannot be read: {reason(error)}"))


def _take_json(found: Rows, content: object) -> None:
    shared: Row = {}
    if isinstance(content, dict):
        shared = {name: content[name] for name in _SHARED if name in content}
        content = content.get("answers", content)
    if not isinstance(content, list):
        raise InputError(f"{found.path} must hold a list of objects, one for each answer, not {type(content).__name__}")
    columns: dict[str, None] = {}
    for number, row in enumerate(content, start=1):
        if isinstance(row, dict):
            found.rows.append((number, {**shared, **row}))
            columns |= dict.fromkeys(row)
        else:
            found.rejected.append((number, f"an answer is an object, not {type(row).__name__}"))
    found.columns.extend(columns)


def write_rows(path: Path, rows: Sequence[Row], schema: pa.Schema, *, overwrite: bool) -> None:
    """Write rows with the columns of the schema."""
    if path.suffix.lower() == ".csv":
        data = csv_bytes(rows, schema.names)
    elif path.suffix.lower() == ".parquet":
        data = parquet.to_bytes(pa.Table.from_pylist(list(rows), schema=schema))
    else:
        data = json.dumps(rows, indent=1).encode()
    write_new(path, data, overwrite=overwrite)


def write_new(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Write a file that is not there yet; `overwrite`: or put it in the place of the one that is there, whole or not at all."""
    try:
        if overwrite:
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            try:
                beside.write_bytes(data)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        else:
            _write_exclusively(path, data)
    except FileExistsError as error:
        raise _there(path) from error
    except OSError as error:
        raise StoreError(f"cannot write {path}: {reason(error)}") from error


def _write_exclusively(path: Path, data: bytes) -> None:
    with path.open("xb") as sink:
        try:
            sink.write(data)
            sink.flush()
        except OSError:
            path.unlink(missing_ok=True)  # what is there is the beginning, and ours
            raise


def require_absent(path: Path) -> None:
    """Raise `InputError` for a file that is there: people may have filled it in."""
    if os.path.lexists(path):
        raise _there(path)


def _there(path: Path) -> InputError:
    return InputError(
        f"{path} is there already, and may hold answers: import it first, then name another file, or give --overwrite"
    )


def check_ending(path: Path, endings: Collection[str] = ENDINGS) -> None:
    """Raise `InputError` unless the file's ending is one of those that are known."""
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: the file's ending must be .csv, .parquet or .json")


__all__ = ["ENDINGS", "Row", "Rows", "check_ending", "read_rows", "require_absent", "write_new", "write_rows"]

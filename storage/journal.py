"""The journal in front of the query log: a single answer is acknowledged when it is durable here, and sealed into a part later.

SQLite with a write-ahead log and full sync: one answer costs one fsync, whatever the length of the log. It has to lie on a
disk of this host (SQLite's write-ahead log needs shared memory). Memory and time of a seal: the answers since the last one.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from storage.checks import check_answers
from storage.errors import CorruptionError, StoreError
from storage.objects import explaining, make_folder
from storage.problems import Problem
from storage.schema import ANSWERS

if TYPE_CHECKING:
    from storage.querylog import QueryLog

JOURNAL = "journal.sqlite"  # its name in a campaign's folder
REPAIR = "save what `sqlite3 journal.sqlite .recover` finds, and move it away: answers that were sealed are in the log"
_BUSY_SECONDS = 30.0
_SQL_TYPES = {pa.string(): "TEXT", pa.float64(): "REAL", pa.float32(): "REAL"}  # the others, times too, are integers
_COLUMNS = ", ".join(f'"{column.name}"' for column in ANSWERS.columns)
_CREATE = "CREATE TABLE IF NOT EXISTS answers (position INTEGER PRIMARY KEY AUTOINCREMENT, {}, UNIQUE (answer_id))".format(
    ", ".join(f'"{c.name}" {_SQL_TYPES.get(c.type, "INTEGER")}{" NOT NULL" if c.required else ""}' for c in ANSWERS.columns)
)
_VALUES = ", ".join("?" * len(ANSWERS.columns))
_INSERT = f"INSERT INTO answers ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (answer_id) DO NOTHING"  # noqa: S608
_SELECT = f"SELECT position, {_COLUMNS} FROM answers WHERE position > ? ORDER BY position"  # noqa: S608


class Journal:
    """Answers that are durable and not yet in a part. Threads and processes may record into one journal at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.Lock()
        with explaining(path.parent):
            make_folder(path.parent)
        with sqlite_explained(path):
            self._database = open_database(path, (_CREATE,), synchronous="FULL")

    def record(self, table: pa.Table) -> int:
        """Make answers durable and return how many were new. An id that is in the journal already is left as it is."""
        rows = _to_rows(check_answers(table))
        with self._transaction() as database:
            return max(database.executemany(_INSERT, rows).rowcount, 0)

    def pending(self) -> pa.Table:
        """Return the answers that were not sealed yet, in order; those of a killed seal may be in the log already."""
        return self.read_on()[1]

    def read_on(self, since: int = 0) -> tuple[int, pa.Table]:
        """Return the position of the last answer and those behind position `since`, in order; positions are never given again."""
        with self._mutex, sqlite_explained(self.path):
            rows = self._database.execute(_SELECT, (since,)).fetchall()
        return (rows[-1][0], _to_table(rows)) if rows else (since, ANSWERS.empty())

    def seal(self, log: "QueryLog", *, guard: Callable[[], None] | None = None) -> int:
        """Move the pending answers into a part of the log and return how many it did not have yet.

        They leave the journal only after the part is durable. Killed in between, the next seal offers them to the log again,
        which recognises their ids: none is lost, none doubled.
        """
        last, table = self.read_on()
        if not table.num_rows:
            return 0
        added = log.append_answers(table, guard=guard)
        with self._transaction() as database:
            # Positions are given in the order of commits and never again: what came meanwhile has a higher one.
            database.execute("DELETE FROM answers WHERE position <= ?", (last,))
        return added

    def close(self) -> None:
        with self._mutex:
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex, sqlite_explained(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:  # after some failures, a full disk for one, SQLite has rolled back by itself
                    self._database.execute("ROLLBACK")
                raise


def journal_problems(path: Path) -> Iterator[Problem]:
    """Check every page of a journal; nothing is raised for damage."""
    try:
        with sqlite_explained(path):
            database = open_database(path, (_CREATE,), synchronous="FULL")
            try:
                found = [row[0] for row in database.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
            finally:
                database.close()
    except CorruptionError as error:
        found = [str(error).removeprefix(f"{path} ").removesuffix(f": {REPAIR}")]
    for problem in found:
        yield Problem(str(path), problem, REPAIR)


def open_database(path: Path, tables: Iterable[str], *, synchronous: Literal["FULL", "NORMAL"]) -> sqlite3.Connection:
    """Open an SQLite file with a write-ahead log. FULL: a commit is on disk; NORMAL: it survives the process, not the power."""
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _use_write_ahead_log(database)
        database.execute(f"PRAGMA synchronous = {synchronous}")
        for create in tables:
            database.execute(create)
    except BaseException:
        database.close()
        raise
    return database


def _use_write_ahead_log(database: sqlite3.Connection) -> None:
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # Of processes that open a new file at once, SQLite lets one switch and tells the others so without waiting.
            if _kind(error) != "SQLITE_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _kind(error: sqlite3.DatabaseError) -> str:
    """Return for instance SQLITE_IOERR for SQLITE_IOERR_WRITE; nothing for a mistake in this program."""
    return "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])


def _to_rows(table: pa.Table) -> list[tuple[object, ...]]:
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def _to_table(rows: list[tuple[object, ...]]) -> pa.Table:
    _, *columns = zip(*rows, strict=True)
    arrays = [
        pa.array(values, pa.int64()).cast(column.type) if pa.types.is_timestamp(column.type) else pa.array(values, column.type)
        for values, column in zip(columns, ANSWERS.columns, strict=True)
    ]
    return pa.table(arrays, schema=ANSWERS.schema)


@contextmanager
def sqlite_explained(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses inside into the error that says what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = _kind(error)
        if not kind:
            raise
        if kind in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
            raise CorruptionError(f"{path} is damaged ({error}): {REPAIR}") from error
        reasons = {
            "SQLITE_FULL": "the disk is full: free some space and try again, what was acknowledged is safe",
            "SQLITE_BUSY": f"another process has held it for {_BUSY_SECONDS:.0f} s: find and stop it",
            "SQLITE_READONLY": "no permission to write it: make it writable for this user",
            "SQLITE_CANTOPEN": "it cannot be opened: make its folder writable for this user",
        }
        raise StoreError(f"cannot use {path}: {reasons.get(kind, f'{error} ({error.sqlite_errorname})')}") from error

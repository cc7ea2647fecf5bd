"""The journal in front of the query log: a single answer is acknowledged when it is durable here, and sealed into a part later.

SQLite with a write-ahead log and full sync: one answer costs one fsync, whatever the length of the log. It has to lie on a
disk of this host (SQLite's write-ahead log needs shared memory). Memory and time of a seal: the answers since the last one.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from storage import formats
from storage.chain import REPAIR as CHAIN_REPAIR
from storage.chain import START, first_broken, next_digest, plain_rows
from storage.errors import CorruptionError, FormatError, StoreError
from storage.objects import explaining, make_folder
from storage.problems import Problem
from storage.rowchecks import check_answers
from storage.schema import ANSWERS
from storage.version import __version__

if TYPE_CHECKING:
    from storage.querylog import QueryLog

JOURNAL = "journal.sqlite"  # its name in a campaign's folder
REPAIR = "save what `sqlite3 journal.sqlite .recover` finds, and move it away: answers that were sealed are in the log"
_BUSY_SECONDS = 30.0
_SQL_TYPES = {pa.string(): "TEXT", pa.float64(): "REAL", pa.float32(): "REAL"}  # the others, times too, are integers
_NAMES = ANSWERS.schema.names
_COLUMNS = ", ".join(f'"{name}"' for name in _NAMES)
_CREATE = (
    "CREATE TABLE IF NOT EXISTS answers (position INTEGER PRIMARY KEY AUTOINCREMENT, {}, chain TEXT, UNIQUE (answer_id))".format(
        ", ".join(f'"{c.name}" {_SQL_TYPES.get(c.type, "INTEGER")}{" NOT NULL" if c.required else ""}' for c in ANSWERS.columns)
    )
)
# One row that remembers the chain: its end, and what was last sealed, where the chain of the answers that are left begins.
_CREATE_CHAIN = """CREATE TABLE IF NOT EXISTS chain (only INTEGER PRIMARY KEY CHECK (only = 1), position INTEGER NOT NULL,
    digest TEXT NOT NULL, base TEXT NOT NULL, log_rows INTEGER NOT NULL, log_digest TEXT NOT NULL)"""
_CREATE_ABOUT = "CREATE TABLE IF NOT EXISTS about (only INTEGER PRIMARY KEY CHECK (only = 1), cccount TEXT NOT NULL)"
_VALUES = ", ".join("?" * (len(ANSWERS.columns) + 1))
_INSERT = f"INSERT INTO answers ({_COLUMNS}, chain) VALUES ({_VALUES})"  # noqa: S608
_SELECT = f"SELECT position, {_COLUMNS} FROM answers WHERE position > ? ORDER BY position"  # noqa: S608


class Journal:
    """Answers that are durable and not yet in a part. Threads and processes may record into one journal at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.Lock()
        with explaining(path.parent):
            make_folder(path.parent)
        with sqlite_explained(path):
            self._database = _open(path, writing=True)

    def record(self, table: pa.Table) -> int:
        """Make answers durable and return how many were new. An id that is in the journal already is left as it is."""
        rows = plain_rows(check_answers(table))
        with self._transaction() as database:
            digest = str(database.execute("SELECT digest FROM chain").fetchone()[0])
            position, recorded = None, 0
            for row in rows:
                if database.execute("SELECT 1 FROM answers WHERE answer_id = ?", row[:1]).fetchone() is None:
                    digest = next_digest(digest, _NAMES, row)
                    position = database.execute(_INSERT, (*row, digest)).lastrowid
                    recorded += 1
            if position is not None:
                database.execute("UPDATE chain SET position = ?, digest = ?", (position, digest))
            return recorded

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
        tip = log.tip()
        with self._transaction() as database:
            sealed = "SELECT chain FROM answers WHERE position <= ? ORDER BY position DESC LIMIT 1"
            if (digest := database.execute(sealed, (last,)).fetchone()) is not None:  # another process may have sealed them too
                database.execute("UPDATE chain SET base = ?, log_rows = ?, log_digest = ?", (*digest, *tip))
            # Positions are given in the order of commits and never again: what came meanwhile has a higher one.
            database.execute("DELETE FROM answers WHERE position <= ?", (last,))
        return added

    def close(self) -> None:
        with self._mutex:
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex, sqlite_explained(self.path), transaction(self._database):
            yield self._database


def journal_problems(path: Path) -> Iterator[Problem]:
    """Check every page of a journal; nothing is raised for damage."""
    try:
        with sqlite_explained(path), closing(_open(path)) as database:
            found = [row[0] for row in database.execute("PRAGMA integrity_check(10)") if row[0] != "ok"]
        problems = [Problem(str(path), problem, REPAIR) for problem in found] or list(_chain_problems(path))
    except FormatError as error:
        problems = [error.problem]
    except (CorruptionError, StoreError, sqlite3.DatabaseError, ValueError, TypeError) as error:
        if isinstance(error, StoreError) and _kind(error.__cause__) != "SQLITE_ERROR":
            raise  # it is busy, or may not be opened; a name that is not known any more is damage
        what = str(error).removeprefix(f"{path} ").removesuffix(f": {REPAIR}")
        problems = [Problem(str(path), " ".join(what.split()), REPAIR)]
    yield from problems


def sealed_tip(path: Path) -> tuple[int, str] | None:
    """Return the length and the chain's digest of the log at the last seal; None if the journal cannot be read."""
    try:
        with sqlite_explained(path), closing(_open(path)) as database:
            rows, digest = database.execute("SELECT log_rows, log_digest FROM chain").fetchone()
            return int(rows), str(digest)
    except (CorruptionError, FormatError, sqlite3.DatabaseError, ValueError, TypeError):
        return None  # `journal_problems` says so
    except StoreError as error:
        if _kind(error.__cause__) != "SQLITE_ERROR":
            raise
        return None


def _chain_problems(path: Path) -> Iterator[Problem]:
    with sqlite_explained(path), closing(_open(path)) as database:
        database.execute("BEGIN")  # one view of both tables, whoever records meanwhile
        rows = database.execute(f"SELECT {_COLUMNS}, chain FROM answers ORDER BY position").fetchall()  # noqa: S608
        digest, base = database.execute("SELECT digest, base FROM chain").fetchone()
    broken, last = first_broken(_NAMES, (row[:-1] for row in rows), (row[-1] for row in rows), base)
    if broken is None and base == START and rows and rows[0][-1] is None:
        broken = 0
    if broken is not None:
        name = rows[broken][0]
        problem = f"answer {name!r} breaks the chain: it was edited, or one before it removed or put in"
        yield Problem(str(path), problem, CHAIN_REPAIR)
    elif last != digest:
        yield Problem(str(path), "the newest answers are missing: the chain goes on behind the last one", CHAIN_REPAIR)


def _open(path: Path, *, writing: bool = False) -> sqlite3.Connection:
    database = open_database(path, (), synchronous="FULL")
    try:
        _check_number(database, path)
        for create in (_CREATE, _CREATE_CHAIN):
            database.execute(create)
        _add_columns(database)
        if writing:  # who only looks leaves an older journal as it is
            _number(database)
        _begin_chain(database)
    except BaseException:
        database.close()
        raise
    return database


def _check_number(database: sqlite3.Connection, path: Path) -> None:
    """Raise `FormatError` for a journal of a format that is not read here; one without a number is of format 1."""
    number = int(database.execute("PRAGMA user_version").fetchone()[0]) or 1
    if number in formats.JOURNAL.since:
        return
    has_about = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone() is not None
    writer = database.execute("SELECT cccount FROM about").fetchone() if has_about else None
    formats.JOURNAL.check(number, str(path), writer[0] if writer else None)


def _add_columns(database: sqlite3.Connection) -> None:
    """Give an older journal the columns that were added since; they may be empty."""
    known = "PRAGMA table_info(answers)"
    if {column.name for column in ANSWERS.columns} <= {row[1] for row in database.execute(known)}:
        return
    with transaction(database):
        there = {row[1] for row in database.execute(known)}
        for column in ANSWERS.columns:
            if column.name not in there:
                database.execute(f'ALTER TABLE answers ADD COLUMN "{column.name}" {_SQL_TYPES.get(column.type, "INTEGER")}')


def _number(database: sqlite3.Connection) -> None:
    """Say the number and the version in a new journal, and in one that is older."""
    if database.execute("PRAGMA user_version").fetchone()[0] == formats.JOURNAL.present:
        return
    with transaction(database):
        database.execute(_CREATE_ABOUT)
        database.execute("INSERT OR REPLACE INTO about VALUES (1, ?)", (__version__,))
        database.execute(f"PRAGMA user_version = {formats.JOURNAL.present}")


def _begin_chain(database: sqlite3.Connection) -> None:
    """Begin the chain of a new journal, or of one that is older than chains: its answers are covered from now on."""
    if database.execute("SELECT 1 FROM chain").fetchone() is not None:
        return
    with transaction(database):
        if database.execute("SELECT 1 FROM chain").fetchone() is not None:
            return
        if "chain" not in [row[1] for row in database.execute("PRAGMA table_info(answers)")]:
            database.execute("ALTER TABLE answers ADD COLUMN chain TEXT")
        position, digest = 0, START
        for position, *row in database.execute(_SELECT, (0,)).fetchall():
            digest = next_digest(digest, _NAMES, row)
            database.execute("UPDATE answers SET chain = ? WHERE position = ?", (digest, position))
        database.execute("INSERT INTO chain VALUES (1, ?, ?, ?, 0, ?)", (position, digest, START, START))


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """What happens inside happens at once for everybody else, or not at all."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # after some failures, a full disk for one, SQLite has rolled back by itself
            database.execute("ROLLBACK")
        raise


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


def _kind(error: BaseException | None) -> str:
    """Return for instance SQLITE_IOERR for SQLITE_IOERR_WRITE; nothing for a mistake in this program."""
    return "_".join(getattr(error, "sqlite_errorname", "").split("_")[:2])


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

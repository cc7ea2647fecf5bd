"""Which sheets are in whose hands: leases on questions with their end, and the checks that were made up for somebody.

SQLite beside the journal, so that a restarted server, or a second one, knows what is handed out. A lease that is lost costs
no answer, only a question that is shown twice, so nothing is synced here: what a killed process wrote is kept, what a power
failure takes is handed out again. For the same reason a damaged file is no reason to stop: it is made anew, by itself. Memory and
time: the sheets that are in hands, some hundreds.
"""

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.errors import CorruptionError, StoreError
from storage.journal import open_database, sqlite_explained, transaction
from storage.objects import explaining, make_folder

LOG = logging.getLogger("cccount.review")
HANDOUTS = "desk.sqlite"  # its name in a campaign's folder
_TABLES = (
    """CREATE TABLE IF NOT EXISTS sheets (number INTEGER PRIMARY KEY, sheet TEXT NOT NULL UNIQUE, annotator TEXT NOT NULL,
    expires REAL NOT NULL, kind TEXT NOT NULL, anchor INTEGER NOT NULL, candidates TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS checks (number INTEGER PRIMARY KEY AUTOINCREMENT, annotator TEXT NOT NULL,
    u INTEGER NOT NULL, v INTEGER NOT NULL, page INTEGER, source TEXT NOT NULL, kind TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS counts (annotator TEXT PRIMARY KEY, sheets INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS waits (annotator TEXT NOT NULL, ended REAL NOT NULL, seconds REAL NOT NULL)",
)
_ALL_SHEETS = "SELECT sheet, annotator, expires, kind, anchor, candidates FROM sheets ORDER BY number"


@dataclass(frozen=True, slots=True)
class Handout:
    """A sheet in somebody's hands. A candidate is a question's number and the item that is compared with the anchor."""

    sheet: str
    annotator: str
    expires: float
    kind: str
    anchor: int
    candidates: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A question outside the sampler's numbering: its answer is known (gold), or was given by the same person before."""

    annotator: str
    u: int
    v: int
    page: int | None
    source: str
    kind: str = "same"


def _sheets(rows: Iterable[tuple]) -> list[Handout]:  # type: ignore[type-arg]
    return [
        Handout(sheet, annotator, expires, kind, anchor, tuple((q, item) for q, item in json.loads(candidates)))
        for sheet, annotator, expires, kind, anchor, candidates in rows
    ]


class Handouts:
    """The book of what is handed out. Threads and processes may share one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.RLock()
        with explaining(path.parent):
            make_folder(path.parent)
        self._inside = False  # a change
        try:
            self._database = _opened(path)
        except CorruptionError as error:
            self._database = _made_anew(path, error)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """What happens inside happens at once for everybody else, or not at all."""
        with self._mutex, self._repaired():
            self._inside = True
            try:
                with _explained(self.path), transaction(self._database):
                    yield
            finally:
                self._inside = False

    @contextmanager
    def _repaired(self) -> Iterator[None]:
        """Where damage shows, make the file anew, and let whoever came try once more."""
        try:
            yield
        except CorruptionError as error:
            if self._inside:
                raise  # the change as a whole has to be tried again
            self._database.close()
            self._database = _made_anew(self.path, error)
            raise StoreError(f"{self.path} was damaged and has been made anew: try again") from error

    def expire(self, now: float) -> None:
        """Take back the sheets whose time is over."""
        self._database.execute("DELETE FROM sheets WHERE expires <= ?", (now,))

    def in_hands(self) -> list[Handout]:
        """Every sheet that is handed out, in the order in which they were."""
        with self._mutex, self._repaired(), _explained(self.path):
            return _sheets(self._database.execute(_ALL_SHEETS).fetchall())

    def hand_out(self, sheets: Iterable[Handout]) -> None:
        """Lease sheets, or renew the leases of those that are handed out already."""
        for s in sheets:
            self._database.execute(
                """INSERT INTO sheets (sheet, annotator, expires, kind, anchor, candidates) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (sheet) DO UPDATE SET expires = excluded.expires""",
                (s.sheet, s.annotator, s.expires, s.kind, s.anchor, json.dumps(s.candidates)),
            )

    def give_back(self, sheets: Iterable[str]) -> None:
        self._database.executemany("DELETE FROM sheets WHERE sheet = ?", [(sheet,) for sheet in sheets])

    def keep(self, sheet: str, candidates: Sequence[tuple[int, int]]) -> None:
        """Let only these candidates stay on a sheet; without any it is given back."""
        if candidates:
            self._database.execute("UPDATE sheets SET candidates = ? WHERE sheet = ?", (json.dumps(candidates), sheet))
        else:
            self.give_back([sheet])

    def count(self, annotator: str, more: int = 0) -> int:
        """How many sheets were handed out to somebody so far; `more` adds to it first."""
        if more:
            self._database.execute(
                "INSERT INTO counts VALUES (?, ?) ON CONFLICT (annotator) DO UPDATE SET sheets = sheets + excluded.sheets",
                (annotator, more),
            )
        found = self._run("SELECT sheets FROM counts WHERE annotator = ?", annotator)
        return int(found[0][0]) if found else 0

    def waited(self, annotator: str, ended: float, seconds: float) -> None:
        """Note that somebody had nothing to answer for so long."""
        self._database.execute("INSERT INTO waits VALUES (?, ?, ?)", (annotator, ended, seconds))

    def add_checks(self, checks: Sequence[Check]) -> list[int]:
        """Keep checks and return their numbers."""
        numbers = []
        for c in checks:
            made = self._database.execute(
                "INSERT INTO checks (annotator, u, v, page, source, kind) VALUES (?, ?, ?, ?, ?, ?)",
                (c.annotator, c.u, c.v, c.page, c.source, c.kind),
            )
            numbers.append(int(made.lastrowid or 0))
        return numbers

    def check(self, number: int) -> Check | None:
        found = self._run("SELECT annotator, u, v, page, source, kind FROM checks WHERE number = ?", number)
        return Check(*found[0]) if found else None

    def close(self) -> None:
        with self._mutex:
            self._database.close()

    def _run(self, command: str, *values: object) -> list[tuple]:  # type: ignore[type-arg]
        with self._mutex, self._repaired(), _explained(self.path):
            return self._database.execute(command, values).fetchall()


def read_waits(path: Path) -> tuple[float, ...]:
    """Return how long people had nothing to answer, each time; nothing if there is no book here, or it cannot be read."""
    if not path.exists():
        return ()
    try:
        # `ro` would leave files of SQLite's beside it, for whoever opens it next to take away, at a moment of their own.
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)) as database:
            return tuple(float(seconds) for (seconds,) in database.execute("SELECT seconds FROM waits ORDER BY ended"))
    except (sqlite3.Error, ValueError, TypeError):  # damaged, or of an earlier version: it only tells less
        return ()


def _opened(path: Path) -> sqlite3.Connection:
    """Open the book; `CorruptionError` if it cannot be used."""
    with _explained(path):
        database = open_database(path, _TABLES, synchronous="NORMAL")
        try:
            _look_through(database)
        except BaseException:
            database.close()
            raise
        return database


def _look_through(database: sqlite3.Connection) -> None:
    """Read everything once: it is little, and what is damaged shows."""
    found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    for sheet in _sheets(database.execute(_ALL_SHEETS).fetchall()):
        _ = [(int(question), int(item)) for question, item in sheet.candidates]
    database.execute("SELECT annotator, u, v, page, source, kind FROM checks").fetchall()
    database.execute("SELECT annotator, sheets FROM counts").fetchall()
    if database.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'waits'").fetchone():  # 0.1.0 wrote none
        database.execute("SELECT annotator, ended, seconds FROM waits").fetchall()


def _made_anew(path: Path, damage: CorruptionError) -> sqlite3.Connection:
    """Begin an empty book in the place of a damaged one."""
    LOG.warning("%s; it is made anew, sheets are handed out again", damage)
    with explaining(path):
        for ending in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
    database = _opened(path)
    # Numbers of checks that are in somebody's hands must not come again for others: the new ones begin far behind.
    database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('checks', ?)", (int(time.time()),))
    return database


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """As `sqlite_explained`, for a file that can be made again: what cannot be used is damaged, and nothing is to be saved."""
    try:
        with sqlite_explained(path):
            yield
    except CorruptionError as error:
        raise CorruptionError(f"{path} is damaged ({error.__cause__ or error})") from error.__cause__
    except StoreError as error:
        if getattr(error.__cause__, "sqlite_errorname", "") != "SQLITE_ERROR":
            raise  # it is busy, full, or may not be written
        raise CorruptionError(f"{path} is damaged ({error.__cause__})") from error.__cause__
    except (sqlite3.DatabaseError, ValueError, TypeError) as error:
        raise CorruptionError(f"{path} is damaged ({error})") from error


def handouts_problems(path: Path) -> list[str]:
    """Return what is wrong with the file; nothing is raised for damage."""
    try:
        with _explained(path), closing(open_database(path, (), synchronous="NORMAL")) as database:
            found = [str(row[0]) for row in database.execute("PRAGMA quick_check(10)") if row[0] != "ok"]
            if not found:
                _look_through(database)
            return found
    except CorruptionError as error:
        return [f"the file is damaged ({error.__cause__})"]


__all__ = ["HANDOUTS", "Check", "Handout", "Handouts", "handouts_problems"]

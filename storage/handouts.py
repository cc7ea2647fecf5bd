"""Which sheets are in whose hands: leases on questions with their end, and the checks that were made up for somebody.

SQLite beside the journal, so that a restarted server, or a second one, knows what is handed out. A lease that is lost costs
no answer, only a question that is shown twice, so nothing is synced here: what a killed process wrote is kept, what a power
failure takes is handed out again. Memory and time: the sheets that are in hands, some hundreds.
"""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from storage.journal import open_database, sqlite_explained, transaction
from storage.objects import explaining, make_folder

HANDOUTS = "desk.sqlite"  # its name in a campaign's folder
_TABLES = (
    """CREATE TABLE IF NOT EXISTS sheets (number INTEGER PRIMARY KEY, sheet TEXT NOT NULL UNIQUE, annotator TEXT NOT NULL,
    expires REAL NOT NULL, kind TEXT NOT NULL, anchor INTEGER NOT NULL, candidates TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS checks (number INTEGER PRIMARY KEY AUTOINCREMENT, annotator TEXT NOT NULL,
    u INTEGER NOT NULL, v INTEGER NOT NULL, page INTEGER, source TEXT NOT NULL, kind TEXT NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS counts (annotator TEXT PRIMARY KEY, sheets INTEGER NOT NULL)",
)


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


class Handouts:
    """The book of what is handed out. Threads and processes may share one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.RLock()
        with explaining(path.parent):
            make_folder(path.parent)
        with sqlite_explained(path):
            self._database = open_database(path, _TABLES, synchronous="NORMAL")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """What happens inside happens at once for everybody else, or not at all."""
        with self._mutex, sqlite_explained(self.path), transaction(self._database):
            yield

    def expire(self, now: float) -> None:
        """Take back the sheets whose time is over."""
        self._database.execute("DELETE FROM sheets WHERE expires <= ?", (now,))

    def in_hands(self) -> list[Handout]:
        """Every sheet that is handed out, in the order in which they were."""
        rows = self._run("SELECT sheet, annotator, expires, kind, anchor, candidates FROM sheets ORDER BY number")
        return [
            Handout(sheet, annotator, expires, kind, anchor, tuple((q, item) for q, item in json.loads(candidates)))
            for sheet, annotator, expires, kind, anchor, candidates in rows
        ]

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
        with self._mutex, sqlite_explained(self.path):
            return self._database.execute(command, values).fetchall()


__all__ = ["HANDOUTS", "Check", "Handout", "Handouts"]

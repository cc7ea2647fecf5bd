"""An append-only table as a folder of parquet parts that are never rewritten in place; the row number is the truth of order.

Parts are immutable, so what was read once is kept in memory: reading on costs the rows that are new, appending costs one part,
and both a listing of the folder (some dozens of names when it is compacted). Memory: the whole table.
"""

import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.errors import ConflictError, CorruptionError, FormatError, MissingObjectError
from storage.objects import Objects
from storage.parts import REPAIR, Part, decode_part, encode_part, parse_parts, part_key
from storage.problems import Problem
from storage.schema import TableSpec

_RELISTINGS = 5  # of a verification that races with compactions


class PartFolder:
    """`numbered_by` names a column that must hold the row number."""

    def __init__(self, objects: Objects, folder: str, spec: TableSpec, *, numbered_by: str | None = None) -> None:
        self.objects = objects
        self.folder = folder
        self.spec = spec
        self.numbered_by = numbered_by
        self.rows = 0  # that have been read; `refresh` reads on
        self._chunks: list[pa.Table] = []
        self._view: dict[Part, int] = {}  # the parts that hold the rows, in order, and the row after each part's last
        self._covered: list[Part] = []  # that are still there although a compacted part replaces them
        self._later: dict[str, pa.DataType] = {}  # columns of a later version: kept, and nobody here looks at them
        self._mutex = threading.RLock()

    def refresh(self) -> int:
        """Read the parts that are new and return the number of rows; `CorruptionError` for a damaged or missing part."""
        with self._mutex:
            before: list[Part] | None = None
            while True:
                parts, _ = self._list()
                try:
                    self._view = self._follow(parts)
                    self._covered = [part for part in parts if part not in self._view]
                except (_MisplacedError, MissingObjectError) as error:
                    # A compaction that runs meanwhile makes parts disappear, but then the next listing is another one.
                    if parts == before:
                        raise CorruptionError(f"{error}: {REPAIR}") from error
                    before = parts
                else:
                    return self.rows

    def table(self, since: int = 0) -> pa.Table:
        """Return the rows from number `since` on, as far as they have been read."""
        with self._mutex:
            later, first = [], self.rows
            for chunk in reversed(self._chunks):
                if first <= since:
                    break
                first -= chunk.num_rows
                later.append(chunk.slice(max(since - first, 0)))
            return _joined(later[::-1]) if later else self.spec.empty()

    def append(self, table: pa.Table) -> None:
        """Write rows behind the last one, in one new part. The caller holds the lock and has refreshed."""
        with self._mutex:
            part = Part(part_key(self.folder, self.rows), self.rows, None)
            self.objects.create(part.key, encode_part(table, self.spec))
            if self.objects.locks_can_break:
                self._require_in_view(part)
            self._keep(table)
            self._view[part] = self.rows

    def _require_in_view(self, part: Part) -> None:
        """Raise `ConflictError` if a compaction has used this part's name up: the writer was overtaken while it held the lock.

        The name was free because the compaction has removed a part of the same first row. Its covering part was there before, so
        a listing after our write shows it, and what we wrote is not acknowledged; it counts as covered and is removed in time.
        """
        if any(other.covers(part) for other in self._list()[0] if other != part):
            raise ConflictError(f"{self._where(part)}: another process wrote these rows first; read the log again")

    def compact(self, most_parts: int) -> None:
        """Merge the newest parts if there are more than `most_parts`. The caller holds the lock.

        Older parts are left alone while they are larger than all that is merged behind them, so that every row is rewritten
        only O(log rows) times. Killed anywhere, each row is still read exactly once: a reader prefers the covering part.
        """
        with self._mutex:
            self.refresh()
            parts = list(self._view)
            if len(parts) > most_parts:
                start = len(parts) - 1
                while start > 0 and (
                    self.rows - parts[start].first >= _length(parts[start - 1], parts[start]) or start >= most_parts
                ):
                    start -= 1
                self._merge(parts[start].first)
            self._drop_covered()

    def problems(self) -> Iterator[Problem]:
        """Read every part again and report everything that is wrong, without raising."""
        found: list[Problem] = []
        for _ in range(_RELISTINGS):
            parts, strangers = self._list()
            found = [*self._damage(parts), *(self._problem(key, "is not a part of the log", "move it away") for key in strangers)]
            if not found or self._list() == (parts, strangers):
                break
        yield from found

    def _list(self) -> tuple[list[Part], list[str]]:
        return parse_parts(self.folder, self.objects.keys(self.folder))

    def _follow(self, parts: list[Part]) -> dict[Part, int]:
        """Follow the parts from row 0, read those that are new, and return those that hold the rows."""
        view: dict[Part, int] = {}
        rows, cover = 0, None
        for part in parts:
            if cover is not None and cover.covers(part):
                continue
            if problem := self._misplaced(part, rows):
                raise _MisplacedError(f"{problem.path} {problem.problem}")
            rows = view[part] = self._view.get(part) or self._take(part)
            cover = part if part.last is not None else cover
        if rows < self.rows:
            raise _MisplacedError(f"{self.objects.location}/{self.folder}: the rows {rows} to {self.rows - 1} have disappeared")
        return view

    def _misplaced(self, part: Part, rows: int) -> Problem | None:
        """Say what is wrong with a part that does not begin at row `rows`."""
        if part.first > rows:
            missing = part_key(self.folder, rows)
            return self._problem(missing, f"is missing: no part holds the rows {rows} to {part.first - 1}", REPAIR)
        if part.first < rows:
            return self._problem(part.key, f"begins at row {part.first}, but the parts before it reach to row {rows - 1}", REPAIR)
        return None

    def _take(self, part: Part) -> int:
        """Keep the part's new rows and return the row after its last; a compacted part of known rows is not read again."""
        if part.last is not None and part.last < self.rows:
            return part.last + 1
        table = self._read(part)
        if table.num_rows + part.first > self.rows:
            self._keep(table.slice(self.rows - part.first))
        return part.first + int(table.num_rows)

    def _keep(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        # Like the digits of a binary counter: a few large pieces of memory instead of thousands of small ones.
        while self._chunks and self._chunks[-1].num_rows <= table.num_rows:
            table = _joined([self._chunks.pop(), table]).combine_chunks()
        self._chunks.append(table)

    def _read(self, part: Part) -> pa.Table:
        where = self._where(part)
        table = decode_part(self.objects.read(part.key), self.spec, where)
        if not table.num_rows or (part.last is not None and table.num_rows != part.last - part.first + 1):
            raise CorruptionError(f"{where} holds {table.num_rows} rows, not those that its name says: {REPAIR}")
        for name in table.column_names[len(self.spec.columns) :]:
            if self._later.setdefault(name, table.schema.field(name).type) != table.schema.field(name).type:
                raise CorruptionError(f"{where}: column {name!r} has another type than in the parts before it: {REPAIR}")
        if self.numbered_by:
            numbers = pa.array(np.arange(part.first, part.first + table.num_rows))
            if not pc.all(pc.equal(table.column(self.numbered_by), numbers)).as_py():
                raise CorruptionError(f"{where}: {self.numbered_by} is not the row number from {part.first} on: {REPAIR}")
        return table

    def _merge(self, first: int) -> None:
        cover = Part(part_key(self.folder, first, self.rows - 1), first, self.rows - 1)
        self.objects.create(cover.key, encode_part(self.table(first).combine_chunks(), self.spec))
        self._covered += [part for part in self._view if part.first >= first]
        self._view = {part: end for part, end in self._view.items() if part.first < first} | {cover: self.rows}

    def _drop_covered(self) -> None:
        """Delete the parts that a covering one replaces, also those that a killed compaction left behind."""
        for cover in self._view if self._covered else ():
            replaced = [part for part in self._covered if cover.covers(part)]
            # What people answered is deleted only after the bytes that replace it were read back and compared.
            if replaced and not _equal(self._read(cover), self.table(cover.first).slice(0, self._view[cover] - cover.first)):
                raise CorruptionError(
                    f"{self._where(cover)} is not what was merged: delete it, the parts that it replaces are still there"
                )
            for part in replaced:
                self.objects.delete(part.key)
        self._covered = []

    def _damage(self, parts: list[Part]) -> Iterator[Problem]:
        rows: int | None = 0  # unknown behind a damaged part
        cover: Part | None = None
        for part in parts:
            covered = cover is not None and cover.covers(part)
            if not covered and rows is not None and (problem := self._misplaced(part, rows)):
                yield problem
            try:
                end: int | None = part.first + self._read(part).num_rows
            except FormatError as error:
                end = None if part.last is None else part.last + 1
                yield error.problem
            except (CorruptionError, MissingObjectError) as error:
                end = None if part.last is None else part.last + 1
                yield self._problem(
                    part.key, str(error).removeprefix(self._where(part)).removesuffix(f": {REPAIR}").strip(": "), REPAIR
                )
            if not covered:
                rows = end
                cover = part if part.last is not None else cover

    def _problem(self, key: str, problem: str, repair: str) -> Problem:
        return Problem(f"{self.objects.location}/{key}", problem, repair)

    def _where(self, part: Part) -> str:
        return f"{self.objects.location}/{part.key}"


class _MisplacedError(Exception):
    """A listing shows a gap or an overlap; it is real only if the next listing shows the same."""


def _joined(tables: list[pa.Table]) -> pa.Table:
    """Return the rows of all tables; one that lacks a column of another, which a later version added, has it empty."""
    return pa.concat_tables(tables, promote_options="default")


def _equal(one: pa.Table, other: pa.Table) -> bool:
    """Whether the rows are the same; a column that is not there is an empty one."""
    left, right = _joined([one, other.slice(0, 0)]), _joined([other, one.slice(0, 0)])
    return bool(left.equals(right.select(left.column_names)))


def _length(part: Part, following: Part) -> int:
    return following.first - part.first

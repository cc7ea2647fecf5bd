"""`cccount catalogue import`: individuals that are known already go in, from what people keep them in.

A table with a picture and a name in each row (columns such as `id, name`, or wildlife-datasets' `path, identity, orientation`), a
folder with a subfolder for each individual, a Camtrap DP package (`individualID`), or plain pairs (`id_u, id_v, value`). Every
campaign knows it from its next step on: pictures of one individual are the same, those of two are different. A row that cannot be
used is named with its line, the others are kept; nothing is half imported. Time: the rows, and the pairs of individuals.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import pyarrow as pa

from cccount_dist.campaign.inputs import neighbor_lists
from cccount_dist.embedding.address import Address, Box
from cccount_dist.room import Size
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.types import DIFFERENT, SAME
from cccount_dist.taken import require
from flows.exchange.answerfiles import Row, Rows, read_rows, rows_written
from flows.exchange.cells import said, shortened, text
from flows.exchange.outcomes import CatalogueImported, Rejected
from flows.exchange.packageevents import is_of_event, named_by_events
from storage.collection import Collection
from storage.counted import collection_items, parquet_rows
from storage.errors import InputError
from storage.individuals import PAIRS_KEY, add_known
from storage.nameentries import check_text
from storage.reading import reading
from storage.schema import KNOWN_PAIRS, KNOWN_PICTURES, NEIGHBOR_INDEX
from storage.workspace import Workspace

PICTURES = ("id", "picture", "path", "file", "filename", "observationid", "mediaid", "image_id")
NAMES = ("name", "identity", "individualid", "individual", "organismid")
SIDES = ("side", "orientation", "viewpoint")
PAIRS = ("id_u", "id_v", "value")
BOXES = "two boxes of one picture"  # what campaigns say where it came from
MOST_OVERLAP = 0.5  # of the smaller box, from which on two boxes may be one animal
MOST = 600  # individuals of which each differs from each, pair by pair; of more only those that look alike
_LONGEST_NAME, _LONGEST_ORIGIN = 80, 255
_OBSERVATIONS = "observations.csv"  # of a Camtrap DP package
_EXPECTED = "a picture (id or path) and a name (name or identity) in each row, or id_u, id_v and value (same or different)"


@dataclass(slots=True)
class _Found:
    """What a file says, checked row by row."""

    pictures: dict[int, tuple[str, str | None]] = field(default_factory=dict)  # item -> name, side
    pairs: dict[tuple[int, int], float] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    lines: dict[int, int] = field(default_factory=dict)  # item -> where it stands
    line: int = 0  # that is looked at now


class Pictures:
    """Finds the item that a file means: by its id, by the end of its path, by the name of its file if only one has it."""

    def __init__(self, collection: Collection) -> None:
        self._by_id = {name: item for item, name in enumerate(collection.ids)}
        self._by_end: dict[str, int | None] = {}
        for item, name in enumerate(collection.ids):
            end = name.rpartition("/")[2]
            self._by_end[end] = None if end in self._by_end else item

    def find(self, name: str, column: str) -> int:
        if name in self._by_id:
            return self._by_id[name]
        end = name.replace("\\", "/").rpartition("/")[2]
        found = self._by_end.get(end)
        if found is not None:
            return found
        if end in self._by_end:
            raise InputError(
                f"column {column}: several pictures are called {shortened(end)}: write the id of the one that is meant"
            )
        raise InputError(f"column {column}: there is no picture {shortened(name)} in the collection: write its id, or its path")

    def of_row(self, row: Row, named: Sequence[str]) -> int:
        """The picture of a row: the first of its columns that names one; what is wrong is said of the first that is filled."""
        wrong: InputError | None = None
        for column in named:
            if given := text(row.get(column), column):
                try:
                    return self.find(given, column)
                except InputError as error:
                    wrong = wrong or error
        raise wrong or InputError(f"column {named[0]} is empty: write the id or the path of a picture")


def import_catalogue(workspace: str, file: str) -> CatalogueImported:
    """Bring a catalogue, or pairs, into the workspace."""
    opened, path = Workspace.open(workspace), Path(file)
    origin = check_text(path.absolute().name, "the name of the file", _LONGEST_ORIGIN)
    _require(opened, rows_written(path / _OBSERVATIONS if path.is_dir() else path))
    pictures, found = Pictures(opened.collection()), _Found()
    if path.is_dir():
        with reading(path):
            _take_folder(found, path, pictures)
    else:
        _take_table(found, read_rows(path, (*PICTURES, *NAMES, *SIDES, *PAIRS)), pictures)
    counts: dict[str, int] = {}

    def add(known: pa.Table, pairs: pa.Table) -> tuple[pa.Table, pa.Table]:
        return _added(found, origin, known, pairs, opened, counts)

    add_known(opened, add)
    return CatalogueImported(file=file, rejected=sorted(found.rejected, key=lambda row: row.line), **counts)


def import_boxes(workspace: str) -> CatalogueImported:
    """Bring in that two boxes of one picture show two individuals; not of boxes that overlap much, which may be drawn twice."""
    opened, found = Workspace.open(workspace), _Found()
    by_picture: dict[str, list[tuple[int, Box]]] = {}
    for item, uri in enumerate(opened.collection().table.column("uri").to_pylist()):
        address = None if uri is None else Address.parse(uri)
        if address is not None and address.box is not None:
            by_picture.setdefault(f"{address.path} {address.offset}", []).append((item, address.box))
    _require(opened, sum(len(boxes) * (len(boxes) - 1) // 2 for boxes in by_picture.values()))
    for boxes in by_picture.values():
        for (u, one), (v, other) in combinations(boxes, 2):
            if one.percent == other.percent and overlap(one, other) < MOST_OVERLAP:
                found.pairs[u, v] = DIFFERENT
    counts: dict[str, int] = {}
    add_known(opened, lambda known, pairs: _added(found, BOXES, known, pairs, opened, counts))
    return CatalogueImported(file=BOXES, rejected=[], **counts)


def _require(opened: Workspace, rows: int) -> None:
    """Refuse what does not fit in memory, before anything is read or written."""
    known = parquet_rows(opened.objects, PAIRS_KEY)
    require("catalogue import", Size(collection_items(opened.objects), answers=rows + known))


def overlap(one: Box, other: Box) -> float:
    """Return the share of the smaller box that the other one covers.

    >>> overlap(Box(0, 0, 10, 10), Box(5, 0, 10, 10)), overlap(Box(0, 0, 10, 10), Box(20, 0, 5, 5))
    (0.5, 0.0)
    """
    wide = min(one.left + one.width, other.left + other.width) - max(one.left, other.left)
    high = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
    smaller = min(one.width * one.height, other.width * other.height)
    return max(wide, 0.0) * max(high, 0.0) / smaller if smaller > 0 else 1.0


def _take_folder(found: _Found, folder: Path, pictures: Pictures) -> None:
    if (folder / _OBSERVATIONS).is_file():
        rows = read_rows(folder / _OBSERVATIONS, (*PICTURES, *NAMES))
        whole = list(named_by_events(folder, rows.rows))
        events = (folder / "media.csv").is_file()  # then an event is about media, and no picture has its id
        rows.rows[:] = [
            (line, row) for line, row in rows.rows
            if text(row.get("individualid"), "individualID") and not (events and is_of_event(row))
        ]  # fmt: skip
        if rows.rows or not whole:
            _take_table(found, rows, pictures)
        for line, medium, name in whole:
            found.line = line
            with naming(found.rejected, line):
                _note(found, pictures.find(medium, "mediaID"), _name(name, "column individualID: a name"), None)
        return
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent != folder)
    if not files:
        raise InputError(f"{folder} has no subfolder with pictures: a folder is a catalogue if it has one for each individual")
    for number, path in enumerate(files, start=1):
        found.line = number
        try:
            name = _name(path.relative_to(folder).parts[0], "the folder's name")
            try:
                item = pictures.find(path.relative_to(folder).as_posix(), "file")
            except InputError:
                item = pictures.find(path.name, "file")
            _note(found, item, name, None)
        except InputError as error:
            found.rejected.append(Rejected(number, f"{shortened(str(path.relative_to(folder)))}: {error}"))


def _take_table(found: _Found, rows: Rows, pictures: Pictures) -> None:
    found.rejected += [Rejected(*row) for row in rows.rejected]
    if {"id_u", "id_v"} <= set(rows.columns):
        rows.require(_EXPECTED, "value")
        for line, row in rows.rows:
            with naming(found.rejected, line):
                _note_pair(found, row, pictures)
        return
    rows.require(_EXPECTED, *NAMES)
    rows.require(_EXPECTED, *PICTURES)
    columns = set(rows.columns)
    named = [name for name in PICTURES if name in columns]
    name_column = next(name for name in NAMES if name in columns)
    side_column = next((name for name in SIDES if name in columns), None)
    for line, row in rows.rows:
        found.line = line
        with naming(found.rejected, line):
            _note_row(found, row, pictures, named, name_column, side_column)


@contextmanager
def naming(rejected: list[Rejected], line: int) -> Iterator[None]:
    """Keep what is wrong with a row, with its line, and go on."""
    try:
        yield
    except InputError as error:
        rejected.append(Rejected(line, str(error)))


def _note_row(found: _Found, row: Row, pictures: Pictures, named: list[str], name_column: str, side_column: str | None) -> None:
    if name_column not in row and named[0] in row:
        raise InputError(f"the row ends before the column {name_column}: write a name there, or unknown")
    name = text(row.get(name_column), name_column)
    if not name or name.lower() in ("unknown", "nan"):  # wildlife-datasets calls those "unknown": nothing is known of them
        return
    item = pictures.of_row(row, named)
    side = text(row.get(side_column), side_column) if side_column else ""
    side = check_text(side, f"column {side_column}: a side", _LONGEST_NAME)
    _note(found, item, _name(name, f"column {name_column}: a name"), side or None)


def _name(given: str, what: str) -> str:
    return check_text(given, what, _LONGEST_NAME)


def _note(found: _Found, item: int, name: str, side: str | None) -> None:
    before = found.pictures.get(item)
    if before is not None and before[0] != name:
        raise InputError(f"column name: the picture is {shortened(before[0])} in a row above, and {shortened(name)} here")
    found.pictures[item] = name, side
    found.lines[item] = found.line


def _note_pair(found: _Found, row: Row, pictures: Pictures) -> None:
    word = said(row.get("value"))
    value = SAME_QUESTION.read(word) if word else None
    if value not in (SAME, DIFFERENT):
        raise InputError(f"column value: a pair is same or different, not {shortened(row.get('value'))}")
    u, v = (pictures.find(text(row.get(side), side), side) for side in ("id_u", "id_v"))
    if u == v:
        raise InputError("columns id_u and id_v name one picture: a pair has two")
    if found.pairs.setdefault((min(u, v), max(u, v)), value) != value:
        raise InputError("column value: a row above says the opposite of this pair")


def _added(
    found: _Found, origin: str, known: pa.Table, pairs: pa.Table, opened: Workspace, counts: dict[str, int]
) -> tuple[pa.Table, pa.Table]:
    """What is there, with what is new behind it; all or nothing: `InputError` if the whole would contradict itself."""
    ids = opened.collection().ids
    pictures = {row["item"]: row for row in known.to_pylist()}
    there = pairs.to_pylist()
    truth = Constraints()
    truth.extend((row["u"], row["v"], row["value"], str(number)) for number, row in enumerate(there) if row["error"] is None)
    for item, (name, _) in list(found.pictures.items()):
        if item in pictures and pictures[item]["name"] != name:
            was = pictures[item]["name"]
            reason = f"{ids[item]} is {shortened(was)} in the catalogue, and {shortened(name)} here: correct it by hand"
            found.rejected.append(Rejected(found.lines[item], f"{reason} (`cccount individuals move`)"))
            del found.pictures[item]
    new = [{"item": item, "name": name, "side": side, "origin": origin} for item, (name, side) in found.pictures.items()
           if item not in pictures]  # fmt: skip
    keys: dict[str, int] = {}
    for row in [*pictures.values(), *new]:
        keys.setdefault(row["name"], row["item"])
    rows: list[dict[str, object]] = []
    for u, v, value in _said(found, keys, new, _apart(keys, {**pictures, **{int(str(row["item"])): row for row in new}}, opened)):
        before = truth.known(u, v)
        if before is None:
            truth.add(u, v, value, f"new {len(rows)}")
            rows.append({"u": u, "v": v, "value": value, "origin": origin})
        elif before != value:
            raise InputError(
                f"{origin} contradicts itself or what is known about {ids[u]!r} and {ids[v]!r}: nothing was imported"
            )
    counts.update(pictures=len(new), individuals=len(keys), pairs=len(rows))
    all_pictures = pa.Table.from_pylist([*pictures.values(), *new], KNOWN_PICTURES.schema)
    return all_pictures, pa.Table.from_pylist([*there, *rows], KNOWN_PAIRS.schema)


def _apart(keys: Mapping[str, int], known: Mapping[int, Mapping[str, object]], opened: Workspace) -> Iterable[tuple[int, int]]:
    """Pictures that stand for two individuals which differ: all pairs of few; of many those that look alike, for pairs grow with
    the square of the individuals, in every campaign's log, and others are hardly asked about."""
    if len(keys) <= MOST:
        return combinations(keys.values(), 2)
    if not opened.has_array(NEIGHBOR_INDEX):
        raise InputError(
            f"{len(keys):,} individuals: of more than {MOST} only those that look alike are said to differ (all pairs would be "
            f"{len(keys) * (len(keys) - 1) // 2:,} rows in the log of each campaign): run `cccount embed` and "
            "`cccount neighbors` first, then import them"
        )
    lists, near = neighbor_lists(opened), set[tuple[int, int]]()
    for item, row in known.items():
        for other in lists[item].tolist() if item < len(lists) else ():
            if other in known and known[other]["name"] != row["name"]:
                u, v = keys[str(row["name"])], keys[str(known[other]["name"])]
                near.add((min(u, v), max(u, v)))
    return sorted(near)


def _said(
    found: _Found, keys: Mapping[str, int], new: Sequence[Mapping[str, object]], apart: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int, float]]:
    """What the file says about pairs: those of one individual are the same, those of two differ."""
    for row in new:
        key, item = keys[str(row["name"])], int(str(row["item"]))
        if key != item:
            yield key, item, SAME
    for u, v in apart:
        yield u, v, DIFFERENT
    for (u, v), value in found.pairs.items():
        yield u, v, value


__all__ = ["BOXES", "PICTURES", "Pictures", "import_boxes", "import_catalogue", "naming", "overlap"]

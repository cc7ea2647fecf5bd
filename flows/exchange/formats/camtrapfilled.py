"""A Camtrap DP package that is given, with who is on its pictures.

`individualID` is filled in; every other cell (`individualPositionRadius`, say) and every other file stay as found. A row is
filled where it is certain whom it is about: not if it is of several animals, or one of several about a picture without boxes, and
not if it says that there is no animal. A picture that only an event names gets a row of its own at the end. Time and memory: the
package.
"""

import csv
import io
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cccount_dist.campaign.answerwords import plural
from cccount_dist.embedding.readers.camtrapmedia import Places
from cccount_dist.individuals.roster import Individual
from flows.exchange.csvfiles import guarded
from flows.exchange.formats.source import Source, Written, called, notes
from storage.errors import InputError
from storage.reading import read_regular, reading, require_file

Row = dict[str, str]
_OPEN_TYPES = ("", "animal", "unknown", "unclassified")
_OWN = "cccount-"  # before the id of a medium, in the id of an observation that is added


@dataclass(frozen=True)
class _Table:
    """A csv file as it was written."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    mark: bytes = b""
    end: str = "\n"

    @classmethod
    def read(cls, path: Path) -> "_Table":
        with reading(path):
            data = read_regular(path)
            text = data.decode("utf-8-sig")
            rows = list(csv.reader(io.StringIO(text, newline="")))
        first = text.splitlines(keepends=True)[:1]
        mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
        end = "\r\n" if first and first[0].endswith("\r\n") else "\n"
        return cls(path, rows[0] if rows else [], rows[1:], mark, end)

    def named(self, row: list[str]) -> Row:
        return dict(zip(self.header, row, strict=False))

    def written(self) -> bytes:
        sink = io.StringIO(newline="")
        csv.writer(sink, lineterminator=self.end).writerows([self.header, *self.rows])
        return self.mark + sink.getvalue().encode()


class _Pictures:
    """Finds the picture of the collection that an observation or a medium is: by its id, which `extend --prefix` may have made
    longer; of several by the file."""

    def __init__(self, source: Source, package: Path, media: list[Row]) -> None:
        self._source = source
        self._ids = source.census.facts.ids
        self._places, self._media = Places(package, media), {row.get("mediaID", ""): row for row in media}
        self._by_end = defaultdict[str, list[int]](list)
        for item, _ in source.pictures:
            parts = self._ids[item].split("/")
            for start in range(len(parts)):
                self._by_end["/".join(parts[start:])].append(item)

    @cached_property
    def shown(self) -> dict[int, Individual]:
        return dict(self._source.pictures)

    def find(self, name: str, medium: str) -> int | None:
        """The item of this id, which is on this medium; None if nobody is on it, or if it cannot be told."""
        found = self._by_end.get(name, []) if name else []
        if len(found) > 1 and (path := self._path(medium)) is not None:
            found = [item for item in found if self._source.address(item).path == path] or found
        if len(found) > 1:
            found = [item for item in found if self._ids[item] == name]
        return found[0] if len(found) == 1 else None

    def _path(self, medium: str) -> str | None:
        try:
            return self._places.of(self._media[medium], "") if medium in self._media else None
        except InputError:
            return None


def filled(source: Source, package: Path) -> Written:
    """Fill the individuals into a package, and name what could not be."""
    for name in ("datapackage.json", "observations.csv"):
        require_file(package / name)
    table = _Table.read(package / "observations.csv")
    if "individualID" not in table.header:
        raise InputError(f"{table.path} has no column individualID: is it a package of Camtrap DP 1.0?")
    column, media = table.header.index("individualID"), _media_of(package)
    pictures = _Pictures(source, package, media)
    given = [table.named(row) for row in table.rows]
    of_medium = Counter(one["mediaID"] for one in given if one.get("mediaID"))
    done, unclear = set[int](), set[int]()
    for number, (row, one) in enumerate(zip(table.rows, given, strict=True), start=2):
        medium = one.get("mediaID", "")
        own = pictures.find(one.get("observationID", ""), medium)
        item = pictures.find(medium, medium) if own is None else own
        if item is None:
            continue
        if len(row) != len(table.header):
            raise InputError(
                f"{table.path} row {number} has {len(row)} cells for {len(table.header)} columns: nothing was written"
            )
        several = one.get("count", "") not in ("", "1") or (own is None and of_medium[medium] > 1)
        if several or one.get("observationType", "") not in _OPEN_TYPES:
            unclear.add(item)
            continue
        row[column] = guarded(called(pictures.shown[item]))
        done.add(item)
    added = _added(pictures, media, of_medium, {one.get("observationID", "") for one in given}, done)
    table.rows.extend([[one.get(name, "") for name in table.header] for one in added])
    files = _files_of(package)
    left, beside = len(source.pictures) - len(done | unclear), sum(_is_beside(row.get("filePath", "")) for row in media)
    note = notes(
        f"{plural(len(added), 'observation')} added, for pictures that only an event names" if added else None,
        f"{plural(len(unclear - done), 'picture')} left as found, for their rows are of several animals or of none"
        if unclear - done else None,
        f"{plural(left, 'picture')} of the collection not in the package" if left > 0 else None,
        f"{plural(beside, 'picture file')} inside {package} not copied: put the same folders beside the new tables"
        if beside else None,
        "individualAnimals is false in datapackage.json: set it to true" if _says_none(files) else None,
    )  # fmt: skip
    return Written({**files, "observations.csv": table.written()}, len(done), note)


def _media_of(package: Path) -> list[Row]:
    path = package / "media.csv"
    if not path.is_file():
        return []
    table = _Table.read(path)
    return [table.named(row) for row in table.rows]


def _added(pictures: _Pictures, media: list[Row], of_medium: Counter[str], taken: set[str], done: set[int]) -> list[Row]:
    """Rows for media that no row names, whose picture shows somebody; the items are done then."""
    found: list[Row] = []
    for medium in media:
        name = medium.get("mediaID", "")
        item = None if of_medium[name] else pictures.find(name, name)
        if item is None or item in done:
            continue
        done.add(item)
        one, key = pictures.shown[item], f"{_OWN}{name}"
        while key in taken:
            key = f"{key}-2"
        people = list(one.checked_by) if item in one.checked_items else []
        found.append({
            "observationID": guarded(key), "deploymentID": medium.get("deploymentID", ""), "mediaID": name,
            "eventStart": medium.get("timestamp", ""), "eventEnd": medium.get("timestamp", ""), "observationLevel": "media",
            "observationType": "animal", "individualID": guarded(called(one)),
            "classificationMethod": "human" if people else "machine", "classifiedBy": guarded(" | ".join(people) or "cccount"),
        })  # fmt: skip
    return found


def _is_beside(path: str) -> bool:
    """Whether a file is named by where it lies in the package."""
    return bool(path) and "://" not in path and not path.startswith("/")


def _says_none(files: dict[str, bytes]) -> bool:
    try:
        described = json.loads(files["datapackage.json"])
        return described["project"]["individualAnimals"] is False
    except (ValueError, KeyError, TypeError, RecursionError):
        return False  # it goes out as found, whatever it is


def _files_of(package: Path) -> dict[str, bytes]:
    """The tables of a package as they are; what a link brings in from elsewhere is not the package's to give away."""
    found = {}
    for path in sorted(package.iterdir()):
        if path.suffix in (".json", ".csv"):
            with reading(path):
                if not path.resolve().is_relative_to(package.resolve()):
                    raise InputError(f"{path} is a link to a file outside the package: put the file itself there")
                found[path.name] = read_regular(path)
    return found


__all__ = ["filled"]

"""When and where pictures were taken, from what a plain folder has: the EXIF block of each file, and its path.

A time or a place that is known already stays. Time: with EXIF one open and some kilobytes of each file; memory: the table.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import pyarrow as pa
from PIL import Image

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import SUFFIXES
from cccount_dist.embedding.readers.idparts import finder
from cccount_dist.embedding.readers.table import parse_time
from storage.errors import InputError
from storage.reading import known_errors, open_regular
from storage.schema import COLLECTION

EXIF = "exif"
_GPS_BLOCK = 0x8825
_SUB_BLOCK, _ORIGINAL, _OFFSET, _CHANGED = 0x8769, 0x9003, 0x9011, 0x0132  # tags of EXIF
Update = Callable[[int], None]


def check_times(times: str) -> str:
    """Raise `InputError` for what times cannot be taken from."""
    if times != EXIF:
        raise InputError(f"--times takes {EXIF}, not {times!r}: other times come with a manifest (column taken_at)")
    return times


def check_gps(gps: str) -> str:
    """Raise `InputError` for what coordinates cannot be taken from."""
    if gps != EXIF:
        raise InputError(f"--gps takes {EXIF}, not {gps!r}: other coordinates come with a manifest (latitude, longitude)")
    return gps


def place_finder(place_from: str) -> Callable[[str], str | None]:
    """Return what finds the place in an id: a folder level from 1, or a regular expression (its first group, or all of it).

    >>> place_finder("1")("ford/cam2/a.jpg"), place_finder("3")("ford/cam2/a.jpg"), place_finder(r"cam(\\d+)")("ford/cam2/a.jpg")
    ('ford', None, '2')
    """
    return finder(place_from, "--place-from")


def with_places(table: pa.Table, place_from: str) -> pa.Table:
    """Return the table with the places that ids name; `InputError` if none names one: the level or pattern is wrong."""
    find = place_finder(place_from)
    groups = [known or find(name) for name, known in _columns(table, "id", "group")]
    if not any(groups):
        raise InputError(f"--place-from {place_from}: no id names a place, for example {table.column('id')[0].as_py()!r}")
    return _put(table, "group", groups)


def with_exif_times(table: pa.Table, update: Update = lambda _: None) -> pa.Table:
    """Return the table with the time that each file says it was taken at; a file that says none, or cannot be read, has none."""
    times: list[datetime | None] = []
    for number, (uri, known) in enumerate(_columns(table, "uri", "taken_at"), start=1):
        times.append(known or (None if uri is None else exif_time(uri)))
        update(number)
    return _put(table, "taken_at", times)


def exif_time(uri: str) -> datetime | None:
    """Return when a picture on this machine's disk was taken, in UTC; without a zone in the file its time is taken as UTC."""
    path = Address.parse(uri).path
    if "://" in path or not path.lower().endswith(tuple(SUFFIXES)):
        return None
    with suppress(*known_errors()), open_regular(path) as source, Image.open(source) as image:
        tags = image.getexif()
        inner = tags.get_ifd(_SUB_BLOCK)
        said = str(inner.get(_ORIGINAL) or tags.get(_CHANGED) or "").strip("\0 ")
        if said and not said.startswith(("0000", "    ")):
            with suppress(InputError):
                return parse_time(said + str(inner.get(_OFFSET) or "").strip("\0 "), path)
    return None


def with_exif_places(table: pa.Table, update: Update = lambda _: None) -> pa.Table:
    """Return the table with the coordinates that each file says; one that says none, or wrong ones, has none."""
    found: list[tuple[float, float] | tuple[None, None]] = []
    for number, (uri, north, east) in enumerate(_columns(table, "uri", "latitude", "longitude"), start=1):
        found.append((north, east) if north is not None else (None if uri is None else exif_place(uri)) or (None, None))
        update(number)
    table = _put(table, "latitude", [north for north, _ in found])
    return _put(table, "longitude", [east for _, east in found])


def exif_place(uri: str) -> tuple[float, float] | None:
    """Return the latitude and longitude that a picture on this machine's disk says, in degrees."""
    path = Address.parse(uri).path
    if "://" in path or not path.lower().endswith(tuple(SUFFIXES)):
        return None
    with suppress(*known_errors()), open_regular(path) as source, Image.open(source) as image:
        tags = image.getexif().get_ifd(_GPS_BLOCK)
        north, east = (_degrees(tags.get(first), tags.get(first + 1)) for first in (1, 3))
        if north is not None and east is not None and abs(north) <= 90 and abs(east) <= 180:
            return north, east
    return None


def _degrees(letter: object, parts: object) -> float | None:
    """Degrees from EXIF's degrees, minutes and seconds; of cameras that write zeros where they know nothing, none."""
    if not isinstance(parts, tuple) or len(parts) != 3:
        return None
    with suppress(ValueError, ZeroDivisionError, TypeError):
        whole = sum(float(part) / size for part, size in zip(parts, (1, 60, 3600), strict=True))
        if math.isfinite(whole):
            return -whole if str(letter).strip("\0 ").upper() in ("S", "W") else whole
    return None


def _columns(table: pa.Table, *names: str) -> Iterator[tuple[Any, ...]]:
    nothing = [None] * table.num_rows
    return zip(*(table.column(name).to_pylist() if name in table.column_names else nothing for name in names), strict=True)


def _put(table: pa.Table, name: str, values: Sequence[object]) -> pa.Table:
    field = COLLECTION.schema.field(name)
    column = pa.array(values, field.type)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), field, column)
    return table.append_column(field, column)


__all__ = [
    "EXIF",
    "check_gps",
    "check_times",
    "exif_place",
    "exif_time",
    "place_finder",
    "with_exif_places",
    "with_exif_times",
    "with_places",
]

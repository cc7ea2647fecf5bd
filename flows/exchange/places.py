"""A table of places: where each is, for formats that need coordinates. `place` is what the collection calls it.

Columns: `place` (or deploymentID, locationName), then `latitude` and `longitude` in degrees, or `x` and `y` in metres, and, if
known, `start` and `end` of the camera there. Every wrong cell is named with line and column, and nothing goes out: a camera in
the wrong place spoils a population model without a sign.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from flows.exchange.answerfiles import Row, read_rows
from flows.exchange.cells import shortened, text
from storage.errors import InputError

NAMES = ("place", "deploymentid", "locationname", "locationid", "detector")
_COLUMNS = (*NAMES, "latitude", "longitude", "x", "y", "start", "end")
_EXPECTED = "place, and latitude and longitude (degrees) or x and y (metres), for example `ford,-3.51,29.85`"
_EARTH = 6_371_008.8  # metres
_MOST_TOLD = 5


@dataclass(frozen=True, slots=True)
class Place:
    """Where a camera stood, and from when to when."""

    latitude: float | None = None
    longitude: float | None = None
    x: float | None = None
    y: float | None = None
    start: datetime | None = None
    end: datetime | None = None


def read_places(path: Path) -> dict[str, Place]:
    """Read a table of places; `InputError` with line, column and what is right for the first wrong cells."""
    rows = read_rows(path, _COLUMNS)
    rows.require(_EXPECTED, *NAMES)
    named = next(name for name in NAMES if name in rows.columns)
    if not {"latitude", "longitude"} <= set(rows.columns) and not {"x", "y"} <= set(rows.columns):
        raise InputError(f"{path} has no columns latitude and longitude, or x and y: expected {_EXPECTED}")
    wrong = [f"line {line}: {why}" for line, why in rows.rejected]
    found: dict[str, Place] = {}
    for line, row in rows.rows:
        try:
            found[_new_name(row, named, found)] = _place(row)
        except InputError as error:
            wrong.append(f"line {line}: {error}")
    if wrong:
        more = f"; and {len(wrong) - _MOST_TOLD} more" if len(wrong) > _MOST_TOLD else ""
        raise InputError(f"{path}: {'; '.join(wrong[:_MOST_TOLD])}{more}. Nothing was written")
    return found


def in_metres(places: Mapping[str, Place]) -> dict[str, tuple[float, float]]:
    """Return x and y of the places that have them. Degrees become metres on the plane that touches the earth amid the places.

    >>> in_metres({"a": Place(x=1.0, y=2.0)})
    {'a': (1.0, 2.0)}
    >>> {name: tuple(map(round, xy)) for name, xy in in_metres({"a": Place(0.0, 10.0), "b": Place(0.0, 10.01)}).items()}
    {'a': (-556, 0), 'b': (556, 0)}
    """
    if any(place.x is not None and place.y is not None for place in places.values()):
        return {name: (place.x, place.y) for name, place in places.items() if place.x is not None and place.y is not None}
    known = {
        name: (place.latitude, place.longitude)
        for name, place in places.items()
        if place.latitude is not None and place.longitude is not None
    }
    if not known:
        return {}
    north, east = _mean(latitude for latitude, _ in known.values()), _mean(longitude for _, longitude in known.values())
    across = _EARTH * math.cos(math.radians(north))
    return {
        name: (across * math.radians(longitude - east), _EARTH * math.radians(latitude - north))
        for name, (latitude, longitude) in known.items()
    }


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _new_name(row: Row, column: str, found: Mapping[str, Place]) -> str:
    name = text(row.get(column), column)
    if not name:
        raise InputError(f"column {column} is empty: write what the collection calls the place")
    if name in found:
        raise InputError(f"column {column}: {shortened(name)} is in a row above: one row for each place")
    return name


def _place(row: Row) -> Place:
    place = Place(_number(row, "latitude", 90.0), _number(row, "longitude", 180.0), _number(row, "x"), _number(row, "y"))
    return replace(place, start=_time(row, "start"), end=_time(row, "end"))


def _number(row: Row, column: str, most: float = math.inf) -> float | None:
    said = text(row.get(column), column)
    if not said:
        return None
    try:
        number = float(said.replace(",", "."))
    except ValueError:
        number = math.nan
    if not abs(number) <= most or math.isinf(number):
        between = f" from {-most:g} to {most:g}" if most < math.inf else ""
        raise InputError(f"column {column}: {shortened(said)} is no number{between}, as 29.85 is")
    return number


def _time(row: Row, column: str) -> datetime | None:
    said = text(row.get(column), column)
    if not said:
        return None
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        raise InputError(f"column {column}: {shortened(said)} is no time, as 2026-05-01 or 2026-05-01T06:00:00Z is") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


__all__ = ["Place", "in_metres", "read_places"]

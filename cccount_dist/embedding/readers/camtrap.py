"""Camtrap DP packages (datapackage.json, media.csv, observations.csv): camera-trap pictures and what was seen on them.

An item is a box around an animal (a media-level observation with bboxX, bboxY, bboxWidth, bboxHeight), or, in a package
without any boxes, a picture. Group: the deployment. Label: `individualID`, which is what a census counts, where it is known; of a
picture that no observation names, what the only observation of its event says. Memory: the media's paths and times, and the
observations, as dictionaries.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.readers.camtrapmedia import Events, Places, is_animal
from cccount_dist.embedding.readers.sides import side_of
from cccount_dist.embedding.readers.table import PLACED, clipped_box, degrees, parse_time, records, require_image, text
from cccount_dist.embedding.readers.tablerows import Row, batches
from storage.errors import InputError
from storage.reading import unusable

_BOX = ("bboxX", "bboxY", "bboxWidth", "bboxHeight")
_LABEL = "individualID"
_TAGS = "observationTags"


def read_camtrap(folder: Path, label: str | None = None) -> Iterator[pa.Table]:
    """Yield the items of a package; `label` names a column of the observations, such as `scientificName`."""
    for name in ("media.csv", "observations.csv"):
        if (why := unusable(folder / name)) is not None:
            raise InputError(f"{folder} looks like a Camtrap DP package and has no {name} ({why})")
    yield from batches(_rows(folder, label))


def _rows(folder: Path, label: str | None) -> Iterator[Row]:
    media = {str(record.get("mediaID")): record for record in records(folder / "media.csv")}
    places, there, where_of = Places(folder, media.values()), set[str](), _deployments(folder)
    observations = folder / "observations.csv"
    boxed = False
    named: dict[str, str | None] = {}
    sides: dict[str, str | None] = {}
    events: list[Mapping[str, object]] = []

    def item(medium: Mapping[str, object], where: str, **known: object) -> Row:
        path = places.of(medium, where)
        require_image(path, there, where)
        return {
            "id": str(medium.get("mediaID")),
            "uri": Address(path).uri(),
            "group": text(medium.get("deploymentID")),
            "taken_at": parse_time(medium.get("timestamp"), where),
            **where_of.get(str(medium.get("deploymentID")), {}),
            **known,
        }

    for number, record in enumerate(records(observations), start=1):
        where = f"{observations} row {number}"
        if label is not None and label not in record:
            raise InputError(f"{observations} has no column {label!r} to take labels from")
        identity = str(record.get("mediaID"))
        seen = media.get(identity)
        if record.get("mediaID") and seen is None:
            raise InputError(f"{where}: there is no medium {record['mediaID']} in media.csv")
        if seen is None:  # an observation of a whole event
            if is_animal(record):
                events.append(record)
            continue
        name, side = text(record.get(label or _LABEL)), side_of(record, _TAGS)
        named[identity] = named.get(identity) or name
        sides[identity] = sides.get(identity) or side
        if all(record.get(part) not in (None, "") for part in _BOX) and is_animal(record):
            boxed = True
            uri = _boxed(places.of(seen, where), record, where)
            own = str(record.get("observationID") or seen.get("mediaID"))
            yield item(seen, where, id=own, uri=uri, label=name, side=side)
    if boxed:
        return
    by_event = Events(events, f"{observations}")
    for number, (identity, seen) in enumerate(media.items(), start=1):
        if not str(seen.get("fileMediatype") or "image/").startswith("image/"):
            continue
        where = f"{folder / 'media.csv'} row {number}"
        only = None if identity in named else by_event.only(seen, where)
        found = named.get(identity) if only is None else text(only.get(label or _LABEL))
        yield item(seen, where, label=found, side=sides.get(identity) or side_of(seen))


def _deployments(folder: Path) -> dict[str, Row]:
    """Where each deployment was; nothing where the package has no such table."""
    path = folder / "deployments.csv"
    if not path.is_file():
        return {}
    rows = ((f"{path} row {number}", record) for number, record in enumerate(records(path), start=1))
    return {str(one.get("deploymentID")): {name: degrees(one.get(name), name, where) for name in PLACED} for where, one in rows}


def _boxed(path: str, box: Mapping[str, object], where: str) -> str:
    try:
        left, top, width, height = (100 * float(str(box[part])) for part in _BOX)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: the box {[box[part] for part in _BOX]} is not made of numbers") from error
    return Address(path, box=clipped_box(left, top, width, height, percent=True, where=where)).uri()


__all__ = ["read_camtrap"]

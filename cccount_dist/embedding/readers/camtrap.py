"""Camtrap DP packages (datapackage.json, media.csv, observations.csv): camera-trap pictures and what was seen on them.

An item is a box around an animal (a media-level observation with bboxX, bboxY, bboxWidth, bboxHeight), or, in a package
without any boxes, a picture. Group: the deployment. Label: `individualID`, which is what a census counts, where it is known.
Memory: the media's paths and times, as one dictionary.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.readers.sides import side_of
from cccount_dist.embedding.readers.table import PLACED, clipped_box, degrees, parse_time, records, resolve, text
from cccount_dist.embedding.readers.tablerows import Row, batches
from storage.errors import InputError
from storage.reading import unusable

_BOX = ("bboxX", "bboxY", "bboxWidth", "bboxHeight")
_LABEL = "individualID"


def read_camtrap(folder: Path, label: str | None = None) -> Iterator[pa.Table]:
    """Yield the items of a package; `label` names a column of the observations, such as `scientificName`."""
    for name in ("media.csv", "observations.csv"):
        if (why := unusable(folder / name)) is not None:
            raise InputError(f"{folder} looks like a Camtrap DP package and has no {name} ({why})")
    yield from batches(_rows(folder, label))


def _rows(folder: Path, label: str | None) -> Iterator[Row]:
    media = {str(record.get("mediaID")): record for record in records(folder / "media.csv")}
    where_of = _deployments(folder)
    observations = folder / "observations.csv"
    boxed = False
    labels: dict[str, str | None] = {}
    for number, record in enumerate(records(observations), start=1):
        where = f"{observations} row {number}"
        if label is not None and label not in record:
            raise InputError(f"{observations} has no column {label!r} to take labels from")
        seen = media.get(str(record.get("mediaID")))
        if record.get("mediaID") and seen is None:
            raise InputError(f"{where}: there is no medium {record['mediaID']} in media.csv")
        if seen is None:  # an observation of a whole event
            continue
        name = text(record.get(label or _LABEL))
        labels.setdefault(str(record["mediaID"]), name)
        if all(record.get(part) not in (None, "") for part in _BOX) and record.get("observationType") in (None, "", "animal"):
            boxed = True
            yield {**_item(folder, seen, where, box=record, name=name), **where_of.get(str(seen.get("deploymentID")), {})}
    if not boxed:
        for number, (identity, seen) in enumerate(media.items(), start=1):
            kind = str(seen.get("fileMediatype") or "image/")
            if kind.startswith("image/"):
                item = _item(folder, seen, f"{folder / 'media.csv'} row {number}", box=None, name=labels.get(identity))
                yield {**item, **where_of.get(str(seen.get("deploymentID")), {})}


def _deployments(folder: Path) -> dict[str, Row]:
    """Where each deployment was; nothing where the package has no such table."""
    path = folder / "deployments.csv"
    if not path.is_file():
        return {}
    rows = ((f"{path} row {number}", record) for number, record in enumerate(records(path), start=1))
    return {str(one.get("deploymentID")): {name: degrees(one.get(name), name, where) for name in PLACED} for where, one in rows}


def _item(folder: Path, medium: Mapping[str, object], where: str, *, box: Mapping[str, object] | None, name: str | None) -> Row:
    path = resolve(str(medium.get("filePath") or ""), folder.resolve(), where)
    if not Path(path).is_file():
        raise InputError(f"{where}: there is no file {path:.300}")
    crop = None
    if box is not None:
        try:
            left, top, width, height = (100 * float(str(box[part])) for part in _BOX)
        except (ValueError, OverflowError) as error:
            raise InputError(f"{where}: the box {[box[part] for part in _BOX]} is not made of numbers") from error
        crop = clipped_box(left, top, width, height, percent=True, where=where)
    return {
        "id": str((box or {}).get("observationID") or medium.get("mediaID")),
        "uri": Address(path, box=crop).uri(),
        "label": name,
        "group": text(medium.get("deploymentID")),
        "taken_at": parse_time(medium.get("timestamp"), where),
        "side": side_of(box, "observationTags") if box is not None else side_of(medium),
    }


__all__ = ["read_camtrap"]

"""COCO annotations: one item for each annotated box, cropped out of its image; an annotation without a box is the whole image.

A COCO file is one JSON document and is parsed whole (segmentations are dropped while parsing): memory grows with it, once,
at `init`. Images are looked for beside the file, or below a root that is given. Camera-trap files bring `location` and
`datetime` along.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.readers.table import first, parse_box, parse_time, resolve, text, whole_pixels
from cccount_dist.embedding.readers.tablerows import Row, batches
from storage.errors import InputError
from storage.reading import read_regular, reason, unusable

_DROPPED = ("segmentation", "keypoints", "caption")


def read_coco(path: Path, label: str | None = None, root: Path | None = None) -> Iterator[pa.Table]:
    """Yield an item for each annotation; its label is the category's name, or the annotation's key `label`."""
    document = _parsed(path)
    yield from batches(_rows(path, document, label, (root or path.parent).resolve()))


def _rows(path: Path, document: Mapping[str, Any], label: str | None, root: Path) -> Iterator[Row]:
    categories = {one["id"]: text(one.get("name")) for one in _listed(path, document, "categories")}
    images = {one["id"]: one for one in _listed(path, document, "images")}
    annotations = _listed(path, document, "annotations", with_id=False)
    if not annotations:
        raise InputError(f"{path} has no annotations")
    found: dict[object, str] = {}  # files that are known to be there: several boxes share one
    for number, annotation in enumerate(annotations):
        where = f"{path} annotation {annotation.get('id', number)!r:.40}"
        image = images.get(_key(annotation.get("image_id")))
        if image is None:
            raise InputError(f"{where}: there is no image {annotation.get('image_id')!r:.60}")
        if label is not None and label not in annotation:
            raise InputError(f"{where}: no {label!r} to take the label from")
        file = found.get(image["id"]) or resolve(str(image.get("file_name") or ""), root, where)
        if image["id"] not in found and (why := unusable(file)) is not None:
            raise InputError(f"{where}: there is no file {file:.300} ({why}): name the folder of its images with --images")
        found[image["id"]] = file
        box = parse_box(annotation.get("bbox") or None, where)
        yield {
            "id": text(annotation.get("id", number)),
            "uri": Address(file, box=box).uri(),
            "label": text(annotation[label]) if label is not None else categories.get(_key(annotation.get("category_id"))),
            "group": text(image.get("location")),
            "taken_at": parse_time(first(image, ("datetime", "date_captured")), where),
            "width": whole_pixels(image.get("width") if box is None else box.width, where),
            "height": whole_pixels(image.get("height") if box is None else box.height, where),
        }


def _listed(path: Path, document: Mapping[str, Any], name: str, *, with_id: bool = True) -> list[dict[str, Any]]:
    """The objects of a list of the document; each has an id that a dictionary can be looked up by."""
    given = document.get(name, [] if name == "categories" else None)
    if not isinstance(given, list):
        raise InputError(f"{path} is not a COCO file: it needs images and annotations with ids, and {name} is no list")
    for number, one in enumerate(given):
        if not isinstance(one, dict) or (with_id and _key(one.get("id")) is None):
            raise InputError(f"{path} is not a COCO file: {name}[{number}] must be an object with an id, a number or text")
    return given


def _key(value: object) -> object:
    """An id that can be looked up; None for what is none."""
    return value if isinstance(value, str | int | float) else None


def _parsed(path: Path) -> Mapping[str, Any]:
    def slim(entry: dict[str, Any]) -> dict[str, Any]:
        for key in _DROPPED:
            entry.pop(key, None)
        return entry

    try:
        document = json.loads(read_regular(path), object_hook=slim)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {reason(error)}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a COCO file: it needs images and annotations")
    return document


__all__ = ["read_coco"]

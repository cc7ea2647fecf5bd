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
from cccount_dist.embedding.readers.rows import Row, batches
from cccount_dist.embedding.readers.table import clipped_box, first, parse_time, resolve, text
from storage.errors import InputError

_DROPPED = ("segmentation", "keypoints", "caption")


def read_coco(path: Path, label: str | None = None, root: Path | None = None) -> Iterator[pa.Table]:
    """Yield an item for each annotation; its label is the category's name, or the annotation's key `label`."""
    document = _parsed(path)
    yield from batches(_rows(path, document, label, (root or path.parent).resolve()))


def _rows(path: Path, document: Mapping[str, Any], label: str | None, root: Path) -> Iterator[Row]:
    try:
        categories = {category["id"]: text(category["name"]) for category in document.get("categories", ())}
        images = {image["id"]: image for image in document["images"]}
        annotations = document["annotations"]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a COCO file: it needs images and annotations with ids") from error
    if not annotations:
        raise InputError(f"{path} has no annotations")
    found: dict[object, str] = {}  # files that are known to be there: several boxes share one
    for number, annotation in enumerate(annotations):
        where = f"{path} annotation {annotation.get('id', number)}"
        image = images.get(annotation.get("image_id"))
        if image is None:
            raise InputError(f"{where}: there is no image {annotation.get('image_id')!r}")
        if label is not None and label not in annotation:
            raise InputError(f"{where}: no {label!r} to take the label from")
        file = found.get(image["id"]) or resolve(str(image.get("file_name") or ""), root, where)
        if image["id"] not in found and not Path(file).is_file():
            raise InputError(f"{where}: there is no file {file}: name the folder of its images with --images")
        found[image["id"]] = file
        numbers = annotation.get("bbox")
        if numbers and len(numbers) != 4:
            raise InputError(f"{where}: the box {numbers} is not x, y, width, height")
        box = clipped_box(*map(float, numbers), where=where) if numbers else None
        yield {
            "id": str(annotation.get("id", number)),
            "uri": Address(file, box=box).uri(),
            "label": text(annotation[label]) if label is not None else categories.get(annotation.get("category_id")),
            "group": text(image.get("location")),
            "taken_at": parse_time(first(image, ("datetime", "date_captured")), where),
            "width": image.get("width") if box is None else int(box.width),
            "height": image.get("height") if box is None else int(box.height),
        }


def _parsed(path: Path) -> Mapping[str, Any]:
    def slim(entry: dict[str, Any]) -> dict[str, Any]:
        for key in _DROPPED:
            entry.pop(key, None)
        return entry

    try:
        with path.open(encoding="utf-8") as source:
            document = json.load(source, object_hook=slim)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is not a COCO file: it needs images and annotations")
    return document


__all__ = ["read_coco"]

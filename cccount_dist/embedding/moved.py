"""Pictures that are no longer where the collection says: which ones, and where in another folder they are now.

Only what lies on a disk is looked for: a picture in an object store is asked for when it is shown. Time: a look at the folder for
each file; memory: the collection table.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import pyarrow as pa
from PIL import Image

from cccount_dist.embedding.address import Address
from storage.collection import Collection
from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class Found:
    """What looking for pictures in another folder came to."""

    table: pa.Table  # the collection, with the pictures where they are now
    moved: Sequence[int]  # items
    missing: Sequence[int]  # items that are neither where they were nor there


def missing_pictures(collection: Collection) -> list[int]:
    """Return the items whose picture is not where the collection says; those that never could be read are left out."""
    unreadable, looked = collection.problems(), dict[str, int | None]()
    return [
        item
        for item, uri in enumerate(collection.table.column("uri").to_pylist())
        if uri is not None and item not in unreadable and not _is_there(Address.parse(uri), looked)
    ]


def found_in(collection: Collection, folder: str) -> Found:
    """Look for the missing pictures in another folder: below the same names as before, or below their ids.

    `InputError` if a file there cannot be the picture: it is none, or its width and height are others.
    """
    if not Path(folder).is_dir():
        raise InputError(f"there is no folder {folder}")
    uris: list[str | None] = collection.table.column("uri").to_pylist()
    gone, looked = missing_pictures(collection), dict[str, int | None]()
    # All of them moved with the folder that holds them all; or only a part did, a card say, with one of those above it.
    every, lost = (_common_folder(Address.parse(uris[item] or "").path for item in some) for some in (range(len(uris)), gone))
    between = [str(folder) for folder in (PurePath(lost), *PurePath(lost).parents) if folder.is_relative_to(every or lost)]
    roots = [folder for folder in reversed(between) if lost]
    moved, missing = [], []
    for item in gone:
        before = Address.parse(uris[item] or "")
        now = _elsewhere(before, collection.ids[item], roots, Path(folder), looked)
        if now is None:
            missing.append(item)
            continue
        _check(collection, item, now)
        uris[item] = now.uri()
        moved.append(item)
    place = collection.table.column_names.index("uri")
    table = collection.table.set_column(place, collection.table.schema.field("uri"), pa.array(uris, pa.string()))
    return Found(table, moved, missing)


def _elsewhere(before: Address, name: str, roots: Sequence[str], folder: Path, looked: dict[str, int | None]) -> Address | None:
    """Return where the picture is below the folder: the longest part of its old path below a root that is there, or its id."""
    old = PurePath(before.path)
    inside = [old.relative_to(root) for root in roots if old.is_relative_to(root)] or [PurePath(old.name)]
    for path in (*inside, PurePath(name)):
        if path.is_absolute() or ".." in path.parts:  # an id is any text: it must not lead out of the folder
            continue
        now = Address(str((folder / path).resolve()), before.offset, before.size, before.box)
        if _is_there(now, looked):
            return now
    return None


def _common_folder(paths: Iterable[str]) -> str:
    """
    >>> _common_folder(["/a/b/c.jpg", "/a/b/d/e.jpg"]), _common_folder([])
    ('/a/b', '')
    """
    folders = {str(PurePath(path).parent) for path in paths if path and "://" not in path}
    try:
        return os.path.commonpath(folders) if folders else ""
    except ValueError:  # relative and absolute ones
        return ""


def _is_there(address: Address, looked: dict[str, int | None]) -> bool:
    """Whether the file is there and long enough. `looked`: sizes that are known, for many pictures lie in one tar."""
    if "://" in address.path:
        return True
    if address.path not in looked:
        try:
            looked[address.path] = Path(address.path).stat().st_size
        except OSError:
            looked[address.path] = None
    size = looked[address.path]
    return size is not None and size >= (address.offset or 0) + (address.size or 0)


def _check(collection: Collection, item: int, now: Address) -> None:
    """Raise `InputError` unless the file is a picture of the same width and height, as far as those are known."""
    if now.offset is not None:
        return  # a member of a tar: its length was looked at
    name = collection.ids[item]
    try:
        with Image.open(now.path) as picture:
            found = picture.size
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(
            f"{now.path} cannot be the picture of {name}: it is no image that can be read; nothing was changed"
        ) from error
    wanted = tuple(collection.table.column(side)[item].as_py() for side in ("width", "height"))
    if now.box is None and None not in wanted and sorted(found) != sorted(wanted):  # turned by EXIF, they are exchanged
        raise InputError(
            f"{now.path} cannot be the picture of {name}: it has {found[0]} x {found[1]} pixels, and had {wanted[0]} x "
            f"{wanted[1]}; nothing was changed"
        )


__all__ = ["Found", "found_in", "missing_pictures"]

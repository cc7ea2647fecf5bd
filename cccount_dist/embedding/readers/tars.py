"""WebDataset tars: the images stay where they are, an item remembers its tar and the bytes inside it.

Only headers are read, by seeking from one to the next. A member `key.jpg` is an image; `key.cls` beside it is its label, and
`key.json` may bring `id`, `label`, `group` and a time. A tar that ends in the middle is refused before anything is written.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from cccount_dist.embedding.address import Address
from cccount_dist.embedding.images import SUFFIXES
from cccount_dist.embedding.readers.table import TIME_COLUMNS, first, parse_time, text
from cccount_dist.embedding.readers.tablerows import Row, batches
from storage.errors import InputError
from storage.reading import require_file

_BLOCK = 512


def read_tars(tars: list[Path], label: str | None = None) -> Iterator[pa.Table]:
    """Yield the images of some tars, in order; `label` names a key of the json members (default: cls, or `label`)."""
    yield from batches(row for tar in tars for row in _rows(tar, label))


def _rows(tar: Path, label: str | None) -> Iterator[Row]:
    """Yield the samples of one tar: members that follow each other and share everything before the first dot of the name."""
    sample: str | None = None
    images: list[tarfile.TarInfo] = []
    beside: dict[str, object] = {}
    with _opened(tar) as archive:
        for member in _members(archive, tar):
            key, kind = _split(member.name)
            if key != sample:
                yield from _sample(tar, images, beside, label)
                sample, images, beside = key, [], {}
            if f".{kind.rpartition('.')[2]}" in SUFFIXES:
                images.append(member)
            elif kind == "cls":
                beside.setdefault("label", text(_content(archive, member).decode(errors="replace")))
            elif kind == "json":
                beside.update(_json(archive, member, tar))
        yield from _sample(tar, images, beside, label)


def _sample(tar: Path, images: list[tarfile.TarInfo], beside: dict[str, object], label: str | None) -> Iterator[Row]:
    if images and label is not None and label not in beside:
        raise InputError(f"{tar}: {images[0].name} has no {label!r} in the json beside it to take the label from")
    where = f"{tar} {images[0].name}" if images else str(tar)
    for image in images:
        given = text(beside.get("id")) if len(images) == 1 else None
        yield {
            "id": given or f"{tar.name}/{image.name}",
            "uri": Address(str(tar.resolve()), offset=image.offset_data, size=image.size).uri(),
            "label": text(beside.get(label or "label")),
            "group": text(beside.get("group")),
            "taken_at": parse_time(first(beside, TIME_COLUMNS), where),
        }


def _opened(tar: Path) -> tarfile.TarFile:
    require_file(tar)
    try:
        return tarfile.open(tar, "r:")
    except tarfile.ReadError as error:
        hint = "unpack it first: single images cannot be read out of a compressed tar"
        raise InputError(f"{tar} is not a plain tar ({' '.join(str(error).split())}); if it is compressed, {hint}") from error
    except OSError as error:
        raise InputError(f"cannot read {tar}: {error.strerror or error}") from error


def _members(archive: tarfile.TarFile, tar: Path) -> Iterator[tarfile.TarInfo]:
    size = tar.stat().st_size
    last = "its beginning"
    try:
        before = -1
        while (member := archive.next()) is not None:
            if archive.offset <= before:  # a size below zero leads back, and on for ever
                raise InputError(f"{tar}: {member.name} has a size of {member.size} bytes: the tar is damaged")
            before = archive.offset
            if member.isfile():
                if member.offset_data + member.size > size:
                    raise InputError(f"{tar} ends in the middle of {member.name}: copy or download it again")
                yield member
            last = member.name
            archive.members.clear()  # type: ignore[attr-defined]  # or tarfile keeps an object for every member that it has passed
    except tarfile.ReadError as error:
        raise InputError(f"{tar} ends in the middle, or is damaged, after {last}: copy or download it again") from error
    # tarfile takes the end of the file for the end of the archive; a whole archive has a block of zeros there.
    with tar.open("rb") as source:
        source.seek(archive.offset)
        if source.read(_BLOCK).strip(b"\0") or archive.offset + _BLOCK > size:
            raise InputError(f"{tar} ends in the middle, after {last}: copy or download it again")


def _split(name: str) -> tuple[str, str]:
    """
    >>> _split("a.b/0001.seg.PNG")
    ('a.b/0001', 'seg.png')
    """
    folder, slash, base = name.rpartition("/")
    key, _, kind = base.partition(".")
    return f"{folder}{slash}{key}", kind.lower()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = archive.extractfile(member)
    return source.read() if source is not None else b""


def _json(archive: tarfile.TarFile, member: tarfile.TarInfo, tar: Path) -> dict[str, object]:
    try:
        found = json.loads(_content(archive, member))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{tar}: {member.name} is not JSON") from error
    return found if isinstance(found, dict) else {}


__all__ = ["read_tars"]

"""Files that are exact copies of each other, byte for byte: said when a collection is made, marked where it is browsed.

Only files on this machine are looked at, and of those only the ones that are as long as another: a look at the size of each, a
piece of 64 KiB of those that share it, and the whole of what still agrees. Parts of files (crops, members of archives) are no
files. Memory: the sizes of all files.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from cccount_dist.embedding.address import Address
from storage.objects import is_remote

_PIECE = 1 << 16
Key = TypeVar("Key", bound=Hashable)


def exact_copies(uris: Iterable[str | None]) -> list[list[int]]:
    """Return groups of places whose files are the same, each in order, the first place of a group being the original."""
    files = {place: path for place, uri in enumerate(uris) if (path := _file(uri)) is not None}
    sized = _shared(sorted(files), lambda place: _size(files[place]))
    began = [group for one in sized for group in _shared(one, lambda place: _digest(files[place], _PIECE))]
    whole = [group for one in began for group in _shared(one, lambda place: _digest(files[place], None))]
    return sorted(whole)


def _file(uri: str | None) -> Path | None:
    if uri is None:
        return None
    address = Address.parse(uri)
    return None if is_remote(address.path) or address.offset is not None or address.box is not None else Path(address.path)


def _shared(places: Sequence[int], key: Callable[[int], Key | None]) -> list[list[int]]:
    """Places with the same key together; those that are alone or have none are left out."""
    groups: dict[Key, list[int]] = defaultdict(list)
    for place in places:
        if (found := key(place)) is not None:
            groups[found].append(place)
    return [group for group in groups.values() if len(group) > 1]


def _size(path: Path) -> int | None:
    try:
        size = path.stat().st_size
    except OSError:  # whoever reads the picture says what is wrong with it
        return None
    return size or None  # empty files are damaged ones, not copies


def _digest(path: Path, piece: int | None) -> bytes | None:
    try:
        with path.open("rb") as file:
            if piece is not None:
                return hashlib.blake2b(file.read(piece), digest_size=16).digest()
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
    except OSError:
        return None

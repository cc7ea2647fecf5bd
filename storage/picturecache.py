"""Resized pictures on this host's disk, so that a restarted server does not decode again what people have looked at.

A file is an encoded picture with a stamp behind it (`stamp.py`), which no reader of JPEG or PNG looks at; its name is a digest of
what it was made from. It may be deleted at any time. Disk: at most `MOST_BYTES`; the oldest go first. Memory: one picture.
"""

import os
from contextlib import suppress
from pathlib import Path

from storage.objects import make_folder, temporary_beside
from storage.stamp import Trailer

FOLDER = "pictures"  # in the folder for caches
MOST_BYTES = 2**30
_LOOK_EVERY = 200  # pictures that are written between two looks at how much there is


class PictureCache:
    """The pictures of one workspace. Processes may share it: a picture is put in place whole."""

    def __init__(self, caches: Path, most_bytes: int = MOST_BYTES) -> None:
        self.folder = caches / FOLDER
        self._most = most_bytes
        self._written = 0

    def get(self, name: str) -> bytes | None:
        """Return a picture; None if it is not there, or not whole."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        return data[: -Trailer.SIZE] if is_whole(data) else None

    def put(self, name: str, picture: bytes) -> None:
        """Keep a picture. On a disk that is full or may not be written nothing is kept, and nobody minds."""
        path = self.folder / name
        with suppress(OSError):
            make_folder(self.folder)
            temporary = temporary_beside(path)
            try:
                temporary.write_bytes(picture + _stamp(picture))
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        if self._written % _LOOK_EVERY == 0:
            self._make_room()
        self._written += 1

    def _make_room(self) -> None:
        """Remove the oldest until a fifth is free, if there is too much."""
        found: list[tuple[int, int, str]] = []
        with suppress(OSError), os.scandir(self.folder) as entries:
            for entry in entries:
                with suppress(OSError):  # another process removed it
                    about = entry.stat()
                    found.append((about.st_mtime_ns, about.st_size, entry.path))
        total = sum(size for _, size, _ in found)
        if total <= self._most:
            return
        for _, size, path in sorted(found):
            if total <= 0.8 * self._most:
                return
            with suppress(OSError):
                Path(path).unlink()
            total -= size


def is_whole(data: bytes) -> bool:
    """Whether the bytes of a file are a picture and its stamp."""
    return len(data) > Trailer.SIZE and data[-Trailer.SIZE :] == _stamp(data[: -Trailer.SIZE])


def _stamp(picture: bytes) -> bytes:
    trailer = Trailer()
    trailer.feed(picture)
    return trailer.bytes()


__all__ = ["FOLDER", "PictureCache", "is_whole"]

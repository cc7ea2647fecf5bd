"""Where one image is: a file, perhaps a byte range inside it (a member of a tar), perhaps a box to crop.

Stored in the collection's `uri` column as `path[#bytes=offset,size][&xywh=x,y,w,h]`; `xywh` follows W3C Media Fragments
(pixels, or `xywh=percent:x,y,w,h`), in the frame of the picture as a person sees it, after EXIF orientation.
"""

import os
import re
from dataclasses import dataclass

from storage.errors import InputError
from storage.objects import Objects, is_remote, open_objects
from storage.reading import open_regular

MOST_BYTES = 2**29  # of a file that holds one image
_NUMBER = r"\d+(?:\.\d+)?"
_FRAGMENT = re.compile(
    rf"(?P<path>.*?)#(?:bytes=(?P<offset>\d+),(?P<size>\d+))?&?"
    rf"(?:xywh=(?P<unit>percent:)?(?P<box>{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle: left, top, width, height, in pixels or (`percent`) in hundredths of the picture's width and height."""

    left: float
    top: float
    width: float
    height: float
    percent: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """Where one image is.

    >>> Address("/data/a.jpg", box=Box(1, 2, 30, 40)).uri()
    '/data/a.jpg#xywh=1,2,30,40'
    >>> Address.parse("/data/s.tar#bytes=512,99&xywh=percent:0,0,50,50").offset
    512
    """

    path: str
    offset: int | None = None
    size: int | None = None
    box: Box | None = None

    def uri(self) -> str:
        parts = []
        if self.offset is not None:
            parts.append(f"bytes={self.offset},{self.size}")
        if self.box is not None:
            unit = "percent:" if self.box.percent else ""
            numbers = (self.box.left, self.box.top, self.box.width, self.box.height)
            parts.append(f"xywh={unit}" + ",".join(f"{number:.6f}".rstrip("0").rstrip(".") for number in numbers))
        if parts:
            return f"{self.path}#{'&'.join(parts)}"
        # A file whose own name looks like a fragment gets an empty one, which is then the one that is cut off.
        return f"{self.path}#" if _FRAGMENT.fullmatch(self.path) else self.path

    @classmethod
    def parse(cls, uri: str) -> "Address":
        head, hash_mark, tail = uri.rpartition("#")
        match = _FRAGMENT.fullmatch("#" + tail) if hash_mark else None
        if match is None:
            return cls(uri)
        offset, size, box = match["offset"], match["size"], match["box"]
        left, top, width, height = (float(number) for number in box.split(",")) if box else (0.0, 0.0, 0.0, 0.0)
        return cls(
            head,
            offset=int(offset) if offset else None,
            size=int(size) if size else None,
            box=Box(left, top, width, height, percent=bool(match["unit"])) if box else None,
        )

    def read(self) -> bytes:
        """Return the encoded image."""
        if is_remote(self.path):
            return self._read_object()
        with open_regular(self.path) as source:
            if self.offset is None:
                if (size := os.fstat(source.fileno()).st_size) > MOST_BYTES:
                    raise InputError(f"the file has {size:,} bytes, and one image at most {MOST_BYTES:,}")
                return source.read()
            source.seek(self.offset)
            data = source.read(-1 if self.size is None else self.size)
        return self._whole(data)

    def stored_size(self) -> int | None:
        """Return the size of an image in an object store; None if it is not there."""
        objects, key = self._object()
        return objects.size(key)

    def _object(self) -> tuple[Objects, str]:
        scheme, _, rest = self.path.partition("://")
        bucket, _, key = rest.partition("/")
        return open_objects(f"{scheme}://{bucket}"), key

    def _read_object(self) -> bytes:
        objects, key = self._object()
        if self.offset is None or self.size is None:
            return objects.read(key)
        return self._whole(objects.read_range(key, self.offset, self.size))

    def _whole(self, data: bytes) -> bytes:
        if len(data) != self.size:
            raise InputError(
                f"{self.path} ends before byte {(self.offset or 0) + (self.size or 0)}: it has changed since `cccount init`"
            )
        return data


__all__ = ["Address", "Box"]

"""Pictures of items for the page: found by the item's number, shrunk and encoded anew, so that only pixels leave the server.

EXIF, with its place and camera, stays behind, and whatever else a file holds besides pixels. Encoded pictures are kept in memory
up to a limit; as many as cores are decoded at once, at most about 0.3 GB each for the largest image that is read.
"""

import io
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum

from PIL import Image

from cccount_dist.embedding.images import UnreadableImageError, load_picture


class Side(IntEnum):
    """Longer sides in pixels. Few sizes: no client can fill the memory with others."""

    SMALL = 256
    MIDDLE = 512
    LARGE = 1024
    LARGEST = 2048


_MOST_BYTES = 96 * 1024 * 1024
_SMALL = 128 * 128  # pixels of a picture that is sent without loss
_QUALITY = 88


class Pictures:
    """Encoded pictures of a collection. Threads may ask at once; the same picture is encoded once."""

    def __init__(self, uri_of: Callable[[int], str | None]) -> None:
        self._uri_of = uri_of
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], tuple[str, bytes]] = OrderedDict()
        self._bytes = 0
        self._decoding = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))

    def get(self, item: int, side: Side) -> tuple[str, bytes]:
        """Return content type and bytes; `UnreadableImageError` says why there are none."""
        found = self._remembered(item, side)
        if found is None:
            uri = self._uri_of(item)
            if uri is None:
                raise UnreadableImageError("the item has no image")
            with self._decoding:
                found = self._remembered(item, side) or encoded(uri, side)
            self._remember(item, side, found)
        return found

    def _remembered(self, item: int, side: int) -> tuple[str, bytes] | None:
        with self._lock:
            found = self._kept.get((item, side))
            if found is not None:
                self._kept.move_to_end((item, side))
            return found

    def _remember(self, item: int, side: int, picture: tuple[str, bytes]) -> None:
        with self._lock:
            if (item, side) not in self._kept:
                self._kept[item, side] = picture
                self._bytes += len(picture[1])
            while self._bytes > _MOST_BYTES:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= len(dropped)


def encoded(uri: str, side: int, *, quality: int = _QUALITY) -> tuple[str, bytes]:
    """Return content type and bytes of the picture at a collection's uri: its longer side at most `side`, nothing but pixels."""
    image = Image.fromarray(load_picture(uri, side))
    sink = io.BytesIO()
    if image.width * image.height <= _SMALL:
        image.save(sink, "PNG")
        return "image/png", sink.getvalue()
    image.save(sink, "JPEG", quality=quality)
    return "image/jpeg", sink.getvalue()

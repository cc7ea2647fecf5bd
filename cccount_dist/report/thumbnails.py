"""Small pictures of items as data: addresses, so that a report needs no other file. One image is in memory at a time."""

import base64
import io

from PIL import Image

from cccount_dist.embedding.images import UnreadableImageError, load_picture
from cccount_dist.report.facts import Thumbnail

SIDE = 144  # pixels of the longer side: twice what is shown, for screens with fine pixels
MOST_BYTES = 12_000  # of one picture before base64: a report with all its pairs stays below 2 MB
_QUALITIES = (82, 60, 35)


def thumbnail(item_id: str, uri: str | None, *, side: int = SIDE) -> Thumbnail:
    """Return an item's picture, never enlarged; the reason instead if there is none to show."""
    if uri is None:
        return Thumbnail(item_id, None, "the item has no image")
    try:
        image = Image.fromarray(load_picture(uri, side))
    except UnreadableImageError as error:
        return Thumbnail(item_id, None, str(error))
    return Thumbnail(item_id, _encoded(image))


def _encoded(image: Image.Image) -> str:
    plain = _bytes(image, "PNG", optimize=True)
    if len(plain) <= MOST_BYTES // 4:  # drawings and tiny pictures: smaller and sharper than JPEG
        return _address("png", plain)
    data = plain
    for quality in _QUALITIES:
        data = _bytes(image, "JPEG", quality=quality, optimize=True)
        if len(data) <= MOST_BYTES:
            break
    return _address("jpeg", data)


def _bytes(image: Image.Image, format_: str, **options: int | bool) -> bytes:
    sink = io.BytesIO()
    image.save(sink, format_, **options)
    return sink.getvalue()


def _address(kind: str, data: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"

"""A picture as the page gets it: shrunk and encoded anew, so that nothing but pixels leaves. No EXIF, no place, no camera."""

import io

from PIL import Image

from cccount_dist.embedding.images import load_picture

QUALITY = 88
_SMALL = 128 * 128  # pixels of a picture that is sent without loss


def encoded(uri: str, side: int, *, quality: int = QUALITY) -> tuple[str, bytes]:
    """Return content type and bytes of the picture at a collection's uri: its longer side at most `side`, nothing but pixels."""
    image = Image.fromarray(load_picture(uri, side))
    sink = io.BytesIO()
    if image.width * image.height <= _SMALL:
        image.save(sink, "PNG")
        return "image/png", sink.getvalue()
    image.save(sink, "JPEG", quality=quality)
    return "image/jpeg", sink.getvalue()


__all__ = ["QUALITY", "encoded"]

"""One image file to an (h, w, 3) uint8 array, whatever it is: EXIF orientation, palettes, alpha, CMYK, 16-bit, first frame.

Every image comes in through `decode`. Whatever cannot be decoded raises `UnreadableImageError` with a reason that a person
understands. A header that promises more than `MAX_PIXELS` is refused before a pixel is decoded. Memory: at most
`BYTES_PER_PIXEL` for a pixel, whatever the mode, so about 0.7 GB for the largest image: JPEGs are shrunk by the decoder where
that is enough, and other modes become RGB strip by strip. Of large images a process decodes one at a time.
"""

import io
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from cccount_dist.embedding.address import Address, Box
from storage.errors import InputError, MissingObjectError

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif"})
MAX_PIXELS = 89_478_485  # Pillow's own limit (a quarter of a gibibyte as RGB)
BYTES_PER_PIXEL = 8  # four as decoded, and four as RGB
_STRIP = 2**20  # pixels that are converted at once
_LARGE = 2**23  # pixels of an image that a process decodes only one of at a time
_one_large = threading.Lock()
# What photographs come in. Pillow knows more, and one of them (EPS) is a program that it has another program run.
_FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "DIB", "GIF", "JPEG2000", "AVIF", "PPM", "TGA", "PCX", "SGI", "ICO")

# Pillow warns between one and two times its limit and raises above: `_opened` refuses both. It also warns of every oddity in
# a file that it reads all the same. A million files would fill the terminal, and nobody could do anything about it.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", category=UserWarning, module=r"PIL\.")

# What Pillow's plugins are known to raise on damaged files, besides OSError.
_DAMAGED = (
    SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, OverflowError, ZeroDivisionError, RuntimeError,
    struct.error, zlib.error,
)  # fmt: skip


class UnreadableImageError(InputError):
    """This image cannot be decoded; the message is the reason alone, the caller knows which image it is."""


def load_image(uri: str, side: int | None = None) -> NDArray[np.uint8]:
    """Return the image at a collection's uri as (h, w, 3) uint8; with `side`, resized to (side, side, 3)."""
    address = Address.parse(uri)
    return decode(_read(address), side=side, box=address.box)


def load_picture(uri: str, longest: int) -> NDArray[np.uint8]:
    """Return the image at a collection's uri for looking at: its proportions kept, its longer side at most `longest`."""
    address = Address.parse(uri)
    return decode(_read(address), box=address.box, longest=longest)


def decode(data: bytes, *, side: int | None = None, box: Box | None = None, longest: int | None = None) -> NDArray[np.uint8]:
    """Return an encoded image as (h, w, 3) uint8, cropped to `box`, resized to (side, side, 3), or shrunk to `longest`."""
    if not data:
        raise UnreadableImageError("the file is empty (0 bytes)")
    try:
        with _opened(data) as image:
            return _pixels(image, side, box, longest)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnreadableImageError(f"more than {MAX_PIXELS:,} pixels: it may be a decompression bomb") from error
    except UnidentifiedImageError as error:
        raise UnreadableImageError("not an image that Pillow can read") from error
    except MemoryError as error:
        raise UnreadableImageError("it does not fit in memory") from error
    except (OSError, *_DAMAGED) as error:
        raise UnreadableImageError(f"damaged image: {' '.join(str(error).split()) or type(error).__name__}") from error


def resized(images: Sequence[NDArray[np.uint8]], side: int) -> NDArray[np.uint8]:
    """Return the images as one (n, side, side, 3) array; the aspect ratio is given up so that nothing is cut off."""
    out = np.empty((len(images), side, side, 3), np.uint8)
    for row, image in enumerate(images):
        same = image.shape[:2] == (side, side)
        out[row] = image if same else np.asarray(Image.fromarray(image).resize((side, side), Image.Resampling.BILINEAR))
    return out


def _read(address: Address) -> bytes:
    try:
        return address.read()
    except (FileNotFoundError, MissingObjectError) as error:
        raise UnreadableImageError("the file does not exist") from error
    except InputError as error:
        raise UnreadableImageError(str(error)) from error
    except OSError as error:
        raise UnreadableImageError(f"the file cannot be read: {error.strerror or error}") from error


def _opened(data: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(data), formats=_FORMATS)
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise Image.DecompressionBombError
    return image


def _pixels(image: Image.Image, side: int | None, box: Box | None, longest: int | None) -> NDArray[np.uint8]:
    full = image.size
    wanted = side or longest
    if wanted is not None and image.format == "JPEG":
        _draft(image, wanted, box)
    with _one_large if image.width * image.height > _LARGE else nullcontext():
        return _loaded(image, full, side, box, longest)


def _loaded(
    image: Image.Image, full: tuple[int, int], side: int | None, box: Box | None, longest: int | None
) -> NDArray[np.uint8]:
    image.load()
    _turn_upright(image)
    picture = _rgb(image)
    if box is not None:
        # `draft` may have shrunk the picture: the box is in pixels of the full one.
        shrunk = picture.width * picture.height / (full[0] * full[1])
        picture = picture.crop(_corners(picture.size, box, shrunk**0.5))
    if side is not None and picture.size != (side, side):
        # Bilinear with Pillow's support scaling is an antialiasing filter when it shrinks.
        picture = picture.resize((side, side), Image.Resampling.BILINEAR)
    if longest is not None:
        picture.thumbnail((longest, longest), Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(picture)


def _draft(image: Image.Image, side: int, box: Box | None) -> None:
    """Let the JPEG decoder shrink by 2, 4 or 8 while what is kept stays at least twice as large as needed."""
    width, height = image.size
    if box is None:
        kept = 1.0
    elif box.percent:
        kept = min(box.width, box.height) / 100
    else:
        kept = min(box.width / max(width, height), box.height / max(width, height))
    if kept > 0:
        # ceil, so that the request is never below twice the side
        image.draft(None, (int(2 * side / kept) + 1, int(2 * side / kept) + 1))


def _turn_upright(image: Image.Image) -> None:
    with suppress(OSError, *_DAMAGED):  # the picture is sound, its EXIF block is not
        ImageOps.exif_transpose(image, in_place=True)


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I") or image.mode == "F":
        scale = _scale(image)
        return _in_strips(image, lambda strip: Image.fromarray(_eight_bits(_numbers(strip), scale)).convert("RGB"))
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        # What lies under full transparency is noise: show the picture on white, as a viewer would.
        return _in_strips(image, _on_white)
    return _in_strips(image, lambda strip: strip.convert("RGB"))


def _in_strips(image: Image.Image, convert: Callable[[Image.Image], Image.Image]) -> Image.Image:
    """Convert some rows at a time: what a conversion needs on its way is never as large as the image."""
    rows = max(1, _STRIP // max(1, image.width))
    if rows >= image.height:
        return convert(image)
    picture = Image.new("RGB", image.size)
    for top in range(0, image.height, rows):
        strip = image.crop((0, top, image.width, min(top + rows, image.height)))
        strip.info = image.info  # a transparent colour
        picture.paste(convert(strip), (0, top))
    return picture


def _on_white(strip: Image.Image) -> Image.Image:
    picture = strip.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")


def _numbers(strip: Image.Image) -> NDArray[np.float64]:
    return np.nan_to_num(np.asarray(strip).astype(np.float64))


def _scale(image: Image.Image) -> float:
    """What the values can be (1, 255, 65535), never what they happen to be: equal scenes stay equal."""
    if image.mode.startswith("I;16"):
        return 65535.0
    rows = max(1, _STRIP // max(1, image.width))
    tops = (image.crop((0, top, image.width, min(top + rows, image.height))) for top in range(0, image.height, rows))
    top = max((float(_numbers(strip).max(initial=0.0)) for strip in tops), default=0.0)
    if image.mode == "F" and top <= 1:
        return 1.0
    return next((limit for limit in (255.0, 65535.0) if top <= limit), top)


def _eight_bits(numbers: NDArray[np.float64], scale: float) -> NDArray[np.uint8]:
    return np.clip(np.rint(numbers * (255.0 / scale)), 0, 255).astype(np.uint8)


def _corners(size: tuple[int, int], box: Box, shrunk: float) -> tuple[int, int, int, int]:
    width, height = size
    across, down = (width / 100, height / 100) if box.percent else (shrunk, shrunk)
    left, top = max(0, int(box.left * across)), max(0, int(box.top * down))
    right, bottom = min(width, round((box.left + box.width) * across)), min(height, round((box.top + box.height) * down))
    if right <= left or bottom <= top:
        raise UnreadableImageError(f"the box {box.left:g},{box.top:g},{box.width:g},{box.height:g} is empty or outside the image")
    return left, top, right, bottom


__all__ = ["MAX_PIXELS", "SUFFIXES", "UnreadableImageError", "decode", "load_image", "load_picture", "resized"]

"""Small images that tests make: sound ones, and every kind of hostile one."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def noise(seed: int, height: int = 40, width: int = 60) -> NDArray[np.uint8]:
    """A blocky random picture: it survives JPEG and resizing better than white noise."""
    small = np.random.default_rng(seed).integers(0, 256, (5, 6, 3), np.uint8)
    return np.asarray(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC))


def encoded(picture: NDArray[np.generic] | Image.Image, kind: str = "PNG", **options: object) -> bytes:
    image = picture if isinstance(picture, Image.Image) else Image.fromarray(picture)
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def write_folder(folder: Path, count: int, *, first: int = 0, suffix: str = ".png") -> list[str]:
    """Write `count` images in two folders and return their ids in the order of a collection."""
    names = []
    for seed in range(first, first + count):
        name = f"{'ab'[seed % 2]}/{seed:04d}{suffix}"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(encoded(noise(seed), {".png": "PNG", ".jpg": "JPEG"}[suffix]))
        names.append(name)
    return sorted(names)


def hostile_files() -> dict[str, bytes]:
    """Files with an image's name that no decoder can or should read."""
    jpeg = encoded(noise(1), "JPEG")
    png = encoded(noise(2))
    return {
        "empty.jpg": b"",
        "text.jpg": b"this is no image at all, whatever its name says\n" * 4,
        "truncated.jpg": jpeg[: len(jpeg) // 2],
        "truncated.png": png[: len(png) // 2],
        "bomb.png": bomb(),
        "header.gif": b"GIF89a",
        "zeros.bmp": bytes(200),
    }


def bomb() -> bytes:
    """A PNG whose header promises 20,000 x 20,000 pixels in some kilobytes."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(4000))) + chunk(b"IEND", b"")

"""Small files that become large pictures: each takes a bounded memory, whatever its mode, and the next one is read."""

import io
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from cccount_dist.embedding import images
from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.images import UnreadableImageError, decode, load_image, load_picture
from cccount_dist.embedding.shard import encode_all
from tests.flows.conftest import environment

SIDE = 5200  # 27 million pixels: a third of what is allowed, so that the test is quick
SLACK = 160 * 2**20  # of a process: strips, the file, what the allocator keeps
MODES = ["I;16", "I", "F", "RGBA", "P", "LA", "CMYK", "1", "L", "RGB", "P transparent"]

# Decodes a file and says how far its memory grew. In a process of its own: a peak is never forgotten. (What `getrusage` says
# begins with the peak of whoever started the process.)
CHILD = """
import re, sys
from pathlib import Path
import PIL.Image; PIL.Image.init()
from cccount_dist.embedding.images import decode
decode(open(sys.argv[2], "rb").read(), side=64)
def peak(): return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = peak()
for _ in range(int(sys.argv[3])):
    decode(open(sys.argv[1], "rb").read(), side=64)
print(peak() - before)
"""


def bomb(mode: str, side: int = SIDE) -> bytes:
    """A picture of one colour: some kilobytes that become many megabytes."""
    plain = Image.new(mode.split()[0], (side, side))
    sink = io.BytesIO()
    kind = "PNG" if mode not in ("F", "CMYK") else "TIFF"
    options = {"compression": "tiff_deflate"} if kind == "TIFF" else {}
    if "transparent" in mode:
        options["transparency"] = 0  # type: ignore[assignment]
    plain.save(sink, kind, **options)
    return sink.getvalue()


def promising(png: bytes, side: int) -> bytes:
    """The same file with a header that promises more pixels."""
    header = bytearray(png[12:29])
    header[4:12] = side.to_bytes(4, "big") * 2
    return png[:12] + bytes(header) + zlib.crc32(header).to_bytes(4, "big") + png[33:]


@pytest.mark.parametrize("mode", ["I;16", "F", "RGBA", "P transparent"])
def test_a_small_file_does_not_take_gigabytes(mode: str, tmp_path: Path) -> None:
    (tmp_path / "bomb").write_bytes(bomb(mode))
    (tmp_path / "small").write_bytes(bomb(mode, 64))
    assert (tmp_path / "bomb").stat().st_size < 600_000
    grew = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path / "bomb"), str(tmp_path / "small"), "1"],
        env=environment(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(grew.stdout) > SIDE**2, "it was decoded"
    assert int(grew.stdout) < images.BYTES_PER_PIXEL * SIDE**2 + SLACK, f"{int(grew.stdout) / 2**20:.0f} MiB"


@pytest.mark.parametrize("mode", MODES)
def test_strips_change_no_pixel(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    values: NDArray[np.generic] = random.integers(0, 255, (97, 61, 4), dtype=np.uint8)
    plain = Image.fromarray(values[..., 0])
    made = {
        "I;16": lambda: Image.fromarray(random.integers(0, 65535, (97, 61), dtype=np.uint16)),
        "I": lambda: Image.fromarray(random.integers(0, 70_000, (97, 61), dtype=np.int32)),
        "F": lambda: Image.fromarray(random.random((97, 61), dtype=np.float32)),
        "RGBA": lambda: Image.fromarray(values, "RGBA"),
        "LA": lambda: Image.fromarray(values, "RGBA").convert("LA"),
        "CMYK": lambda: Image.fromarray(values, "CMYK"),
        "P": lambda: Image.fromarray(values[..., :3]).quantize(16),
        "P transparent": lambda: Image.fromarray(values[..., :3]).quantize(16),
        "RGB": lambda: Image.fromarray(values[..., :3]),
    }.get(mode, lambda: plain.convert(mode))()
    sink = io.BytesIO()
    options = {"transparency": 3} if "transparent" in mode else {}
    made.save(sink, "TIFF" if mode in ("I", "F", "CMYK") else "PNG", **options)
    whole = [decode(sink.getvalue()), decode(sink.getvalue(), side=32), decode(sink.getvalue(), longest=40)]
    monkeypatch.setattr(images, "_STRIP", 61 * 5)
    for before, now in zip(
        whole, [decode(sink.getvalue()), decode(sink.getvalue(), side=32), decode(sink.getvalue(), longest=40)], strict=True
    ):
        np.testing.assert_array_equal(before, now)


def test_too_many_pixels_are_refused_in_every_mode() -> None:
    side = int(images.MAX_PIXELS**0.5) + 1
    for mode in ("1", "L", "I;16", "RGB"):
        header = io.BytesIO()
        Image.new(mode, (8, 8)).save(header, "PNG")
        with pytest.raises(UnreadableImageError, match="decompression bomb"):
            decode(promising(header.getvalue(), side), side=64)


def test_a_pipe_a_device_and_a_program_are_no_images(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    for path in (tmp_path / "pipe.jpg", Path("/dev/zero")):
        with pytest.raises(UnreadableImageError, match=r"it is a (pipe|device), not a file"):
            load_image(str(path), 32)
        with pytest.raises(UnreadableImageError, match=r"it is a (pipe|device), not a file"):
            load_picture(str(path), 32)
    with pytest.raises(UnreadableImageError, match="cannot be read"):
        load_image(str(tmp_path), 32)
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(x) print\n%%EOF\n"
    with pytest.raises(UnreadableImageError, match="not an image"):
        decode(postscript)


def test_embed_goes_on_after_an_image_that_does_not_fit(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(3):
        Image.new("RGB", (40, 40), (80 * number, 10, 10)).save(photos / f"{number}.png")
    (photos / "bomb.png").write_bytes(bomb("I;16", 9400))
    (photos / "huge.png").write_bytes(promising((photos / "0.png").read_bytes(), 10_000))
    names = ["0.png", "bomb.png", "huge.png", "1.png", "2.png"]
    vectors, failed = encode_all(open_encoder("pixels"), [str(photos / name) for name in names])
    assert list(failed) == [2]
    assert "decompression bomb" in failed[2]
    assert np.isfinite(vectors[[0, 1, 3, 4]]).all()

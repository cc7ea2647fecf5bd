"""Thumbnails: small whatever the image, never enlarged, and a reason where there is none."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cccount_dist.report.thumbnails import MOST_BYTES, SIDE, thumbnail


def decoded(picture: str | None) -> tuple[Image.Image, int]:
    assert picture is not None
    head, _, body = picture.partition(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    data = base64.b64decode(body, validate=True)
    return Image.open(io.BytesIO(data)), len(data)


def saved(path: Path, size: tuple[int, int]) -> str:
    """An image of pure noise: the hardest to make small."""
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)).save(path)
    return str(path)


@pytest.mark.parametrize("size", [(1200, 300), (300, 1200), (144, 144), (8, 5)])
def test_the_shape_is_kept_and_the_bytes_are_bounded(tmp_path: Path, size: tuple[int, int]) -> None:
    image, length = decoded(thumbnail("a", saved(tmp_path / "a.png", size)).picture)
    assert length <= MOST_BYTES
    assert max(image.size) == min(SIDE, max(size))
    assert image.size[0] / image.size[1] == pytest.approx(size[0] / size[1], rel=0.05)


def test_a_small_drawing_stays_exact(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    Image.fromarray(pixels).save(path)
    image, _ = decoded(thumbnail("a", str(path)).picture)
    assert np.array_equal(np.asarray(image)[..., 0], pixels)


def test_no_image_gives_the_reason(tmp_path: Path) -> None:
    assert thumbnail("a", None).reason == "the item has no image"
    assert thumbnail("a", str(tmp_path / "gone.png")).reason == "the file does not exist"
    (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
    torn = thumbnail("a", str(tmp_path / "torn.png"))
    assert torn.picture is None
    assert torn.reason

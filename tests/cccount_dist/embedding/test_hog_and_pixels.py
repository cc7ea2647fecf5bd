"""The encoders without weights, against a slow and obvious reference."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from cccount_dist.embedding.encoders import available_encoders, open_encoder
from cccount_dist.embedding.encoders.hog import BINS, CELL, SIDE, Hog
from cccount_dist.embedding.encoders.pixels import Pixels, grey
from storage.errors import InputError
from tests.cccount_dist.embedding.pictures import noise


def naive_hog(picture: NDArray[np.float64]) -> NDArray[np.float64]:
    """Histograms pixel by pixel, blocks one by one."""
    cells = np.zeros((SIDE // CELL, SIDE // CELL, BINS))
    for row in range(SIDE):
        for column in range(SIDE):
            across = picture[row, column + 1] - picture[row, column - 1] if 0 < column < SIDE - 1 else 0.0
            down = picture[row + 1, column] - picture[row - 1, column] if 0 < row < SIDE - 1 else 0.0
            place = np.arctan2(down, across) % np.pi / np.pi * BINS - 0.5
            lower = int(np.floor(place))
            share = place - lower
            cells[row // CELL, column // CELL, lower % BINS] += np.hypot(across, down) * (1 - share)
            cells[row // CELL, column // CELL, (lower + 1) % BINS] += np.hypot(across, down) * share
    out = []
    for row in range(SIDE // CELL - 1):
        for column in range(SIDE // CELL - 1):
            order = ((0, 0), (1, 0), (0, 1), (1, 1))
            block = np.concatenate([cells[row + down, column + across] for down, across in order])
            block = np.minimum(block / np.sqrt((block**2).sum() + 50**2), 0.2)
            out.append(block / np.sqrt((block**2).sum() + 0.5**2))
    return np.concatenate(out)


def test_hog_equals_the_naive_reference() -> None:
    pictures = [noise(seed, SIDE, SIDE) for seed in range(3)]
    reference = [naive_hog(picture) for picture in grey(pictures, SIDE).astype(np.float64)]
    np.testing.assert_allclose(Hog().encode(pictures), reference, atol=2e-5)


def test_grey_is_the_grey_of_pillow() -> None:
    picture = noise(4, 32, 32)
    np.testing.assert_array_equal(grey([picture], 32)[0], np.asarray(Image.fromarray(picture).convert("L")))


@pytest.mark.parametrize("name", ["hog", "pixels"])
def test_a_vector_does_not_depend_on_the_batch_it_comes_in(name: str) -> None:
    encoder = open_encoder(name)
    pictures = [noise(seed, 30 + seed, 50) for seed in range(6)]
    together = encoder.encode(pictures)
    alone = np.concatenate([encoder.encode([picture]) for picture in pictures])
    assert together.shape == (6, encoder.dimensions)
    assert together.dtype == np.float32
    np.testing.assert_array_equal(together, alone)


def test_a_flat_picture_has_a_hog_of_zeros_and_not_of_blown_up_noise() -> None:
    flat = np.full((48, 48, 3), 90, np.uint8)
    speck = flat.copy()
    speck[20, 20] = 91
    assert not Hog().encode([flat]).any()
    assert float(np.linalg.norm(Hog().encode([speck]))) < 0.2 * float(np.linalg.norm(Hog().encode([noise(1)])))


def test_pixels_lie_between_minus_one_and_one() -> None:
    ends = Pixels().encode([np.zeros((5, 5, 3), np.uint8), np.full((5, 5, 3), 255, np.uint8)])
    np.testing.assert_array_equal(ends, np.repeat([[-1.0], [1.0]], 1024, axis=1))


def test_an_unknown_encoder_is_named_with_the_choices() -> None:
    with pytest.raises(InputError, match=r"no encoder 'clip-xl'.*hog"):
        open_encoder("clip-xl")


def test_doctor_is_told_which_encoders_work() -> None:
    found = {name: works for name, works, _ in available_encoders()}
    assert found["hog"]
    assert found["pixels"]
    assert {"efficientnet-lite0", "onnx:PATH", "timm:NAME", "open_clip:NAME", "hf:NAME"} <= found.keys()

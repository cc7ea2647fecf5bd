"""Decoding: what a person would see comes out, and what cannot be decoded says why."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from cccount_dist.embedding.address import Address, Box
from cccount_dist.embedding.images import MAX_PIXELS, UnreadableImageError, decode, load_image, load_picture, resized
from tests.cccount_dist.embedding.pictures import encoded, hostile_files, noise

# In a program, `images.py` silences what Pillow says about odd files; pytest puts its own filters first.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

QUARTERS = np.zeros((40, 60, 3), np.uint8)
QUARTERS[:20, :30] = (255, 0, 0)  # red is upper left
QUARTERS[:20, 30:] = (0, 255, 0)
QUARTERS[20:, :30] = (0, 0, 255)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "GIF", "WEBP"])
def test_lossless_formats_come_back_as_they_were(kind: str) -> None:
    options = {"lossless": True} if kind == "WEBP" else {}
    np.testing.assert_array_equal(decode(encoded(QUARTERS, kind, **options)), QUARTERS)


def test_exif_orientation_is_respected() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: show it turned by 90 degrees clockwise
    seen = decode(encoded(QUARTERS, "JPEG", exif=exif.tobytes(), quality=95))
    assert seen.shape == (60, 40, 3)
    np.testing.assert_allclose(seen[10, 30], (255, 0, 0), atol=12)  # red is upper right now
    np.testing.assert_allclose(seen[10, 10], (0, 0, 255), atol=12)


def test_a_damaged_exif_block_does_not_hide_the_picture() -> None:
    assert decode(encoded(QUARTERS, "JPEG", exif=b"Exif\x00\x00MM\x00\x2a\xff\xff\xff\xff")).shape == (40, 60, 3)


def test_sixteen_bits_are_scaled_and_not_cut_off() -> None:
    ramp = np.linspace(0, 65535, 256).astype(np.uint16)[None, :].repeat(8, axis=0)
    for kind in ("PNG", "TIFF"):
        seen = decode(encoded(ramp, kind))
        np.testing.assert_array_equal(seen[0, :, 0], np.arange(256))


def test_float_pictures_between_zero_and_one_use_the_whole_range() -> None:
    ramp = np.linspace(0, 1, 256, dtype=np.float32)[None, :].repeat(8, axis=0)
    np.testing.assert_array_equal(decode(encoded(Image.fromarray(ramp), "TIFF"))[0, :, 1], np.arange(256))


def test_cmyk_palette_and_grey_become_rgb() -> None:
    for mode, kind in (("CMYK", "JPEG"), ("P", "PNG"), ("L", "PNG"), ("1", "PNG"), ("YCbCr", "TIFF")):
        seen = decode(encoded(Image.fromarray(QUARTERS).convert(mode), kind))
        assert seen.shape == (40, 60, 3)
        assert seen.dtype == np.uint8


def test_transparent_pixels_are_white_whatever_lies_under_them() -> None:
    picture = np.dstack([noise(3), np.zeros((40, 60), np.uint8)])
    np.testing.assert_array_equal(decode(encoded(picture, "PNG")), np.full((40, 60, 3), 255))


def test_of_an_animation_the_first_frame_is_taken() -> None:
    frames = [Image.fromarray(np.full((8, 8, 3), value, np.uint8)) for value in (0, 255)]
    for kind in ("GIF", "WEBP", "PNG"):
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
        assert int(decode(data).max()) < 8


@pytest.mark.parametrize(("name", "data"), hostile_files().items())
def test_a_hostile_file_gives_a_reason(name: str, data: bytes) -> None:
    with pytest.raises(UnreadableImageError) as caught:
        decode(data)
    assert len(str(caught.value).splitlines()) == 1
    expected = {"bomb.png": "decompression bomb", "empty.jpg": "0 bytes", "text.jpg": "not an image"}.get(name, "")
    assert expected in str(caught.value)


@pytest.mark.parametrize("pixels", [MAX_PIXELS + 1, 2 * MAX_PIXELS + 1])
def test_a_bomb_is_refused_by_its_header_alone(pixels: int) -> None:
    # A BMP header of 1 x n pixels without any pixel behind it.
    header = b"BM" + bytes(12) + (40).to_bytes(4, "little") + (1).to_bytes(4, "little") + pixels.to_bytes(4, "little")
    with pytest.raises(UnreadableImageError, match="decompression bomb"):
        decode(header + b"\x01\x00\x18\x00" + bytes(24))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_damaged_image_is_decoded_or_refused_and_nothing_else(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"]))
    whole = bytearray(encoded(noise(5), kind))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(UnreadableImageError):
        assert decode(bytes(whole[: data.draw(st.integers(0, len(whole)))]), side=16).shape == (16, 16, 3)


def test_a_missing_file_and_a_folder_give_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableImageError, match="does not exist"):
        load_image(str(tmp_path / "gone.jpg"))
    with pytest.raises(UnreadableImageError, match="cannot be read"):
        load_image(str(tmp_path))


def test_a_box_is_cropped_in_the_picture_that_a_person_sees() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    data = encoded(QUARTERS, "JPEG", exif=exif.tobytes(), quality=95)
    np.testing.assert_allclose(decode(data, box=Box(22, 2, 10, 10)).mean((0, 1)), (255, 0, 0), atol=12)
    np.testing.assert_allclose(decode(data, box=Box(50, 0, 50, 50, percent=True)).mean((0, 1)), (255, 0, 0), atol=12)


def test_a_box_outside_the_picture_gives_a_reason() -> None:
    with pytest.raises(UnreadableImageError, match="outside"):
        decode(encoded(QUARTERS), box=Box(60, 0, 5, 5))


def test_a_large_jpeg_that_is_shrunk_while_decoding_looks_like_one_that_was_not() -> None:
    large = np.asarray(Image.fromarray(noise(7)).resize((1600, 1200), Image.Resampling.BICUBIC))
    data = encoded(large, "JPEG", quality=95)
    for box in (None, Box(300, 200, 900, 800)):
        whole = resized([decode(data, box=box)], 64)[0].astype(int)
        assert np.abs(decode(data, side=64, box=box).astype(int) - whole).mean() < 2


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
    | st.sampled_from(["a#", "a#xywh=1,2,3,4", "#&", "a#bytes=1,2"]),
    st.none() | st.tuples(st.integers(0, 10**12), st.integers(0, 10**9)),
    st.none() | st.builds(Box, *[st.integers(0, 10**6).map(lambda n: n / 64)] * 4, st.booleans()),
)
def test_an_address_comes_back_from_its_uri(path: str, span: tuple[int, int] | None, box: Box | None) -> None:
    offset, size = span or (None, None)
    address = Address(path, offset, size, box)
    assert Address.parse(address.uri()) == address


def test_a_picture_to_look_at_keeps_its_proportions_and_is_never_enlarged(tmp_path: Path) -> None:
    Image.new("RGB", (900, 300), "olive").save(tmp_path / "wide.jpg")
    assert load_picture(str(tmp_path / "wide.jpg"), 256).shape == (85, 256, 3)
    assert load_picture(str(tmp_path / "wide.jpg"), 2048).shape == (300, 900, 3)

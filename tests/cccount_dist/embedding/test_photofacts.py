"""Times from EXIF and places from paths: what a plain folder of a camera card says."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image

from cccount_dist.embedding.readers.photofacts import exif_time, place_finder, with_exif_times, with_places
from storage.collection import collection_table
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import initialise


def photograph(path: Path, taken: str | None = None, offset: str | None = None) -> str:
    exif = Image.Exif()
    inner = exif.get_ifd(0x8769)
    if taken is not None:
        inner[0x9003] = taken
    if offset is not None:
        inner[0x9011] = offset
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8)).save(path, exif=exif)
    return str(path)


def test_the_time_in_a_file_is_read_with_its_zone_and_taken_as_utc_without(tmp_path: Path) -> None:
    assert exif_time(photograph(tmp_path / "a.jpg", "2026:05:01 06:30:00")) == datetime(2026, 5, 1, 6, 30, tzinfo=UTC)
    assert exif_time(photograph(tmp_path / "b.jpg", "2026:05:01 06:30:00", "+02:00")) == datetime(2026, 5, 1, 4, 30, tzinfo=UTC)


@pytest.mark.parametrize("taken", [None, "0000:00:00 00:00:00", "yesterday", "2026:13:41 99:00:00"])
def test_a_time_that_is_none_is_no_time(taken: str | None, tmp_path: Path) -> None:
    assert exif_time(photograph(tmp_path / "a.jpg", taken)) is None


def test_a_file_that_cannot_be_read_has_no_time(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8nothing")
    assert exif_time(str(tmp_path / "broken.jpg")) is None
    assert exif_time(str(tmp_path / "gone.jpg")) is None
    assert exif_time("s3://bucket/a.jpg") is None


def test_what_a_manifest_says_stays(tmp_path: Path) -> None:
    known = datetime(2020, 1, 1, tzinfo=UTC)
    table = collection_table(
        ["ford/a.jpg"], uri=[photograph(tmp_path / "a.jpg", "2026:05:01 06:30:00")], taken_at=[known], group=["hill"]
    )
    both = with_places(with_exif_times(table), "1")
    assert (both.column("taken_at")[0].as_py(), both.column("group")[0].as_py()) == (known, "hill")


def test_a_level_or_pattern_that_finds_no_place_is_said() -> None:
    table = collection_table(["ford/a.jpg"])
    for wrong, says in (("3", "no id names a place"), ("0", "counted from 1"), ("(", "no regular expression")):
        with pytest.raises(InputError, match=says):
            with_places(table, wrong)
    assert place_finder(r"fo.d")("ford/a.jpg") == "ford"


def test_init_takes_times_and_places_from_a_folder(tmp_path: Path) -> None:
    photograph(tmp_path / "photos/ford/a.jpg", "2026:05:01 06:30:00")
    photograph(tmp_path / "photos/hill/b.jpg")
    initialise(str(tmp_path / "ws"), images=str(tmp_path / "photos"), times="exif", place_from="1")
    table = Workspace.open(tmp_path / "ws").collection().table
    assert table.column("group").to_pylist() == ["ford", "hill"]
    assert table.column("taken_at").to_pylist() == [datetime(2026, 5, 1, 6, 30, tzinfo=UTC), None]

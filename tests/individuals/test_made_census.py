"""The census that other tests are made from has in it what it promises, and is the same for the same seed."""

from pathlib import Path

from benchmarks.census import make_census, plan_census
from cccount_dist.embedding.readers.photofacts import exif_time


def test_the_same_seed_gives_the_same_census_and_another_one_another() -> None:
    assert plan_census(seed=3) == plan_census(seed=3)
    assert plan_census(seed=3) != plan_census(seed=4)


def test_it_has_sides_seasons_paired_cameras_a_death_and_a_wrong_clock() -> None:
    census = plan_census(12, seed=1)
    assert {photo.side for photo in census.photos} == {"left", "right"}
    assert {photo.season for photo in census.photos} == {"season1", "season2"}
    (dead,) = census.died
    assert dead in census.animals("season1") - census.animals("season2")
    both = [photo for photo in census.photos if photo.station in census.paired]
    assert {photo.side for photo in both if photo.encounter == both[0].encounter} == {"left", "right"}
    wrong = [photo for photo in census.photos if photo.says != photo.taken]
    assert {photo.path.rpartition("/")[0] for photo in wrong} == {f"season2/{census.wrong_clock}"}
    assert len(set(census.known.values())) == len(census.known) > 1


def test_photographs_say_when_they_were_taken(tmp_path: Path) -> None:
    census = make_census(tmp_path, 3, seed=2, encounters=1.5)
    for photo in census.photos:
        assert exif_time(str(tmp_path / photo.path)) == photo.says.replace(microsecond=0)

"""Facts answer for free, with their reason in the log; where one may be wrong, people's answers stand above it."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.census import plan_census
from cccount_dist.campaign.adoption import KnownPairs
from cccount_dist.embedding.readers.photofacts import exif_place
from cccount_dist.individuals import evident
from cccount_dist.individuals.census import Individuals
from cccount_dist.individuals.evident import at_once, kilometers, too_far
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import OUTSIDE, Ledger, LoggedAnswer, fact_source
from cccount_dist.sampling.types import Question
from flows.exchange import facts
from flows.exchange.catalogue import import_catalogue
from storage.collection import LEFT, RIGHT
from storage.errors import InputError
from storage.individuals import read_known_pairs
from tests.individuals.made import groups, written


def test_encounters_are_the_same_softly_and_the_log_says_why(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    found = facts.encounters(place, written(tmp_path, "id,burst\np0.jpg,1\np1.jpg,1\nnowhere.jpg,2\n,3\np2.jpg,\np3.jpg,1\n"))
    assert (found.pairs, found.error_rate, [row.line for row in found.rejected]) == (2, 0.02, [4, 5])
    assert "column id: there is no picture 'nowhere.jpg'" in found.rejected[0].reason
    assert found.success is False
    rows = KnownPairs(individuals.workspace).new_answers()
    assert [(row.u, row.v, row.value, row.source) for row in rows] == [
        (0, 1, 1.0, "fact 0.02: one burst in known.csv"),
        (0, 3, 1.0, "fact 0.02: one burst in known.csv"),
    ]
    assert facts.encounters(place, str(tmp_path / "known.csv")).pairs == 0
    assert "2 same      2 % wrong" in facts.listed(place).words()


def test_a_person_stands_above_a_fact_whoever_came_first() -> None:
    for order in (1, -1):
        ledger = Ledger()
        question = Question(0, 1, 2)
        ledger.know([question])
        fact = LoggedAnswer("known/0", OUTSIDE, 1, 2, 1.0, fact_source(0.02, "a burst"), "known")
        said = LoggedAnswer("a", 0, 1, 2, 0.0, "people", "ana")
        ledger.take([fact, said][::order])
        assert ledger.constraints.known(1, 2) == 0.0
        assert not ledger.contradictions
        ledger.take([LoggedAnswer("u", 0, 1, 2, None, "people", "ana", undoes="a")])
        assert ledger.constraints.known(1, 2) == 1.0


def test_where_several_people_settle_each_answer_a_fact_settles_none() -> None:
    ledger = Ledger(overlap=2)
    ledger.take([LoggedAnswer("known/0", OUTSIDE, 1, 2, 1.0, fact_source(0.02, "a burst"), "known")])
    assert ledger.constraints.known(1, 2) is None


def test_a_chain_of_facts_is_believed_as_long_as_it_errs_no_more_than_people_do() -> None:
    known = Constraints()
    for item in range(4):
        known.suppose(item, item + 1, 1.0, f"fact {item}", 0.02)
    assert known.known(0, 2) == 1.0
    assert known.known(0, 3) is None
    assert known.doubt(0, 3) == pytest.approx(0.06)
    known.remove("fact 0")
    assert known.known(0, 1) is None
    known.add(0, 1, 0.0, "ana")
    assert known.known(1, 2) == 1.0


def test_too_far_for_the_time_is_what_a_look_at_every_pair_says(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    n = 40
    near = np.array([np.delete(np.arange(n), i) for i in range(n)], np.int32)
    moments, timed = rng.integers(0, 10**11, n), rng.random(n) < 0.9
    north, east = rng.uniform(60, 62, n), rng.uniform(25, 27, n)
    north[3] = np.nan
    slow = []
    for u in range(n):
        for v in range(u + 1, n):
            if timed[u] and timed[v] and 3 not in (u, v):
                far = kilometers(north, east, np.array([u]), np.array([v]))[0]
                if far > 5.0 * abs(int(moments[u]) - int(moments[v])) / 3.6e9:
                    slow.append([u, v])
    assert too_far(near, moments, timed, north, east, 5.0).tolist() == slow
    assert slow
    monkeypatch.setattr(evident, "_ROWS", 7)
    assert too_far(near, moments, timed, north, east, 5.0).tolist() == slow, "however many rows are looked at together"


def test_opposite_cameras_join_the_two_sides_of_one_animal_and_never_two_animals() -> None:
    photos = plan_census(12, seed=4).photos
    moments = np.array([int(photo.taken.timestamp() * 1e6) for photo in photos])
    one, other = ([i for i, p in enumerate(photos) if (p.station, p.camera) == ("st1", camera)] for camera in "ab")
    pairs = at_once(one, other, moments, 10.0)
    assert pairs
    assert all(photos[u].animal == photos[v].animal and {photos[u].side, photos[v].side} == {LEFT, RIGHT} for u, v in pairs)


def test_cameras_are_found_by_place_and_a_row_that_names_none_is_named(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    found = facts.cameras(place, written(tmp_path, "camera,opposite\nford,hill\nford,lake\n"), 86_400.0)
    assert (found.pairs, [row.line for row in found.rejected]) == (3, [3])
    assert "column opposite: no picture is in a folder 'lake'" in found.rejected[0].reason
    assert groups(individuals)[1] == (0, 1, 2, 3)
    assert individuals.census().find(1).sure == "by looks"  # a fact is no answer of a person


def test_after_its_death_an_animal_is_seen_no_more(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    with pytest.raises(InputError, match="has no column"):
        facts.deaths(place, written(tmp_path, "a,b\n1,2\n"))
    import_catalogue(place, written(tmp_path, "id,name\np0.jpg,Luna\np3.jpg,Sol\n", "known.csv"))
    found = facts.deaths(place, written(tmp_path, "name,died\nLuna,2026-05-01\nNobody,2026-05-01\nSol,soon\nSol,2026-04-01\n"))
    assert [row.line for row in found.rejected] == [3, 4, 5]
    assert "nobody in the catalogue is called 'Nobody'" in found.rejected[0].reason
    assert "column died" in found.rejected[1].reason
    assert [(r["u"], r["v"], r["value"]) for r in read_known_pairs(individuals.workspace).to_pylist() if r["error"]] == [
        (0, 4, 0.0)
    ]


def test_facts_that_need_what_is_not_there_say_what_to_do(individuals: Individuals, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="run `cccount neighbors"):
        facts.speed(individuals.workspace.location, 10.0)
    with pytest.raises(InputError, match=r"--error-rate must be 0 to 0\.05, not 0\.5"):
        facts.encounters(individuals.workspace.location, written(tmp_path, "id,burst\np0.jpg,1\np1.jpg,1\n"), 0.5)


def test_coordinates_are_read_from_the_file(tmp_path: Path) -> None:
    from benchmarks.census import make_census as draw

    census = draw(tmp_path, 2, seed=3, encounters=1.0)
    photo = census.photos[0]
    assert exif_place(str(tmp_path / photo.path)) == pytest.approx(census.stations[photo.station], abs=2e-4)

"""The table of individuals says what the photographs say."""

from pathlib import Path

import pytest

from cccount_dist.individuals.roster import Facts, Said, encounters_of, joined
from storage.errors import InputError, WorkspaceError
from storage.schema import INDIVIDUALS
from storage.workspace import Workspace
from tests.individuals.made import BEGAN, LABELS_OF, add_campaign, groups, make_census, write_groups


def test_everybody_has_pictures_encounters_times_and_places(tmp_path: Path) -> None:
    census = make_census(tmp_path / "ws").census()
    first, second, third = census.individuals
    assert (first.individual, first.items, first.encounters, first.places) == (1, (0, 1, 2), 2, ("ford", "hill"))
    assert first.first_seen == BEGAN
    assert first.last_seen is not None
    assert (first.last_seen - BEGAN).total_seconds() == 600 * 60
    assert (second.photos, second.sure, second.checked_by) == (2, "by looks", ())
    assert (third.photos, third.sure, third.places) == (1, "one picture", ())


def test_a_burst_is_one_encounter_and_a_picture_without_a_time_is_one_of_its_own(tmp_path: Path) -> None:
    facts = make_census(tmp_path / "ws").census().facts
    assert encounters_of([0, 1, 2], facts) == [(0, 1), (2,)]
    assert encounters_of([0, 1, 2], facts, gap_minutes=0.5) == [(0,), (1,), (2,)]
    untimed = Facts(facts.ids, facts.places, facts.moments, facts.timed & False, facts.area)
    assert encounters_of([0, 1, 2], untimed) == [(0,), (1,), (2,)]


def test_only_answers_about_two_pictures_of_one_group_join_them() -> None:
    said = [Said(0, 1, 1.0, "ana"), Said(1, 5, 1.0, "ana"), Said(5, 2, 1.0, "ana"), Said(3, 4, 0.0, "ana")]
    assert joined([[0, 1, 2], [3, 4], [5]], said) == [(0, 1), (), ()]


def test_the_table_that_is_written_is_declared_and_whole(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    individuals.write()
    stored = individuals.folder.read_table(INDIVIDUALS).to_pylist()
    assert [row["items"] for row in stored] == [[0, 1, 2], [3, 4], [5]]
    assert stored[0]["key_photo"] == "p0.jpg"
    assert list(Workspace.open(tmp_path / "ws").problems()) == []


def test_numbers_and_names_survive_a_new_result_and_a_new_campaign(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    individuals.name(2, "Luna", annotator="ana")
    write_groups(individuals.folder, (5, 4, 5, 0, 0, 0))  # one left the first, another came to the second
    assert groups(individuals) == {1: (0, 2), 2: (3, 4, 5), 4: (1,)}
    other = add_campaign(individuals.workspace, "again", (1, 1, 1, 0, 0, 2))
    assert {one.individual: one.name for one in other.census().individuals}[2] == "Luna"


def test_after_a_count_those_are_there_that_were_seen(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    seen = add_campaign(individuals.workspace, "count", (0, -1, -1, 1, -1, -1), kind="count")
    census = seen.census()
    assert (len(census.individuals), census.ungrouped) == (2, 4)


def test_a_campaign_without_groups_says_what_to_run(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws", LABELS_OF)
    empty = add_campaign(individuals.workspace, "empty", LABELS_OF)
    write_groups(empty.folder, ())
    with pytest.raises(WorkspaceError, match="cccount cluster"):
        empty.census()
    with pytest.raises(InputError, match="no individual 9"):
        individuals.census().find(9)

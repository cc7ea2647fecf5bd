"""After new photographs, answers and corrections there is a list of what changed, to be looked at."""

from pathlib import Path

import pytest

from flows.exchange.catalogue import import_catalogue
from flows.exchange.individuals import changed_individuals, set_sides
from storage.collection import collection_table
from storage.errors import InputError
from storage.workspace import Workspace
from tests.individuals.made import make_census, write_groups


def test_who_is_new_seen_again_and_joined_is_listed_and_the_list_is_as_it_was(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws", [0, 0, 1, 2, 2, -1])
    place = individuals.workspace.location
    assert "never listed" in changed_individuals(place, None).words()
    individuals.write()
    assert changed_individuals(place, None).changes == []
    write_groups(individuals.folder, [0, 0, 0, 2, 2, 3])
    found = changed_individuals(place, None)
    assert [(row["individual"], row["what"], row["pictures"]) for row in found.changes] == [
        (1, "has the pictures of individual 2, which is gone", ["p2.jpg"]),
        (4, "new", ["p5.jpg"]),
    ]
    assert "2 changes since the individuals were listed last" in found.words()
    assert changed_individuals(place, None).changes == found.changes
    individuals.not_an_animal(3, annotator="ana")
    lost = changed_individuals(place, None).changes[1]
    assert (lost["individual"], lost["what"], lost["pictures"]) == (3, "lost pictures to nobody", ["p3.jpg"])


def test_sides_are_set_by_command_and_what_they_were_is_told(tmp_path: Path) -> None:
    place = make_census(tmp_path / "ws").workspace.location
    assert set_sides(place, "left", ["p0.jpg", "p1.jpg"]).words().startswith("2 pictures show the side left")
    found = set_sides(place, "unknown", ["p1.jpg"])
    assert (found.before, found.words()[:28]) == ({"p1.jpg": "left"}, "1 picture shows no known sid")
    with pytest.raises(InputError, match=r"there is no picture 'no\.jpg'"):
        set_sides(place, "left", ["no.jpg"])


def test_of_many_individuals_those_that_look_alike_are_told_apart(tmp_path: Path) -> None:
    ids = [f"{number}.jpg" for number in range(601)]
    workspace = Workspace.create(tmp_path / "ws", collection_table(ids))
    table = tmp_path / "known.csv"
    table.write_text("id,name\n" + "".join(f"{name},n{name}\n" for name in ids))
    with pytest.raises(InputError, match="601 individuals: of more than 600 only those that look alike"):
        import_catalogue(workspace.location, str(table))

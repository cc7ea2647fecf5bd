"""A catalogue that is known goes in, from the forms that people keep it in; a bad row is named, and the rest is kept."""

import json
from pathlib import Path

import pytest

from cccount_dist.campaign.adoption import KnownPairs
from cccount_dist.individuals.census import Individuals
from flows.exchange.catalogue import import_boxes, import_catalogue
from flows.exchange.individuals import list_individuals
from storage.collection import collection_table
from storage.errors import InputError
from storage.individuals import read_known_pairs, read_known_pictures
from storage.workspace import Workspace
from tests.individuals.made import groups, written


def test_known_individuals_have_their_names_and_are_kept_apart(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    found = import_catalogue(place, written(tmp_path, "id,name\np0.jpg,Luna\np2.jpg,Sol\np3.jpg,Luna\np5.jpg,Ida\n"))
    assert (found.pictures, found.individuals, found.pairs, found.success) == (4, 3, 4, True)
    census = individuals.census()
    luna = next(one for one in census.individuals if one.name == "Luna")
    assert {0, 3} <= set(luna.items)
    assert 2 not in luna.items
    assert luna.known
    listed = list_individuals(place, None, None, 30.0)
    assert (len(listed.seen_again or ()), listed.missing) == (1, ["Ida", "Sol"])
    assert "1 seen again" in listed.words()
    again = import_catalogue(place, str(tmp_path / "known.csv"))
    assert (again.pictures, again.pairs) == (0, 0)


def test_every_campaign_is_told_once(individuals: Individuals, tmp_path: Path) -> None:
    import_catalogue(individuals.workspace.location, written(tmp_path, "id_u,id_v,value\np0.jpg,p1.jpg,different\n"))
    known = KnownPairs(individuals.workspace)
    assert [(row.u, row.v, row.value, row.source) for row in known.new_answers()] == [(0, 1, 0.0, "known: known.csv")]
    assert known.new_answers() == []
    assert groups(individuals)[1] in ((0, 2), (1, 2))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metadata.csv", "identity,path,date,orientation\nLuna,images/p0.jpg,2026-05-01,left\nunknown,images/p4.jpg,,right\n"),
        ("known.json", json.dumps([{"picture": "p0.jpg", "individual": "Luna", "side": "left"}])),
    ],
)
def test_the_tables_of_other_tools_are_read(name: str, content: str, individuals: Individuals, tmp_path: Path) -> None:
    import_catalogue(individuals.workspace.location, written(tmp_path, content, name))
    (row,) = read_known_pictures(individuals.workspace).to_pylist()
    assert row == {"item": 0, "name": "Luna", "side": "left", "origin": name}
    assert individuals.census().find(1).sides == ("left",)


def test_a_folder_for_each_individual_and_a_camtrap_package_are_read(individuals: Individuals, tmp_path: Path) -> None:
    for name, file in (("Luna", "p0.jpg"), ("Luna", "p3.jpg"), ("Sol", "p5.jpg"), ("Sol", "no.jpg")):
        (tmp_path / "known" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "known" / name / file).write_bytes(b"")
    found = import_catalogue(individuals.workspace.location, str(tmp_path / "known"))
    assert (found.pictures, len(found.rejected)) == (3, 1)
    assert "no.jpg" in found.rejected[0].reason
    package = tmp_path / "package"
    package.mkdir()
    written(package, "observationID,mediaID,individualID\no1,p4.jpg,Luna\no2,p1.jpg,\n", "observations.csv")
    assert import_catalogue(individuals.workspace.location, str(package)).pictures == 1


def test_a_bad_row_is_named_with_line_and_column_and_the_rest_is_kept(individuals: Individuals, tmp_path: Path) -> None:
    text = "id,name\np0.jpg,Luna\nnowhere.jpg,Sol\np0.jpg,Sol\n,Ida\np5.jpg,Ida\n"
    found = import_catalogue(individuals.workspace.location, written(tmp_path, text))
    assert [row.line for row in found.rejected] == [3, 4, 5]
    assert "column id: there is no picture 'nowhere.jpg'" in found.rejected[0].reason
    assert "'Luna' in a row above" in found.rejected[1].reason
    assert (found.pictures, found.success) == (2, False)


def test_half_a_row_and_one_against_the_catalogue_are_named_by_their_lines(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    import_catalogue(place, written(tmp_path, "id,name\np0.jpg,Luna\n"))
    found = import_catalogue(place, written(tmp_path, "id,name\np1.jpg\np0.jpg,Sol\np2.jpg,\np3.jpg,Ida\n"))
    assert [row.line for row in found.rejected] == [2, 3]
    assert "the row ends before the column name" in found.rejected[0].reason
    assert "is 'Luna' in the catalogue, and 'Sol' here" in found.rejected[1].reason
    assert found.pictures == 1, "of a picture without a name nothing is known"


def test_what_contradicts_itself_is_not_imported_at_all(individuals: Individuals, tmp_path: Path) -> None:
    text = "id_u,id_v,value\np0.jpg,p1.jpg,same\np1.jpg,p2.jpg,same\np0.jpg,p2.jpg,different\n"
    with pytest.raises(InputError, match="nothing was imported"):
        import_catalogue(individuals.workspace.location, written(tmp_path, text))
    assert read_known_pairs(individuals.workspace).num_rows == 0
    with pytest.raises(InputError, match="has no column"):
        import_catalogue(individuals.workspace.location, written(tmp_path, "a,b\n1,2\n"))
    assert list(Workspace.open(individuals.workspace.location).problems()) == []


def test_a_person_may_correct_the_catalogue(individuals: Individuals, tmp_path: Path) -> None:
    import_catalogue(individuals.workspace.location, written(tmp_path, "id,name\np0.jpg,Luna\np1.jpg,Luna\np3.jpg,Sol\n"))
    sol = next(one for one in individuals.census().individuals if one.name == "Sol")
    individuals.move(1, sol.individual, annotator="ana")
    assert 1 in individuals.census().find(sol.individual).items


def test_two_boxes_of_one_picture_are_different_unless_they_may_be_one_animal(tmp_path: Path) -> None:
    boxes = ("0,0,10,10", "20,0,10,10", "1,1,10,10")
    uris = [*(f"/photos/a.jpg#xywh={box}" for box in boxes), "/photos/b.jpg#xywh=0,0,10,10", "/photos/c.jpg"]
    workspace = Workspace.create(tmp_path / "ws", collection_table([f"i{n}" for n in range(5)], uri=uris))
    assert import_boxes(workspace.location).pairs == 2
    assert [(row["u"], row["v"], row["value"]) for row in read_known_pairs(workspace).to_pylist()] == [(0, 1, 0.0), (1, 2, 0.0)]
    assert import_boxes(workspace.location).pairs == 0

"""Individuals go out in the formats of the field, and come back from those that we read."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cccount_dist.individuals.census import Individuals
from flows.exchange.catalogue import import_catalogue
from flows.exchange.export import FORMATS, export
from storage.collection import collection_table
from storage.errors import InputError
from storage.individuals import read_known_pictures
from storage.workspace import Workspace
from tests.individuals.made import add_campaign, make_census


@pytest.fixture
def individuals(tmp_path: Path) -> Individuals:
    made = make_census(tmp_path / "ws")
    made.census()
    made.name(1, "=Luna", annotator="ana")
    made.confirm(2, annotator="ana")
    return made


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_three_tables_have_individuals_encounters_and_pictures(individuals: Individuals, tmp_path: Path) -> None:
    found = export(individuals.workspace.location, "csv", str(tmp_path / "out"))
    tables = {name: rows_of(tmp_path / "out" / f"{name}.csv") for name in ("individuals", "encounters", "pictures")}
    assert {name: len(rows) for name, rows in tables.items()} == {"individuals": 3, "encounters": 5, "pictures": 6}
    assert found.rows == 14
    assert tables["individuals"][0]["name"] == "'=Luna"  # nothing runs in a spreadsheet
    assert [row["encounter"] for row in tables["pictures"]][:3] == ["1-1", "1-1", "1-2"]
    with pytest.raises(InputError, match="there already"):
        export(individuals.workspace.location, "csv", str(tmp_path / "out"))


def test_capture_histories_have_the_chosen_occasions(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    export(place, "mark", str(tmp_path / "daily.inp"))
    assert (tmp_path / "daily.inp").read_text().splitlines() == [
        "/* _Luna */ 1000 1;", "/* individual-2 */ 1001 1;", "/* individual-3 */ 1000 1;",
    ]  # fmt: skip
    export(place, "mark", str(tmp_path / "weekly.inp"), occasion_days=7)
    assert "/* individual-2 */ 1 1;" in (tmp_path / "weekly.inp").read_text()
    export(place, "secr", str(tmp_path / "captures.txt"))
    assert (tmp_path / "captures.txt").read_text().splitlines() == [
        "# Session ID Occasion Detector", "1 _Luna 1 ford", "1 _Luna 1 hill", "1 individual-2 1 ford", "1 individual-2 4 hill",
        "1 individual-3 1 place",
    ]  # fmt: skip


def test_a_camtrap_package_goes_out_as_it_came_but_for_who_is_on_the_pictures(individuals: Individuals, tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "datapackage.json").write_text('{"name": "x"}')
    (package / "deployments.csv").write_text("deploymentID,latitude\nford,-4.5\n")
    lines = [
        "observationID,mediaID,individualID,individualPositionRadius",
        "o1,p0.jpg,,2.5",
        "o2,p3.jpg,old,-1",
        "o3,zz.jpg,kept,",
    ]
    (package / "observations.csv").write_text("\n".join(lines) + "\n")
    place = individuals.workspace.location
    assert export(place, "camtrap-dp", str(tmp_path / "out"), package=str(package)).rows == 2
    assert (tmp_path / "out/observations.csv").read_text().splitlines() == [
        lines[0], "o1,p0.jpg,'=Luna,2.5", "o2,p3.jpg,individual-2,-1", lines[3],
    ]  # fmt: skip
    for name in ("datapackage.json", "deployments.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (package / name).read_bytes()
    import_catalogue(place, str(tmp_path / "out"))  # and back
    assert {row["item"]: row["name"] for row in read_known_pictures(individuals.workspace).to_pylist()} == {
        0: "=Luna", 3: "individual-2",
    }  # fmt: skip


def test_wildlife_datasets_metadata_comes_back_as_a_catalogue(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    export(place, "wildlife-datasets", str(tmp_path / "metadata.csv"))
    assert import_catalogue(place, str(tmp_path / "metadata.csv")).pictures == 6
    names = [row["name"] for row in read_known_pictures(individuals.workspace).to_pylist()]
    assert names == ["=Luna"] * 3 + ["individual-2"] * 2 + ["individual-3"]


def test_darwin_core_coco_and_pairs_name_everybody(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    export(place, "darwin-core", str(tmp_path / "occurrence.csv"))
    rows = rows_of(tmp_path / "occurrence.csv")
    assert len({row["organismID"] for row in rows}) == 3
    assert (rows[3]["identificationVerificationStatus"], rows[3]["identifiedBy"]) == ("confirmed", "ana")
    export(place, "coco", str(tmp_path / "coco.json"))
    coco = json.loads((tmp_path / "coco.json").read_text())
    assert [one["category_id"] for one in coco["annotations"]] == [1, 1, 1, 2, 2, 3]
    export(place, "pairs", str(tmp_path / "pairs.csv"))
    assert rows_of(tmp_path / "pairs.csv") == [
        {"unique_id_l": "p3.jpg", "unique_id_r": "p4.jpg", "clerical_match_score": "1.0", "annotator": "ana"}
    ]


def test_what_cannot_be_exported_says_what_to_do(individuals: Individuals, tmp_path: Path) -> None:
    place = individuals.workspace.location
    with pytest.raises(InputError, match="camtrap-dp"):
        export(place, "excel", str(tmp_path / "x"))
    with pytest.raises(InputError, match="at least 1 day"):
        export(place, "mark", str(tmp_path / "x"), occasion_days=0)
    for days in (10**6, 10**12):
        with pytest.raises(InputError, match="at most 36,600"):
            export(place, "mark", str(tmp_path / "x"), occasion_days=days)
    for minutes in (-1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(InputError, match="minutes between encounters"):
            export(place, "csv", str(tmp_path / "x"), gap_minutes=minutes)
    with pytest.raises(InputError, match="secr or mark"):
        export(place, "csv", str(tmp_path / "x"), draws=3)
    with pytest.raises(InputError, match="0 to 1,000"):
        export(place, "mark", str(tmp_path / "x"), draws=-1)
    for first, last, says in (
        ("May", None, "2026-05-01"), ("2026-06-01", "2026-05-01", "in order"), ("2030-01-01", "2030-01-02", "no picture was"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=says):
            export(place, "mark", str(tmp_path / "x"), first_day=first, last_day=last)
    assert set(FORMATS) == {
        "csv", "camtrap-dp", "darwin-core", "secr", "mark", "wildlife-datasets", "fiftyone", "coco", "pairs",
    }  # fmt: skip
    assert not (tmp_path / "x").exists()


def test_a_time_that_cannot_be_right_does_not_make_histories_without_end(tmp_path: Path) -> None:
    table = collection_table(["a", "b"], taken_at=[datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)])
    add_campaign(Workspace.create(tmp_path / "old", table), "groups", [0, 0])
    with pytest.raises(InputError, match="739,617 occasions, and at most 10,000"):
        export(str(tmp_path / "old"), "mark", str(tmp_path / "x"))


def test_a_link_in_a_package_gives_no_other_file_away_and_a_dangling_one_is_no_free_place(
    individuals: Individuals, tmp_path: Path
) -> None:
    (tmp_path / "secret.json").write_text("secret")
    package = tmp_path / "package"
    package.mkdir()
    (package / "datapackage.json").write_text("{}")
    (package / "observations.csv").write_text("observationID,individualID\np0.jpg,\n")
    (package / "media.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(InputError, match="a link to a file outside the package"):
        export(individuals.workspace.location, "camtrap-dp", str(tmp_path / "out"), package=str(package))
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there already"):
        export(individuals.workspace.location, "csv", str(tmp_path / "out"))

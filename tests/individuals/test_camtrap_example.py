"""A package with the structure of the standard's own example goes in and comes out without loss.

Events and media are observed side by side, pictures are on the web, a picture shows an adult and nine young ones, some are blank,
tables have every column of the standard, and datapackage.json a table inside. The rows are invented; the structure is that of the
example of Camtrap DP 1.0.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from frictionless import Package
from PIL import Image

from cccount_dist.embedding.readers.source import read_images
from cccount_dist.individuals.census import Individuals
from flows.exchange.catalogue import import_catalogue
from flows.exchange.export import export
from storage.collection import collection_table
from storage.errors import InputError
from storage.individuals import read_known_pictures
from storage.workspace import Workspace
from tests.individuals.camtrap_schemas import TABLES, local
from tests.individuals.made import add_campaign
from tests.individuals.test_export import rows_of

WEB = "https://pictures.example.org/assets"
DAY = "2020-05-30T04:57:"
# medium: seconds, kind and sex of each media-level observation ("" for a medium that only its event names)
SEEN: Mapping[str, tuple[int, Sequence[tuple[str, int]]]] = {
    "m1": (37, [("animal", 1)]),
    "m2": (38, [("animal", 1)]),
    "m3": (39, [("blank", 0)]),
    "m4": (50, [("animal", 1), ("animal", 9)]),
    "m5": (55, []),
    "m6": (56, []),
}


def table(name: str, rows: Sequence[Mapping[str, object]]) -> str:
    lines = [",".join(TABLES[name])]
    lines += [",".join(str(row.get(column, "")) for column in TABLES[name]) for row in rows]
    return "\n".join(lines) + "\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "example"
    (folder / "media").mkdir(parents=True)
    media: list[dict[str, object]] = []
    observed: list[dict[str, object]] = []
    for name, (second, rows) in SEEN.items():
        Image.new("RGB", (8, 8), (20 * second % 255, 0, 0)).save(folder / "media" / f"{name}.JPG", format="JPEG")
        media.append({
            "mediaID": name, "deploymentID": "00a2c20d", "captureMethod": "activityDetection",
            "timestamp": f"{DAY}{second}+02:00", "filePath": f"{WEB}/{name}/file", "filePublic": "true",
            "fileName": f"{name}.JPG", "fileMediatype": "image/jpeg",
        })  # fmt: skip
        for number, (kind, count) in enumerate(rows, start=1):
            observed.append({
                "observationID": f"{name}_{number}", "deploymentID": "00a2c20d", "mediaID": name, "eventID": "4bb69c45",
                "eventStart": f"2020-05-30T02:57:{second}Z", "eventEnd": f"2020-05-30T02:57:{second}Z",
                "observationLevel": "media", "observationType": kind, "count": count or "", "scientificName": "Lutra lutra",
                "individualPositionRadius": "1.50", "classificationMethod": "human", "classifiedBy": "Ana",
                "observationTags": "side:left" if name == "m1" else "",
            })  # fmt: skip
    for event, (start, end) in {"e1": (37, 39), "e2": (50, 50), "e3": (55, 56)}.items():
        observed.append({
            "observationID": event, "deploymentID": "00a2c20d", "eventID": event, "eventStart": f"2020-05-30T02:57:{start}Z",
            "eventEnd": f"2020-05-30T02:57:{end}Z", "observationLevel": "event", "observationType": "animal", "count": 1,
            "individualID": "Reinaert" if event == "e3" else "", "classificationMethod": "human",
        })  # fmt: skip
    where: dict[str, object] = {
        "deploymentID": "00a2c20d", "latitude": 51.496, "longitude": 4.774, "coordinateUncertainty": 187,
        "deploymentStart": f"{DAY}37+02:00", "deploymentEnd": "2020-07-01T11:41:41+02:00", "timestampIssues": "false",
        "habitat": '"grasslands, with ponds"',
    }  # fmt: skip
    tables: dict[str, list[dict[str, object]]] = {"deployments": [where], "media": media, "observations": observed}
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text(table(name, lines))
    address = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0"
    resources: list[dict[str, object]] = [
        {"name": name, "path": f"{name}.csv", "profile": "tabular-data-resource", "schema": f"{address}/{name}-table-schema.json"}
        for name in tables
    ]
    resources.append({"name": "individuals", "data": [{"id": 1, "individualName": "Reinaert"}]})
    project = {"title": "x", "samplingDesign": "targeted", "individualAnimals": False, "observationLevel": ["media", "event"]}
    described = {"profile": f"{address}/camtrap-dp-profile.json", "project": project, "resources": resources}
    (folder / "datapackage.json").write_text(json.dumps(described, indent=2))
    return folder


def census_of(package: Path, place: Path, prefix: str = "") -> Individuals:
    """Its pictures, of which the first two show one animal, and the last three another."""
    read = read_images(package)
    ids = [prefix + name for name in read.column("id").to_pylist()]
    more = {name: read.column(name).to_pylist() for name in ("group", "taken_at", "side")}
    workspace = Workspace.create(place, collection_table(ids, uri=read.column("uri").to_pylist(), **more))
    return add_campaign(workspace, "groups", (0, 0, 1, 2, 2, 2))


def test_every_picture_of_the_example_is_read_with_its_deployment_time_side_and_individual(package: Path) -> None:
    read = read_images(package)
    assert read.column("id").to_pylist() == list(SEEN)
    assert read.column("uri")[0].as_py() == f"{package}/media/m1.JPG"
    assert set(read.column("group").to_pylist()) == {"00a2c20d"}
    assert read.column("taken_at")[4].as_py().isoformat() == "2020-05-30T02:57:55+00:00"
    assert read.column("latitude").to_pylist() == [51.496] * 6
    assert read.column("side").to_pylist() == ["left"] + [None] * 5
    assert read.column("label").to_pylist() == [None] * 4 + ["Reinaert"] * 2  # whom an event names is on its pictures
    assert read_images(package, "scientificName").column("label").to_pylist()[:2] == ["Lutra lutra"] * 2


def test_it_goes_out_valid_with_every_cell_as_found_and_comes_back(package: Path, tmp_path: Path) -> None:
    individuals = census_of(package, tmp_path / "ws")
    given, out = rows_of(package / "observations.csv"), tmp_path / "out"
    found = export(individuals.workspace.location, "camtrap-dp", str(out), package=str(package))
    after = rows_of(out / "observations.csv")
    named = {row["observationID"]: row["individualID"] for row in after if row["individualID"]}
    assert named == {
        "m1_1": "individual-1", "m2_1": "individual-1", "e3": "Reinaert",
        "cccount-m5": "individual-3", "cccount-m6": "individual-3",
    }  # fmt: skip
    assert [row | {"individualID": old["individualID"]} for row, old in zip(after, given, strict=False)] == given
    for name in ("datapackage.json", "deployments.csv", "media.csv"):
        assert (out / name).read_bytes() == (package / name).read_bytes()
    assert found.note == (
        "2 observations added, for pictures that only an event names; 2 pictures left as found, for their rows are of several "
        "animals or of none; individualAnimals is false in datapackage.json: set it to true"
    )
    for folder in (package, out):
        description = local(folder)
        report = Package.from_descriptor(description, basepath=str(folder)).validate()
        assert report.flatten(["type", "fieldName", "rowNumber"]) == []
    again = Workspace.create(tmp_path / "again", collection_table(list(SEEN)))
    assert import_catalogue(again.location, str(out)).rejected == []
    assert {row["item"]: row["name"] for row in read_known_pictures(again).to_pylist()} == {
        0: "individual-1", 1: "individual-1", 4: "individual-3", 5: "individual-3",
    }  # fmt: skip


def test_a_catalogue_knows_whom_an_event_names(package: Path, tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "ws", collection_table(["m5", "m1"]))
    found = import_catalogue(workspace.location, str(package))
    assert [(row["item"], row["name"]) for row in read_known_pictures(workspace).to_pylist()] == [(0, "Reinaert")]
    assert [row.line for row in found.rejected] == [9], "m6 is no picture of this collection"


def test_a_package_of_the_second_season_finds_its_pictures_behind_their_prefix(package: Path, tmp_path: Path) -> None:
    individuals = census_of(package, tmp_path / "ws", "2026/")
    found = export(individuals.workspace.location, "camtrap-dp", str(tmp_path / "out"), package=str(package))
    assert found.rows == 4


def test_pictures_on_the_web_without_a_copy_are_named_with_where_it_would_be_looked_for(package: Path) -> None:
    (package / "media/m2.JPG").unlink()
    with pytest.raises(InputError, match=r"media.csv row 2: https.* is on the web.*put a copy of it at .*example/media/m2\.JPG"):
        read_images(package)
    lines = (package / "media.csv").read_text().replace("m2.JPG", "m1.JPG")
    (package / "media.csv").write_text(lines)
    with pytest.raises(InputError, match=r"row 1: .*put a copy of it at .*example/media/00a2c20d/m1\.JPG"):
        read_images(package)  # two media have the name of one file: which one it is of, nobody knows

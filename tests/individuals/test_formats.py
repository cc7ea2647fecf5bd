"""What goes out is read back by the libraries of other tools, where those are small; and by ourselves."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from frictionless import Package, Report
from PIL import Image
from pycocotools.coco import COCO

from cccount_dist.embedding.readers.camtrap import read_camtrap
from cccount_dist.individuals.census import Individuals
from cccount_dist.individuals.sides import set_side
from flows.exchange.export import Export, export
from flows.exchange.formats.source import Source
from storage.collection import LEFT, RIGHT, collection_table
from storage.errors import InputError
from storage.workspace import Workspace
from tests.individuals.camtrap_schemas import PROJECT, REQUIRED, TABLES, local
from tests.individuals.made import BEGAN, add_campaign, make_census
from tests.individuals.test_export import rows_of

BOXES = ("#xywh=percent:25,50,50,25", "#xywh=10,20,40,30", "", "")


@pytest.fixture
def places(tmp_path: Path) -> Path:
    (tmp_path / "places.csv").write_text("place,latitude,longitude\nford,-3.5,29.8\nhill,-3.51,29.82\nunknown,0,0\nplace,1,1\n")
    return tmp_path / "places.csv"


@pytest.fixture
def boxed(tmp_path: Path) -> Individuals:
    """Three pictures of 100 x 60 pixels, one of them lying on its side; two animals are on the first."""
    for name, turned in (("a b%1.png", 1), ("c.jpg", 6), ("d.png", 1)):
        exif = Image.Exif()
        exif[0x0112] = turned
        Image.new("RGB", (60, 100) if turned == 6 else (100, 60)).save(tmp_path / name, exif=exif)
    files = ("a b%1.png", "a b%1.png", "c.jpg", "d.png")
    uris = [f"{tmp_path}/{name}{box}" for name, box in zip(files, BOXES, strict=True)]
    table = collection_table(["=a", "a2", "c", "d"], uri=uris, group=["ford"] * 4, taken_at=[BEGAN] * 4)
    return add_campaign(Workspace.create(tmp_path / "ws", table), "groups", (0, 1, 0, 1))


def out(individuals: Individuals, form: str, to: Path, **more: Any) -> Export:
    return export(individuals.workspace.location, form, str(to), **more)


def validated(package: Path) -> Report:
    report: Report = Package.from_descriptor(local(package), basepath=str(package)).validate()
    return report


def wrong(report: Report) -> list[list[Any]]:
    return [list(row) for row in report.flatten(["type", "fieldName", "rowNumber"])]


def test_a_new_camtrap_package_is_valid_and_comes_back(boxed: Individuals, tmp_path: Path, places: Path) -> None:
    boxed.census()
    boxed.name(1, "=Luna", annotator="ana")
    boxed.confirm(1, annotator="ana")
    found = out(boxed, "camtrap-dp", tmp_path / "package", places=str(places))
    assert "fill in samplingDesign" in (found.note or "")
    assert wrong(validated(tmp_path / "package")) == []
    described = json.loads((tmp_path / "package/datapackage.json").read_text())
    assert set(REQUIRED) <= set(described)
    assert set(PROJECT) <= set(described["project"])
    observed = rows_of(tmp_path / "package/observations.csv")
    assert [(row["individualID"], row["classifiedBy"]) for row in observed[:2]] == [
        ("'=Luna", "ana"),
        ("individual-2", "cccount"),
    ]
    assert [observed[1][side] for side in ("bboxX", "bboxY", "bboxWidth", "bboxHeight")] == [
        "0.100000", "0.333333", "0.400000", "0.500000",
    ]  # fmt: skip
    (tmp_path / "package/observations.csv").write_text(
        "\n".join(line.replace("'=", "=") for line in (tmp_path / "package/observations.csv").read_text().splitlines())
    )
    (table,) = read_camtrap(tmp_path / "package")
    assert table.column("id").to_pylist() == ["=a", "a2"]  # a package with boxes is its boxes
    assert table.column("uri").to_pylist()[0] == f"{tmp_path}/a b%1.png{BOXES[0]}"
    assert table.column("label").to_pylist() == ["=Luna", "individual-2"]


def test_what_the_standard_requires_and_nobody_knows_is_named_and_not_made_up(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    individuals.not_an_animal(5, annotator="ana")
    found = out(individuals, "camtrap-dp", tmp_path / "package")
    assert "of ford, hill, unknown: --places FILE" in (found.note or "")
    assert wrong(validated(tmp_path / "package")) == [
        ["constraint-error", name, row] for row in (2, 3, 4) for name in ("latitude", "longitude")
    ]
    observed = rows_of(tmp_path / "package/observations.csv")
    assert [row["observationType"] for row in observed] == ["animal"] * 5 + ["unknown"]


def test_a_package_of_the_standard_comes_out_valid_and_without_loss(tmp_path: Path, places: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    package = tmp_path / "theirs"
    out(individuals, "camtrap-dp", package, places=str(places))
    rows = rows_of(package / "observations.csv")
    rows[0]["observationComments"] = 'a "quoted", and\nbroken line'
    for number, row in enumerate(rows):
        row |= {"individualID": "", "individualPositionRadius": f"{number}.50", "scientificName": "Lynx lynx"}
    columns = [name for name in TABLES["observations"] if name in rows[0]]
    lines = [columns, *([row[name] for name in columns] for row in rows)]
    quoted = ["\r\n".join(",".join('"' + cell.replace('"', '""') + '"' if {'"', ","} & set(cell) else cell for cell in line)
                          for line in lines)]  # fmt: skip
    (package / "observations.csv").write_bytes(b"\xef\xbb\xbf" + (quoted[0] + "\r\n").encode())
    (package / "extra.csv").write_text("a\n1\n")
    assert wrong(validated(package)) == []
    assert out(individuals, "camtrap-dp", tmp_path / "ours", package=str(package)).rows == 6
    assert wrong(validated(tmp_path / "ours")) == []
    assert (tmp_path / "ours/observations.csv").read_bytes().startswith(b"\xef\xbb\xbfobservationID")
    before, after = (rows_of(folder / "observations.csv") for folder in (package, tmp_path / "ours"))
    assert [row["individualID"] for row in after] == [f"individual-{n}" for n in (1, 1, 1, 2, 2, 3)]
    assert [row | {"individualID": ""} for row in after] == before
    for name in ("datapackage.json", "deployments.csv", "media.csv", "extra.csv"):
        assert (tmp_path / "ours" / name).read_bytes() == (package / name).read_bytes()


def test_pycocotools_finds_every_individual_with_its_boxes(boxed: Individuals, tmp_path: Path) -> None:
    out(boxed, "coco", tmp_path / "coco.json")
    coco = COCO(str(tmp_path / "coco.json"))
    assert [one["name"] for one in coco.loadCats(coco.getCatIds())] == ["individual-1", "individual-2"]
    boxes = {one["id"]: one["bbox"] for one in coco.loadAnns(coco.getAnnIds())}
    assert boxes == {1: [25, 30, 50, 15], 2: [10, 20, 40, 30], 3: [0, 0, 100, 60], 4: [0, 0, 100, 60]}
    assert len(coco.getImgIds(catIds=[1])) == 2
    assert np.isclose(coco.loadAnns(2)[0]["area"], 1200)


def test_a_fiftyone_folder_has_detections_for_boxes_and_a_classification_for_the_rest(boxed: Individuals, tmp_path: Path) -> None:
    assert out(boxed, "fiftyone", tmp_path / "dataset").rows == 3
    first, second, _ = json.loads((tmp_path / "dataset/samples.json").read_text())["samples"]
    assert [one["label"] for one in first["individuals"]["detections"]] == ["individual-1", "individual-2"]
    assert first["individuals"]["detections"][1]["bounding_box"] == [0.1, 0.333333, 0.4, 0.5]
    assert second["individual"]["label"] == "individual-1"
    assert "version" not in json.loads((tmp_path / "dataset/metadata.json").read_text())  # so FiftyOne reads plain JSON


def test_traps_are_in_metres_and_every_place_that_was_used_must_be_known(tmp_path: Path, places: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    (tmp_path / "xy.csv").write_text("place,x,y\nford,0,0\nhill,1500,250.5\nplace,10,10\nnobody was here,5,5\n")
    out(individuals, "secr", tmp_path / "secr", places=str(tmp_path / "xy.csv"))
    assert (tmp_path / "secr/traps.txt").read_text().splitlines()[1:] == [
        "ford 0.00 0.00", "hill 1500.00 250.50", "nobody_was_here 5.00 5.00", "place 10.00 10.00",
    ]  # fmt: skip
    traps = {line.split()[0] for line in (tmp_path / "secr/traps.txt").read_text().splitlines()[1:]}
    assert {line.split()[3] for line in (tmp_path / "secr/captures.txt").read_text().splitlines()[1:]} <= traps
    (tmp_path / "few.csv").write_text("place,x,y\nford,0,0\n")
    with pytest.raises(InputError, match=r"no coordinates of 'hill', 'place'"):
        out(individuals, "secr", tmp_path / "none", places=str(tmp_path / "few.csv"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("place,latitude,longitude\nford,-3.5,east\n", r"line 2: column longitude: 'east' is no number from -180 to 180"),
        ("place,latitude,longitude\nford,-93,1\nhill,1,1\nhill,2,2\n", r"line 2: column latitude.*line 4: column place: 'hill'"),
        ("place,latitude,longitude,start\nford,1,1,yesterday\n", r"column start: 'yesterday' is no time, as 2026-05-01"),
        ("place,altitude\nford,3\n", "no columns latitude and longitude, or x and y"),
        ("where,latitude,longitude\nford,3,3\n", "has no column place"),
    ],
)
def test_a_wrong_place_is_named_with_line_and_column_and_nothing_goes_out(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(InputError, match=says):
        out(make_census(tmp_path / "ws"), "secr", tmp_path / "out", places=str(tmp_path / "bad.csv"))
    assert not (tmp_path / "out").exists()


def test_two_names_that_become_one_word_stay_two_animals(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    individuals.census()
    individuals.name(1, "Luna 1", annotator="ana")
    individuals.name(2, "Luna_1", annotator="ana")
    out(individuals, "mark", tmp_path / "two.inp")
    assert [line.split()[1] for line in (tmp_path / "two.inp").read_text().splitlines()] == ["Luna_1", "Luna_1.2", "individual-3"]


def test_chosen_days_make_the_occasions(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    found = out(individuals, "mark", tmp_path / "season.inp", first_day="2026-04-30", last_day="2026-05-02")
    assert (tmp_path / "season.inp").read_text().splitlines()[1] == "/* individual-2 */ 010 1;"
    assert found.note == (
        "3 occasions of 1 day from 2026-04-30 (UTC); 1 picture of other days left out; errors of identification were not measured"
    )


def test_draws_are_a_file_each_the_same_for_the_same_seed_and_their_errors_stand_beside(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        found = out(individuals, "mark", tmp_path / name, draws=3, seed=seed)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["draw-0001.inp", "draw-0002.inp", "draw-0003.inp", "errors.csv", "histories.inp"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    assert {row["what"] for row in rows_of(tmp_path / "one/errors.csv")} == {"individuals", "false_matches", "missed_matches"}
    assert set(found.measures or ()) >= {"false_matches", "missed_matches_high"}
    assert "3 pictures that nobody compared" not in (found.note or "")
    assert "5 pictures that nobody compared stay where they are" in (found.note or "")


def test_a_side_that_a_catalogue_says_goes_out_for_its_picture_alone(tmp_path: Path) -> None:
    from flows.exchange.catalogue import import_catalogue

    individuals = make_census(tmp_path / "ws")
    (tmp_path / "known.csv").write_text("id,name,side\np0.jpg,Luna,left\n")
    import_catalogue(individuals.workspace.location, str(tmp_path / "known.csv"))
    out(individuals, "wildlife-datasets", tmp_path / "metadata.csv")
    assert [row["orientation"] for row in rows_of(tmp_path / "metadata.csv")] == ["left"] + [""] * 5


def test_an_item_without_a_file_has_no_size(tmp_path: Path) -> None:
    from flows.exchange.formats.source import Choices

    individuals = make_census(tmp_path / "ws")
    assert Source(individuals, individuals.census(), Choices()).size(0) is None


def sided(tmp_path: Path) -> Individuals:
    """A census in which two animals were seen from one side each, left and right, and one from both."""
    individuals = make_census(tmp_path / "ws")
    for item, side in enumerate((LEFT, RIGHT, LEFT, LEFT, LEFT, RIGHT)):
        set_side(individuals.workspace, [item], side)
    return individuals


def test_histories_of_one_side_have_the_pictures_of_that_side_alone(tmp_path: Path) -> None:
    individuals = sided(tmp_path)
    whole = out(individuals, "mark", tmp_path / "all.inp")
    assert "2 were seen from one side only: one animal may be two histories" in (whole.note or "")
    left = out(individuals, "mark", tmp_path / "left.inp", side="left")
    assert "of the left side alone" in (left.note or "")
    assert [line.split()[1] for line in (tmp_path / "left.inp").read_text().splitlines()] == ["individual-1", "individual-2"]
    for side, form, says in (
        ("up", "mark", "--side takes left, right, other, not 'up'"),
        ("other", "mark", "no picture shows the other side"),
        ("left", "csv", "--side goes with --format secr or mark"),
    ):
        with pytest.raises(InputError, match=says):
            out(individuals, form, tmp_path / "none", side=side)


@pytest.mark.parametrize("days", [1, 3])
def test_capture_histories_keep_the_rules_of_secr_and_mark(days: int, tmp_path: Path) -> None:
    """R is not to be had here: what `read.capthist` and MARK demand of their files, in our words, and as the manuals say it."""
    individuals = sided(tmp_path)
    individuals.census()
    individuals.name(1, "=Luna; */ 1", annotator="ana")
    (tmp_path / "xy.csv").write_text("place,x,y\nford,0,0\nhill,1500,250.5\nplace,10,10\n")
    out(individuals, "secr", tmp_path / "secr", occasion_days=days, places=str(tmp_path / "xy.csv"))
    out(individuals, "mark", tmp_path / "all.inp", occasion_days=days)
    lines = (tmp_path / "secr/traps.txt").read_text().splitlines()
    traps = [line.split() for line in lines if not line.startswith("#")]
    assert all(len(row) == 3 and float(row[1]) >= 0 and float(row[2]) >= 0 for row in traps)
    assert len({row[0] for row in traps}) == len(traps), "every detector has one row"
    lines = (tmp_path / "secr/captures.txt").read_text().splitlines()
    captures = [line.split() for line in lines if not line.startswith("#")]
    assert all(len(row) == 4 and row[0] == "1" and int(row[2]) >= 1 for row in captures), "session, ID, occasion, detector"
    assert {row[3] for row in captures} <= {row[0] for row in traps}
    assert len({tuple(row) for row in captures}) == len(captures), "a proximity detector has an animal once on an occasion"
    histories = {}
    for line in (tmp_path / "all.inp").read_text().splitlines():
        comment, history, frequency = re.fullmatch(r"/\* (\S+) \*/ ([01]+) (-?\d+);", line).groups()  # type: ignore[union-attr]
        histories[comment] = history
        assert frequency == "1"
    assert len({len(history) for history in histories.values()}) == 1, "every history has every occasion"
    assert all("1" in history for history in histories.values()), "an animal that was never caught is not known"
    caught = {name: sorted(place + 1 for place, one in enumerate(history) if one == "1") for name, history in histories.items()}
    assert caught == {row[1]: sorted({int(other[2]) for other in captures if other[1] == row[1]}) for row in captures}

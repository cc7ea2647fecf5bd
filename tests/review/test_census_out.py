"""The whole way: photographs in, groups by right answers, corrections by command and page at once, every format out and back."""

import csv
import json
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from frictionless import Package
from playwright.sync_api import Browser, expect
from pycocotools.coco import COCO

from benchmarks.census import MadeCensus, make_census
from cccount_dist.embedding.readers.camtrap import read_camtrap
from cccount_dist.individuals.census import Individuals
from flows.exchange.export import FORMATS
from storage.workspace import Workspace
from tests.flows.conftest import cccount
from tests.individuals.camtrap_schemas import local
from tests.review.conftest import Serve

NAMED = "=HYPERLINK(1)"


def groups(pairs: Iterable[tuple[str, str]]) -> set[frozenset[str]]:
    """Which pictures are together, whatever the names."""
    found: dict[str, set[str]] = {}
    for picture, name in pairs:
        found.setdefault(name, set()).add(picture)
    return {frozenset(pictures) for pictures in found.values()}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MadeCensus]:
    """The first season of a made census, grouped by right answers to a few questions."""
    root = tmp_path_factory.mktemp("census")
    census = make_census(root / "photos", 4, seed=0, encounters=1.5, burst=2)
    animal = {photo.id: photo.animal for photo in census.of("season1")}
    np.save(root / "labels.npy", np.array([animal[name] for name in sorted(animal)]))
    place = root / "ws"
    facts: list[str | Path] = ["--place-from", "1", "--times", "exif", "--labels", root / "labels.npy"]
    commands: tuple[list[str | Path], ...] = (
        ["init", place, "--images", root / "photos/season1", *facts],
        ["embed", place, "--encoder", "pixels", "--workers", "1"], ["neighbors", place, "--k", "8", "--workers", "1"],
        ["cluster", place, "--campaign", "who", "--oracle", "labels", "--budget", "200"],
        ["cluster", place, "--campaign", "who", "--oracle", "people", "--budget", "200"],  # from here on people correct it
    )  # fmt: skip
    for command in commands:
        shown = cccount(*command)
        assert shown.code == 0, shown.err
    return root, census


def test_what_people_correct_in_two_processes_at_once_goes_out_in_every_format_and_comes_back_equal_to_the_truth(
    browser: Browser, serve: Serve, made: tuple[Path, MadeCensus]
) -> None:
    root, census = made
    place, photos = root / "ws", census.of("season1")
    truth = groups((photo.id, photo.animal) for photo in photos)
    individuals = Individuals.open(str(place), "who")
    assert groups((individuals.workspace.collection().ids[i], str(one.individual))
                  for one in individuals.census().individuals for i in one.items) == truth  # fmt: skip
    first, second, *_ = individuals.census().individuals
    ids = individuals.workspace.collection().ids
    stray = ids[first.items[-1]]
    with serve(Workspace.open(place)) as server, browser.new_context() as context:
        page = context.new_page()
        # Wrong at first: somebody puts a picture to another animal on the command line, while another names one on the page.
        moving = threading.Thread(target=lambda: cccount("individuals", "move", place, stray, "--to", str(second.individual)))
        moving.start()
        page.goto(f"{server.url}/individuals#{second.individual}")
        page.get_by_label("Name", exact=True).fill(NAMED)
        page.get_by_role("button", name="Save").click()
        expect(page.locator("h1:visible")).to_have_text(NAMED)
        moving.join()
        page.reload()
        expect(page.locator(".pick")).to_have_count(second.photos + 1)
        assert groups((ids[i], str(one.individual)) for one in individuals.census().individuals for i in one.items) != truth
        # Put right on the page, which knows nothing of how it came.
        page.get_by_role("button", name=f"Mark {stray}").click()
        page.get_by_role("button", name="Move to …").click()
        page.locator("dialog input").fill(f"individual {first.individual}")
        page.locator("dialog li button").first.click()
        expect(page.locator(".pick")).to_have_count(second.photos)
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator(".facts")).to_contain_text("confirmed")
    replayed = Individuals.open(str(place), "who").census()
    assert groups((ids[i], str(one.individual)) for one in replayed.individuals for i in one.items) == truth
    out = root / "out"
    for form in FORMATS:
        shown = cccount("export", place, "--format", form, "--to", out / form, "--places", root / "photos/stations.csv", "--json")
        assert shown.code == 0, shown.err
    assert not any(NAMED.encode() in line.lstrip(b'"').split(b",") for path in out.rglob("*.csv")
                   for line in path.read_bytes().splitlines())  # fmt: skip
    assert exported(out) == dict.fromkeys(exported(out), truth)
    assert Package.from_descriptor(local(out / "camtrap-dp"), basepath=str(out / "camtrap-dp")).validate().valid
    caught = {(p.animal, p.station, p.taken.date()) for p in photos}
    assert len((out / "secr/captures.txt").read_text().splitlines()) - 1 == len(caught)
    histories = [line.split()[3] for line in (out / "mark").read_text().splitlines() if line.endswith("1;")]
    assert sum(history.count("1") for history in histories) == len({(animal, day) for animal, _, day in caught})
    # Back into a new workspace: from our package, with places and times, and as a catalogue that knows all of them.
    again = root / "again"
    assert cccount("init", again, "--images", root / "photos/season1").code == 0
    shown = cccount("catalogue", "import", again, "--file", out / "camtrap-dp", "--json")
    assert (shown.code, shown.json["pictures"], shown.json["individuals"]) == (0, len(photos), len(truth)), shown.err


def exported(out: Path) -> dict[str, set[frozenset[str]]]:
    """Who is on which picture, as other tools read it."""
    coco = COCO(str(out / "coco"))
    short = {one["id"]: "/".join(Path(one["file_name"]).parts[-3:]) for one in coco.loadImgs(coco.getImgIds())}
    (table,) = read_camtrap(out / "camtrap-dp")
    samples = json.loads((out / "fiftyone/samples.json").read_text())["samples"]
    core, wild = rows_of(out / "darwin-core"), rows_of(out / "wildlife-datasets")
    return {
        "csv": groups((row["picture"], row["individual"]) for row in rows_of(out / "csv/pictures.csv")),
        "camtrap-dp": groups(zip(table.column("id").to_pylist(), table.column("label").to_pylist(), strict=True)),
        "darwin-core": groups((row["occurrenceID"].partition(":")[2], row["organismID"]) for row in core),
        "wildlife-datasets": groups((row["image_id"], row["identity"]) for row in wild),
        "fiftyone": groups((one["cccount_id"], one["individual"]["label"]) for one in samples),
        "coco": groups((short[one["image_id"]], str(one["category_id"])) for one in coco.loadAnns(coco.getAnnIds())),
    }

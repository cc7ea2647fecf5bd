"""A made census with all that a real one has, over two seasons: equal to the truth where answers are right, and out and back.

Sides, bursts, opposite cameras, a death, a wrong clock, a catalogue; the second season by `extend` under a prefix. It is long,
for it is the whole way. Sides of a handful of pictures `evidence` may group against what people said, with a warning: this census
has enough of each.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from pycocotools.coco import COCO

from benchmarks.census import MadeCensus, Photo, make_census
from cccount_dist import Campaign, Response
from cccount_dist.embedding.readers.camtrap import read_camtrap
from cccount_dist.individuals.census import Individuals
from cccount_dist.kinds.cluster.options import ClusterOptions
from cccount_dist.sampling.ledger import fact_error
from flows.exchange import facts
from flows.exchange.catalogue import import_catalogue
from flows.exchange.export import FORMATS, export
from flows.exchange.individuals import changed_individuals
from storage.workspace import Workspace
from tests.flows import calls
from tests.individuals.test_export import rows_of

PREFIX = "2026/"
FACTS = {"times": "exif", "gps": "exif", "side_from": r"_([LR])\."}
Groups = set[frozenset[str]]


def named(photo: Photo) -> str:
    """The id of a photograph in the workspace of both seasons."""
    return photo.id if photo.season == "season1" else PREFIX + photo.id


def knowable(census: MadeCensus, photos: Sequence[Photo], by_hand: set[str]) -> Groups:
    """The animals as right answers can tell them: sides are one where cameras stand opposite, or where somebody knew."""
    whole = by_hand | {photo.animal for photo in photos if photo.station in census.paired}
    found: dict[tuple[str, str], set[str]] = {}
    for photo in photos:
        found.setdefault((photo.animal, "" if photo.animal in whole else photo.side), set()).add(named(photo))
    return {frozenset(pictures) for pictures in found.values()}


def grouped(place: str) -> dict[int, frozenset[str]]:
    individuals = Individuals.open(place, "who")
    ids = individuals.workspace.collection().ids
    return {one.individual: frozenset(ids[item] for item in one.items) for one in individuals.census().individuals}


def answered(place: str, animals: dict[str, str], budget: int) -> None:
    """Have people who are always right answer until nothing more is asked; the method is told that they are."""
    state = calls.cluster(place, "who", ClusterOptions(budget=budget, parameter=("wrong_answers=none",)))["state"]
    ids, campaign = Workspace.open(place).collection().ids, Campaign.open(place, "who")
    for _ in range(60):
        if state != "waiting":
            break
        campaign.tell(Response(q.id, float(animals[ids[q.u]] == animals[ids[q.v]])) for q in campaign.ask(64))
        state = campaign.advance().state
    assert state == "done"


def looked_at(place: str) -> None:
    calls.stage("embed", place, encoder="pixels", workers=1)
    calls.stage("neighbors", place, k=8, workers=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, MadeCensus]:
    root = tmp_path_factory.mktemp("seasons")
    return root, make_census(root / "photos", 6, seed=1, encounters=2.0, burst=2, stations=3)


def test_a_census_of_two_seasons_is_equal_to_the_truth_and_goes_out_in_every_format(made: tuple[Path, MadeCensus]) -> None:
    root, census = made
    photos, place = root / "photos", str(root / "ws")
    animals = {named(photo): photo.animal for photo in census.photos}
    first = census.of("season1")
    calls.initialise(place, images=str(photos / "season1"), place_from="1", **FACTS)
    looked_at(place)
    known = import_catalogue(place, str(photos / "known.csv"))
    assert (known.pictures, known.rejected) == (len(census.known), [])
    assert facts.cameras(place, str(photos / "cameras.csv"), 5.0).pairs > 0
    assert facts.encounters(place, str(photos / "bursts.csv")).success
    assert facts.speed(place, 15.0).success
    answered(place, animals, 300)
    assert set(grouped(place).values()) == knowable(census, first, set())

    # Somebody knows both sides of an animal that no cameras saw at once, and gives it a name.
    individuals = Individuals.open(place, "who")
    lone = next(a for a in sorted(census.animals("season1", "left") & census.animals("season1", "right"))
                if len([g for g in knowable(census, first, set()) if animals[min(g)] == a]) == 2)  # fmt: skip
    left, right = sorted(number for number, pictures in grouped(place).items() if animals[min(pictures)] == lone)
    individuals.merge(left, [right], annotator="ana")
    individuals.name(left, "Luna", annotator="ana")
    individuals.write()
    before, said = grouped(place), [row.id for row in Campaign.open(place, "who").ledger.rows()]
    assert set(before.values()) == knowable(census, first, {lone})

    # The second season: names of files repeat, and the clock of one camera is wrong.
    calls.extend(place, images=str(photos / "season2"), prefix=PREFIX, place_from="1", **FACTS)
    looked_at(place)
    assert facts.cameras(place, str(photos / "cameras.csv"), 5.0).pairs > 0
    dead = facts.deaths(place, str(photos / "deaths.csv"))
    assert dead.success
    assert dead.pairs > 0
    answered(place, animals, 900)
    now = grouped(place)
    assert set(now.values()) == knowable(census, census.photos, {lone})
    ledger = Campaign.open(place, "who").ledger
    assert [row.id for row in ledger.rows()][: len(said)] == said
    assert {fact_error(row.source) for row in ledger.rows()} > {0.02}
    census_now = Individuals.open(place, "who").census()
    assert census_now.find(left).name == "Luna"
    names = {one.name: {animals[p] for p in now[one.individual]} for one in census_now.individuals if one.name}
    catalogue = {photo.animal: census.known[photo.path] for photo in census.photos if photo.path in census.known}
    assert names == {name: {animal} for animal, name in (catalogue | {lone: "Luna"}).items()}
    (gone,) = census.died
    assert all(
        not pictures & {named(p) for p in census.of("season2")} for pictures in now.values() if animals[min(pictures)] == gone
    )

    # What changed is a list: who was seen again, who is new, whose sides were joined.
    told = changed_individuals(place, "who").changes
    again = {row["individual"] for row in told if row["what"] == "seen again"}
    assert again == {n for n, pictures in now.items() if n in before and any(p.startswith(PREFIX) for p in pictures)}
    assert {row["individual"] for row in told if row["what"] == "new"} == {
        n for n, p in now.items() if all(x.startswith(PREFIX) for x in p)
    }
    assert calls.verify(place)["ok"]

    out, truth = root / "out", set(now.values())
    for form in FORMATS:
        export(place, form, str(out / form), places=str(photos / "stations.csv"))
    assert exported(out) == dict.fromkeys(exported(out), truth)
    fresh = str(root / "fresh")
    calls.initialise(fresh, images=str(photos / "season1"))
    calls.extend(fresh, images=str(photos / "season2"), prefix=PREFIX)
    back = import_catalogue(fresh, str(out / "camtrap-dp"))
    assert (back.pictures, back.individuals, back.rejected) == (len(census.photos), len(truth), [])


def exported(out: Path) -> dict[str, Groups]:
    """Who is on which picture, as other tools read it."""
    coco = COCO(str(out / "coco"))
    files = {one["id"]: of_file(one["file_name"]) for one in coco.loadImgs(coco.getImgIds())}
    (table,) = read_camtrap(out / "camtrap-dp")
    samples = json.loads((out / "fiftyone/samples.json").read_text())["samples"]
    core, wild = rows_of(out / "darwin-core"), rows_of(out / "wildlife-datasets")
    pairs = {
        "csv": [(row["picture"], row["individual"]) for row in rows_of(out / "csv/pictures.csv")],
        "camtrap-dp": list(zip(table.column("id").to_pylist(), table.column("label").to_pylist(), strict=True)),
        "darwin-core": [(row["occurrenceID"].partition(":")[2], row["organismID"]) for row in core],
        "wildlife-datasets": [(row["image_id"], row["identity"]) for row in wild],
        "fiftyone": [(one["cccount_id"], one["individual"]["label"]) for one in samples],
        "coco": [(files[one["image_id"]], str(one["category_id"])) for one in coco.loadAnns(coco.getAnnIds())],
    }
    found: dict[str, Groups] = {}
    for form, rows in pairs.items():
        groups: dict[str, set[str]] = {}
        for picture, who in rows:
            groups.setdefault(who, set()).add(picture)
        found[form] = {frozenset(pictures) for pictures in groups.values()}
    return found


def of_file(path: str) -> str:
    season, *rest = Path(path).parts[-4:]
    return ("" if season == "season1" else PREFIX) + "/".join(rest)

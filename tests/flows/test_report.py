"""`cccount report` on real campaigns: finished, waiting for people, just begun, on images and on vectors."""

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from PIL import Image

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.noun import whole
from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.shard import embed_shard, failures
from cccount_dist.report.shownpairs import MOST_PAIRS
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.campaigns import CampaignFolder
from storage.errors import WorkspaceError
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX
from storage.workspace import Workspace
from tests.cccount_dist.report.reading import Page, check
from tests.flows.calls import CountOptions, advance, count, initialise, write_reports

HOSTILE = "<script>alert(1)</script>&quot;.png".replace("/", "\u2215")
KINDS, EACH = 3, 12


def read(path: str) -> Page:
    return check(Path(path).read_text(encoding="utf-8"))


def with_neighbors(location: Path) -> Path:
    """What `cccount neighbors` leaves for a count, without a cluster."""
    workspace = Workspace.open(location)
    embeddings = workspace.array(EMBEDDINGS)
    found = neighbors_in_memory(embeddings.read(), 5)
    for spec, values in ((NEIGHBOR_INDEX, found.index), (DEGREE, found.degree)):
        attributes = {"metric": "cosine", "embeddings": embeddings.fingerprint()}
        array = workspace.create_array(spec, values.shape, attributes=attributes)
        for shard in range(array.shards):
            start, stop = array.shard_range(shard)
            array.write_shard(shard, values[start:stop])
    return location


def with_vectors(location: Path, encoder: str = "pixels") -> None:
    """What `cccount embed` leaves, without a cluster."""
    workspace = Workspace.open(location)
    collection = workspace.collection()
    model = open_encoder(encoder)
    attributes = {"encoder": model.name, "revision": model.revision, "components": None}
    array = workspace.create_array(EMBEDDINGS, (collection.items, model.dimensions), attributes=attributes)
    for shard in array.missing():
        embed_shard(workspace.location, encoder, shard)
    workspace.update_collection(collection.with_problems(failures(array)).table)


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A workspace of 36 pictures of three colours in folders, one of them with a hostile name, one more that is torn."""
    random = np.random.default_rng(0)
    for kind in range(KINDS):
        folder = tmp_path / "images" / f"kind {kind}"
        folder.mkdir(parents=True)
        for number in range(EACH):
            name = HOSTILE if (kind, number) == (0, 0) else f"{number}.png"
            pixels = random.integers(0, 40, (20, 30, 3), dtype=np.uint8)
            pixels[..., kind] += 200
            Image.fromarray(pixels).save(folder / name)
    (tmp_path / "images/kind 0/torn.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    workspace = tmp_path / "ws"
    initialise(str(workspace), images=str(tmp_path / "images"), labels="folder")
    with_vectors(workspace)
    return with_neighbors(workspace)


def test_a_finished_count_on_images_shows_estimate_truth_and_pairs(images: Path) -> None:
    found = count(str(images), "census", CountOptions(budget=30, oracle="labels"))
    written = write_reports(str(images), "census")
    assert written == {"files": [str(images / "campaigns/census/results/report.html")]}
    page = read(written["files"][0])
    assert f"About {whole(found['estimate'])} different ones" in page.text
    assert "From 30 answers." in page.text
    assert "The labels of the collection say 3" in page.text
    assert "1 item left out" in page.text
    assert "kind 0/torn.png" in page.text
    seen = 3  # individuals, with a picture each
    assert "that were seen" in page.text
    pairs = len(page.all("li")) - 4 - seen
    assert 0 < pairs <= MOST_PAIRS
    assert len(page.all("img")) == 2 * pairs + seen
    assert len(page.all("svg")) == 6  # the course, the sizes and the ways to count, each for wide and narrow screens
    folder = CampaignFolder(Workspace.open(images), "census")
    for fingerprint in folder.settings().fingerprints.values():
        assert fingerprint in page.text
    answers = folder.log.answers()
    given = answers.filter(pc.not_equal(answers.column("source"), "inferred")).column("value").to_pylist()
    for value, name in ((1.0, "same"), (0.0, "different")):
        assert sum(text == name for _, text in page.texts) == given.count(value)  # 30 pairs: all of them have room


def test_answers_that_decide_every_pair_give_an_exact_number(images: Path) -> None:
    found = count(str(images), "census", CountOptions(budget=500, oracle="labels"))
    assert found["questions"] < 500
    text = read(write_reports(str(images), "census")["files"][0]).text
    assert f"Exactly 3 different ones {found['questions']} answers decide every pair." in text
    assert "Complete: nothing is left to ask." in text
    assert "The labels of the collection say 3, too." in text


def test_a_hostile_file_name_is_shown_as_it_is(images: Path) -> None:
    folder = CampaignFolder(Workspace.open(images), "census")
    count(str(images), "census", CountOptions(budget=10, oracle="people"))
    campaign = Campaign(folder)
    hostile = next(item for item, name in enumerate(Workspace.open(images).collection().ids) if HOSTILE in name)
    asked = campaign.ask(100)
    campaign.tell([Response(q.id, None if hostile in (q.u, q.v) else 0.0, annotator="<b>ana</b>") for q in asked])
    path = write_reports(str(images), "census")["files"][0]
    page = read(path)
    assert "<b>ana</b>" in page.text
    assert "<script>alert" not in Path(path).read_text()


def test_a_campaign_that_waits_for_people_has_a_report(images: Path) -> None:
    count(str(images), "people", CountOptions(method="nis", budget=20, oracle="people"))
    page = read(write_reports(str(images), None)["files"][0])
    assert "No answers yet 20 questions wait for people." in page.text
    campaign = Campaign.open(str(images), "people")
    campaign.tell([Response(campaign.ask(1)[0].id, 1.0, annotator="ana")])
    page = read(write_reports(str(images), None)["files"][0])
    assert "1 answer" in page.text
    assert "Waiting for people: 19 questions open, 1 of 20 answers given." in page.text
    assert len(page.all("img")) == 2
    advance(str(images), "people")
    assert "ana1" in read(write_reports(str(images), "people")["files"][0]).text


def test_pictures_that_are_gone_do_not_stop_a_report(images: Path) -> None:
    count(str(images), "census", CountOptions(budget=30, oracle="labels"))
    for path in images.parent.glob("images/kind 1/*.png"):
        path.unlink()
    page = read(write_reports(str(images), "census")["files"][0])
    assert "could not be read; the first: kind 1/" in page.text
    assert "the file does not exist" in page.text


def test_a_budget_of_0_on_vectors_has_a_report(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32))
    location = tmp_path / "ws"
    initialise(str(location), embeddings=str(tmp_path / "x.npy"))
    with_neighbors(location)
    count(str(location), "none", CountOptions(budget=0))
    text = read(write_reports(str(location), None)["files"][0]).text
    assert "Nothing has been asked so far." in text
    assert "given with the collection, 4 dimensions" in text


def test_every_campaign_gets_its_report_and_a_second_run_replaces_it(images: Path) -> None:
    for name in ("b", "a"):
        count(str(images), name, CountOptions(budget=12, oracle="labels"))
    files = write_reports(str(images), None)["files"]
    assert [Path(path).parent.parent.name for path in files] == ["a", "b"]
    assert write_reports(str(images), None)["files"] == files


def test_no_campaign_gives_no_file_and_an_unknown_one_is_named(images: Path) -> None:
    assert write_reports(str(images), None) == {"files": []}
    with pytest.raises(WorkspaceError, match="has no campaign 'cencus'"):
        write_reports(str(images), "cencus")

"""The whole way on a workspace in an object store, with images in a bucket: the same results as on a disk."""

from pathlib import Path

import distributed
import numpy as np
import pytest
from PIL import Image

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.embedding.images import UnreadableImageError, load_image
from flows.serving.sealing import Sealer
from storage import remote
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, InputError, StoreError
from storage.objects import open_objects
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX
from storage.workspace import Workspace
from tests.flows.calls import embed, initialise, neighbors, stage, write_reports
from tests.flows.conftest import digits, files_of
from tests.storage.faults import until
from tests.storage.rows import numbered

ITEMS = 60


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory, s3: str) -> tuple[Path, str]:
    """The same images in a folder and in a bucket, each in a folder of its label."""
    folder, bucket = tmp_path_factory.mktemp("photos"), f"{s3}/photos"
    objects = open_objects(bucket)
    for number, (row, label) in enumerate(zip(*digits(), strict=True)):
        if number == ITEMS:
            break
        path = folder / str(label) / f"{number:03d}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray((row.reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(path)
        objects.replace(f"{label}/{number:03d}.png", path.read_bytes())
    objects.replace("0/.hidden.png", b"no image")
    objects.replace("readme.txt", b"no image")
    return folder, bucket


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, s3: str, pictures: tuple[Path, str]) -> tuple[str, str]:
    """A workspace on a disk and one in the store, made by the same commands."""
    home = tmp_path_factory.mktemp("home")
    places = (str(home / "ws"), f"{s3}/{home.name}")
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(1, processes=False, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        patch.setenv("XDG_STATE_HOME", str(home / "state"))
        for place, images in zip(places, pictures, strict=True):
            initialise(place, images=str(images), labels="folder")
            embed(place, encoder="hog", client=client)
            neighbors(place, k=5, client=client)
            stage("count", place, oracle="labels", budget=100)
            stage("cluster", place, oracle="labels", budget=40)
            stage("advance", place, "count")
            write_reports(place, None)
            assert stage("verify", place) == {"ok": True, "problems": []}
    return places


def test_results_on_a_disk_and_in_a_store_are_the_same(pair: tuple[str, str]) -> None:
    local, remote = (Workspace.open(place) for place in pair)
    for spec in (EMBEDDINGS, NEIGHBOR_INDEX, DEGREE):
        assert np.array_equal(local.array(spec).read(), remote.array(spec).read(), equal_nan=True)
    assert local.array(EMBEDDINGS).fingerprint() == remote.array(EMBEDDINGS).fingerprint()
    for name in ("count", "cluster"):
        ours, theirs = (CampaignFolder(workspace, name).log for workspace in (local, remote))
        assert ours.questions().drop_columns("asked_at").equals(theirs.questions().drop_columns("asked_at"))
        assert ours.answers().drop_columns("answered_at").equals(theirs.answers().drop_columns("answered_at"))
    assert remote.collection().labels() is not None
    assert b"data:image" in remote.objects.read("campaigns/count/results/report.html")


def test_partial_results_are_gone_and_nothing_else_lies_in_the_store(pair: tuple[str, str]) -> None:
    local, remote = (Workspace.open(place).objects for place in pair)
    # Snapshots are written when they save time, here or there.
    keys = {key for key in remote.keys("") if not key.startswith(".scratch/neighbors.json") and "/snapshot/" not in key}
    assert keys == {key for key in local.keys("") if not key.startswith(".cache/") and "/snapshot/" not in key}


def test_answers_of_people_reach_the_store_at_once(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCCOUNT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CCCOUNT_STATE", str(tmp_path / "state"))
    place = pair[1]
    stage("count", place, "people", method="nis", budget=20)
    campaign = Campaign.open(place, "people")
    asked = campaign.ask(5)
    responses = [Response(question.id, 0.0, "ana") for question in asked]
    assert campaign.tell(responses) == 5
    campaign.tell(responses)  # a retry: the log knows the ids
    folder = CampaignFolder(Workspace.open(place), "people")
    assert [row for row in folder.log.answers().column("annotator").to_pylist() if row == "ana"] == ["ana"] * 5
    with folder.journal() as journal:
        assert journal.pending().num_rows == 0
    assert folder.journal_path.is_relative_to(tmp_path / "state")
    assert stage("advance", place, "people")["questions"] == 5


def test_a_review_host_that_does_not_advance_seals_into_the_store(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CCCOUNT_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("flows.serving.sealing.GATHER_SECONDS", 0.01)
    stage("count", pair[1], "sealed", method="nis", budget=20)
    workspace = Workspace.open(pair[1])
    folder = CampaignFolder(workspace, "sealed")
    before = folder.log.answers().num_rows
    with Sealer(workspace) as sealer:
        with folder.journal() as journal:
            journal.record(numbered(0, 3))
        sealer.answered("sealed", 3)
        until(lambda: CampaignFolder(workspace, "sealed").log.answers().num_rows == before + 3)
    with folder.journal() as journal:
        assert journal.pending().num_rows == 0


def test_a_manifest_may_name_objects(pictures: tuple[Path, str], tmp_path: Path) -> None:
    bucket = pictures[1]
    names = [key for key in open_objects(bucket).keys("") if key.endswith(".png")][1:4]
    table = tmp_path / "table.csv"
    table.write_text("path\n" + "\n".join(f"{bucket}/{name}" for name in names))
    initialise(str(tmp_path / "whole"), manifest=str(table))
    table.write_text("path\n" + "\n".join(names))
    initialise(str(tmp_path / "relative"), manifest=str(table), images=bucket)
    uris = [Workspace.open(tmp_path / name).collection().table.column("uri").to_pylist() for name in ("whole", "relative")]
    assert uris[0] == uris[1] == [f"{bucket}/{name}" for name in names]
    table.write_text("path\nnowhere.png\n")
    with pytest.raises(InputError, match="there is no object"):
        initialise(str(tmp_path / "not"), manifest=str(table), images=bucket)


def test_an_image_that_was_removed_from_the_bucket_is_unreadable(s3: str, pictures: tuple[Path, str]) -> None:
    objects = open_objects(f"{s3}/few")
    for name in ("a.png", "b.png"):
        objects.replace(name, open_objects(pictures[1]).read("0/000.png"))
    objects.delete("b.png")
    load_image(f"{s3}/few/a.png")
    with pytest.raises(UnreadableImageError, match="the file does not exist"):
        load_image(f"{s3}/few/b.png")


@pytest.mark.parametrize(
    ("place", "said"), [("s3://nobody/ws", "no such bucket"), ("s3://", "names no bucket"), ("ftp://x/y", "write s3://")]
)
def test_what_the_store_refuses_is_one_line(s3: str, place: str, said: str) -> None:
    with pytest.raises(CccountError, match=said) as caught:
        Workspace.open(place)
    assert "\n" not in str(caught.value)


def test_a_store_that_does_not_answer_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(remote, "_RETRY_SECONDS", 1)
    with pytest.raises(StoreError, match="cannot use s3://census/ws/") as caught:
        Workspace.open("s3://census/ws")
    assert "\n" not in str(caught.value)


def test_a_failed_init_takes_back_only_its_own(s3: str, tmp_path: Path) -> None:
    objects = open_objects(f"{s3}/shared")
    objects.replace("mine.txt", b"kept")
    np.save(tmp_path / "x.npy", digits()[0][:10])
    initialise(f"{s3}/shared", embeddings=str(tmp_path / "x.npy"))
    with pytest.raises(InputError, match="is a workspace already"):
        initialise(f"{s3}/shared", embeddings=str(tmp_path / "x.npy"))
    assert objects.read("mine.txt") == b"kept"
    assert files_of(tmp_path).keys() == {"x.npy"}

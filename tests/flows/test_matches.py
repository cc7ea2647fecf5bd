"""`cccount matches` on a real Dask cluster: equal bytes, resumption, growth, pictures that cannot be read, what is refused."""

from collections.abc import Iterator
from pathlib import Path

import distributed
import numpy as np
import pytest
from PIL import Image

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.resident import Resident
from flows.compute.clients import open_client
from flows.stages import passes
from flows.stages.consequences import of_matches
from flows.stages.matches import standing
from flows.stages.options import MatchesOptions
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError, InputError, WorkspaceError
from storage.schema import FEATURES, MATCHES, NEIGHBOR_INDEX, PREVIOUS_FEATURES
from storage.workspace import Workspace
from tests.flows.calls import embed, extend, initialise, matches, neighbors, stage, verify
from tests.flows.conftest import cccount

SCENES, VIEWS = 90, 3


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with open_client("local", workers=2) as client:
        yield client


def scene(seed: int) -> Image.Image:
    """Something with corners: rectangles of many greys."""
    rng = np.random.default_rng(seed)
    picture = np.full((120, 120), 128, np.uint8)
    for _ in range(40):
        x, y, w, h = rng.integers(0, 110, 2).tolist() + rng.integers(6, 30, 2).tolist()
        picture[y : y + h, x : x + w] = rng.integers(0, 256)
    return Image.fromarray(picture)


def photographed(folder: Path, scenes: range) -> None:
    """Write some views of each scene: turned a little, and cut at other places."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in scenes:
        for view in range(VIEWS):
            turned = scene(number).rotate(4 * view, Image.Resampling.BILINEAR)
            turned.crop((4 * view, 4, 108 + 4 * view, 112)).save(folder / f"{number:03d}-{view}.png")


def prepared(place: Path, photos: Path, client: distributed.Client) -> Workspace:
    initialise(str(place), images=str(photos))
    embed(str(place), encoder="pixels", client=client)
    neighbors(str(place), k=8, client=client)
    return Workspace.open(place)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    photographed(folder, range(SCENES))
    Image.new("RGB", (50, 50), "grey").save(folder / "plain.png")
    return folder


@pytest.fixture(scope="module")
def made(photos: Path, tmp_path_factory: pytest.TempPathFactory, client: distributed.Client) -> Workspace:
    """A workspace with its matches; not to be written to."""
    workspace = prepared(tmp_path_factory.mktemp("made") / "w", photos, client)
    done = matches(workspace.location, nearest=5, client=client)
    assert (done["items"], done["nearest"], done["failed"], done["shards"]) == (271, 5, [], 4)
    assert done["without_points"] >= 1
    return workspace


def prints(workspace: Workspace) -> tuple[str, str]:
    opened = Workspace.open(workspace.location)
    return opened.array(FEATURES).fingerprint(), opened.array(MATCHES).fingerprint()


def test_views_of_one_scene_match_and_others_hardly_do(made: Workspace) -> None:
    ids, near, found = made.collection().ids, made.array(NEIGHBOR_INDEX).read()[:, :5], made.array(MATCHES).read()
    scenes = np.array([name.split("-")[0] for name in ids])
    same = scenes[near] == scenes[:, None]
    assert found[same].mean() > 20
    assert found[~same].mean() < 5
    plain = ids.index("plain.png")
    assert (found[plain] == 0).all(), "a picture without texture matches nothing"
    assert verify(made.location) == {"ok": True, "problems": []}
    assert standing(made.location, nearest=5) == "complete"


@pytest.mark.parametrize("workers", [1, 8])
def test_the_bytes_are_the_same_on_any_number_of_workers(made: Workspace, photos: Path, tmp_path: Path, workers: int) -> None:
    with (
        distributed.LocalCluster(workers, processes=False, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        workspace = prepared(tmp_path / "w", photos, client)
        matches(workspace.location, nearest=5, client=client)
    assert prints(workspace) == prints(made)


def test_it_goes_on_shard_by_shard_and_more_items_need_only_their_own_features(
    photos: Path, tmp_path: Path, client: distributed.Client
) -> None:
    workspace = prepared(tmp_path / "w", photos, client)
    matches(workspace.location, nearest=5, client=client)
    whole = prints(workspace)
    for name in ("markers/features/000001.json", "markers/matches/000000.json"):
        Path(workspace.location, name).unlink()
    assert standing(workspace.location, nearest=5) == "partial"
    assert matches(workspace.location, nearest=5, client=client)["shards_resumed"] == 2
    assert prints(workspace) == whole

    before = workspace.array(FEATURES).read()
    photographed(tmp_path / "more", range(SCENES, SCENES + 2))
    extend(workspace.location, images=str(tmp_path / "more"))
    with pytest.raises(WorkspaceError, match="has not yet the vectors of 277 items: run `cccount embed"):
        matches(workspace.location, nearest=5, client=client)
    for photo in photos.iterdir():  # whoever looks at them again finds nothing
        photo.rename(photo.with_suffix(".gone"))
    try:
        embed(workspace.location, client=client)
        neighbors(workspace.location, k=8, client=client)
        problems = verify(workspace.location)["problems"]
        assert any(one["problem"] == "was computed for other neighbours than are here now" for one in problems)
        done = matches(workspace.location, nearest=5, client=client)
    finally:
        for photo in photos.iterdir():
            photo.rename(photo.with_suffix(".png"))
    assert (done["items"], done["failed"]) == (277, [])
    grown = Workspace.open(workspace.location)
    np.testing.assert_array_equal(grown.array(FEATURES).read()[: len(before)], before)
    assert (grown.array(MATCHES).read()[-6:] > 20).any(axis=1).all(), "new views match each other"
    assert not grown.has_array(PREVIOUS_FEATURES)
    assert verify(workspace.location) == {"ok": True, "problems": []}


def test_a_picture_that_cannot_be_read_any_more_matches_nothing_and_is_named(tmp_path: Path, client: distributed.Client) -> None:
    photographed(tmp_path / "photos", range(4))
    workspace = prepared(tmp_path / "w", tmp_path / "photos", client)
    (tmp_path / "photos" / "001-1.png").unlink()
    done = matches(workspace.location, client=client)
    assert done["nearest"] == 8
    assert done["failed"] == [{"id": "001-1.png", "reason": "the file does not exist"}]
    assert (workspace.array(MATCHES).read()[4] == 0).all()


def test_too_little_memory_and_vectors_without_pictures_are_refused_before_anything_is_written(
    photos: Path, tmp_path: Path, client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(40, 8)).astype(np.float32))
    initialise(str(tmp_path / "v"), embeddings=str(tmp_path / "x.npy"))
    with pytest.raises(InputError, match="has no pictures, only vectors"):
        matches(str(tmp_path / "v"), client=client)
    workspace = prepared(tmp_path / "w", photos, client)
    monkeypatch.setattr(passes, "PROCESS_BYTES", 2**60)
    with pytest.raises(ComputeError, match="of memory, and 1 task"):
        matches(workspace.location, client=client)
    assert not workspace.has_array(FEATURES)


def test_the_command_and_the_file_of_a_job_do_the_same(tmp_path: Path) -> None:
    photographed(tmp_path / "photos", range(6))
    (tmp_path / "job.toml").write_text(
        'workspace = "w"\n[collection]\nimages = "photos"\n[compute]\nworkers = 1\n'
        '[embed]\nencoder = "pixels"\n[neighbors]\nk = 8\n[matches]\nnearest = 5\n'
    )
    done = cccount("run", "job.toml", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert {one["stage"]: one["state"] for one in done.json["stages"]}["matches"] == "done"
    again = cccount("run", "job.toml", "--json", cwd=tmp_path)
    assert {one["stage"]: one["state"] for one in again.json["stages"]}["matches"] == "skipped"
    shown = cccount("matches", tmp_path / "w", "--nearest", "5", "--workers", "1")
    assert "each compared with its 5 nearest" in shown.out
    assert "matches" in cccount("status", tmp_path / "w").out
    assert cccount("matches", tmp_path / "w", "--nearest", "0").line.startswith("cccount: --nearest must be at least 1")


def test_campaigns_under_way_go_on_with_matches_in_a_new_epoch_and_are_told_before(
    tmp_path: Path, client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    photographed(tmp_path / "photos", range(20))
    workspace = prepared(tmp_path / "w", tmp_path / "photos", client)
    place = workspace.location
    for kind, name, method in (("count", "c", "placing"), ("cluster", "g", "catalogue"), ("count", "plain", "nis")):
        stage(kind, place, name, method=method, oracle="people", budget=50)
    assert of_matches(place, MatchesOptions()) == ["c", "g"], "whoever makes no use of them is not disturbed"
    stage("cluster", place, "served", method="catalogue", oracle="people", budget=50)
    kept_open = {name: Resident(place, name) for name in ("served", "plain")}  # as the review page keeps them
    for resident in kept_open.values():
        resident.supply(AtTheDesk(1, 1))
    monkeypatch.setattr("cccount_dist.campaign.resident._LOOK_SECONDS", 0.0)
    matches(place, client=client)
    for resident in kept_open.values():
        resident.supply(AtTheDesk(1, 1))
        resident.close()
    assert "local matches" in str(CampaignFolder(workspace, "served").epochs()[-1].reason)
    assert of_matches(place, MatchesOptions()) == []
    for name in ("c", "g", "plain"):
        stage("advance", place, name)
    reasons = {name: CampaignFolder(workspace, name).epochs()[-1].reason for name in ("c", "g", "plain")}
    assert all("local matches" in str(reasons[name]) for name in ("c", "g"))
    assert len(CampaignFolder(workspace, "plain").epochs()) == 1
    stage("cluster", place, "later", method="catalogue", oracle="people", budget=50)
    assert "matches" in CampaignFolder(workspace, "later").settings().fingerprints
    assert stage("advance", place, "later")["state"] == "waiting"
    assert verify(place) == {"ok": True, "problems": []}

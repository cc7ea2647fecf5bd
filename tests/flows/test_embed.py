"""`cccount embed` on a real Dask cluster: order, failures, resumption with equal bytes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import distributed
import numpy as np
import pytest

from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.images import load_image
from flows.compute.clients import open_client
from storage.errors import InputError, WorkspaceError
from storage.schema import EMBEDDINGS, ENCODED
from storage.workspace import Workspace
from tests.cccount_dist.embedding.pictures import hostile_files, write_folder
from tests.flows.calls import embed, extend, initialise


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with open_client("local", workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_folder(folder, 600)
    return folder


@pytest.fixture
def workspace(photos: Path, tmp_path: Path) -> Workspace:
    initialise(str(tmp_path / "w"), images=str(photos))
    return Workspace.open(tmp_path / "w")


def test_every_image_gets_the_vector_of_its_own_picture(workspace: Workspace, client: distributed.Client) -> None:
    report = embed(workspace.location, encoder="hog", client=client)
    assert (report["items"], report["encoder"], report["dimensions"]) == (600, "hog", 900)
    assert (report["failed"], report["shards"], report["shards_resumed"]) == ([], 3, 0)
    assert report["items_per_second"] == pytest.approx(600 / report["seconds"])
    array, collection = workspace.array(EMBEDDINGS), workspace.collection()
    assert array.attributes["encoder"] == "hog"
    assert array.attributes["revision"] == open_encoder("hog").revision
    for item in (0, 255, 256, 599):
        alone = open_encoder("hog").encode([load_image(collection.uri(item) or "")])
        np.testing.assert_array_equal(array.read(item, item + 1), alone)


def test_a_rerun_computes_only_missing_shards_and_the_bytes_are_equal(workspace: Workspace, client: distributed.Client) -> None:
    embed(workspace.location, encoder="pixels", client=client)
    before = workspace.array(EMBEDDINGS).fingerprint()
    again = embed(workspace.location, encoder="pixels", client=client)
    assert (again["shards_resumed"], again["items_per_second"]) == (3, 0)
    Path(workspace.location, "markers/embeddings/000001.json").unlink()
    Path(workspace.location, "embeddings.zarr/c/1/0").unlink()
    assert embed(workspace.location, encoder="pixels", client=client)["shards_resumed"] == 2
    assert Workspace.open(workspace.location).array(EMBEDDINGS).fingerprint() == before


def test_another_encoder_takes_the_place_of_the_first(workspace: Workspace, client: distributed.Client) -> None:
    embed(workspace.location, encoder="pixels", client=client)
    assert embed(workspace.location, encoder="hog", client=client)["shards_resumed"] == 0
    assert workspace.array(EMBEDDINGS).shape == (600, 900)


def test_hostile_files_are_recorded_and_the_others_are_embedded(tmp_path: Path, client: distributed.Client) -> None:
    names = write_folder(tmp_path / "photos", 20)
    for name, data in hostile_files().items():
        (tmp_path / "photos" / name).write_bytes(data)
    initialise(str(tmp_path / "w"), images=str(tmp_path / "photos"))
    (tmp_path / "photos" / names[4]).unlink()
    report = embed(str(tmp_path / "w"), encoder="pixels", client=client)
    failed = {entry["id"]: entry["reason"] for entry in report["failed"]}
    assert failed.keys() == {*hostile_files(), names[4]}
    assert failed[names[4]] == "the file does not exist"
    opened = Workspace.open(tmp_path / "w")
    collection = opened.collection()
    assert {collection.ids[item]: reason for item, reason in collection.problems().items()} == failed
    missing = np.isnan(opened.array(EMBEDDINGS).read()).all(axis=1)
    assert np.flatnonzero(missing).tolist() == sorted(collection.problems())
    # What could not be read is not tried again by the same command, and what was repaired is, by the next encoder.
    assert embed(str(tmp_path / "w"), encoder="pixels", client=client)["failed"] == report["failed"]
    write_folder(tmp_path / "photos", 20)
    assert names[4] not in [entry["id"] for entry in embed(str(tmp_path / "w"), encoder="hog", client=client)["failed"]]
    assert len(Workspace.open(tmp_path / "w").collection().problems()) == len(hostile_files())


def test_strict_stops_at_the_first_bad_image_and_names_it(tmp_path: Path, client: distributed.Client) -> None:
    write_folder(tmp_path / "photos", 5)
    (tmp_path / "photos/broken.jpg").write_bytes(b"no image")
    initialise(str(tmp_path / "w"), images=str(tmp_path / "photos"))
    with pytest.raises(InputError, match=r"^broken\.jpg: not an image .*--strict"):
        embed(str(tmp_path / "w"), encoder="pixels", strict=True, client=client)
    assert Workspace.open(tmp_path / "w").array(EMBEDDINGS).missing() == [0]


def test_strict_also_stops_when_an_earlier_run_left_failures(tmp_path: Path, client: distributed.Client) -> None:
    write_folder(tmp_path / "photos", 5)
    (tmp_path / "photos/broken.jpg").write_bytes(b"no image")
    initialise(str(tmp_path / "w"), images=str(tmp_path / "photos"))
    embed(str(tmp_path / "w"), encoder="pixels", client=client)
    with pytest.raises(InputError, match=r"^broken\.jpg: not an image"):
        embed(str(tmp_path / "w"), encoder="pixels", strict=True, client=client)


def test_a_collection_without_any_readable_image_is_an_error(tmp_path: Path, client: distributed.Client) -> None:
    (tmp_path / "photos").mkdir()
    for name in ("a.jpg", "b.jpg"):
        (tmp_path / "photos" / name).write_bytes(b"")
    initialise(str(tmp_path / "w"), images=str(tmp_path / "photos"))
    with pytest.raises(InputError, match=r"none of the 2 images .* a\.jpg: the file is empty"):
        embed(str(tmp_path / "w"), encoder="pixels", client=client)


def test_vectors_without_images_cannot_be_embedded(tmp_path: Path, client: distributed.Client) -> None:
    np.save(tmp_path / "x.npy", np.eye(4, dtype=np.float32))
    initialise(str(tmp_path / "w"), embeddings=str(tmp_path / "x.npy"))
    with pytest.raises(InputError, match="nothing to encode"):
        embed(str(tmp_path / "w"), encoder="hog", client=client)


def test_a_killed_run_loses_no_shard_and_the_bytes_are_equal(
    workspace: Workspace, photos: Path, tmp_path: Path, client: distributed.Client
) -> None:
    program = (
        "from flows.compute.clients import open_client\nfrom tests.flows.calls import embed\n"
        "if __name__ == '__main__':\n"
        " with open_client('local', workers=1) as client:\n"
        f"  print(embed({workspace.location!r}, encoder='hog', client=client)['shards_resumed'])\n"
    )
    (tmp_path / "run.py").write_text(program)
    command = [sys.executable, str(tmp_path / "run.py")]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    first = subprocess.Popen(command, env=here, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    markers = Path(workspace.location, "markers/embeddings")
    deadline = time.monotonic() + 60
    while not list(markers.glob("0*.json")) and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    done = len(Workspace.open(workspace.location).array(EMBEDDINGS).done())
    assert done >= 1
    second = subprocess.run(command, env=here, check=True, capture_output=True, text=True)
    assert int(second.stdout) == done
    initialise(str(tmp_path / "undisturbed"), images=str(photos))
    embed(str(tmp_path / "undisturbed"), encoder="hog", client=client)
    fingerprints = [
        Workspace.open(place).array(EMBEDDINGS).fingerprint() for place in (workspace.location, tmp_path / "undisturbed")
    ]
    assert fingerprints[0] == fingerprints[1]


def test_components_shorten_the_vectors_and_keep_what_the_encoder_gave(workspace: Workspace, client: distributed.Client) -> None:
    embed(workspace.location, encoder="pixels", client=client)
    plain = workspace.array(EMBEDDINGS).read()
    report = embed(workspace.location, encoder="pixels", components=16, client=client)
    assert (report["dimensions"], workspace.array(EMBEDDINGS).shape) == (16, (600, 16))
    np.testing.assert_array_equal(workspace.array(ENCODED).read(), plain)
    centred = plain - plain.mean(axis=0)
    energy = float((workspace.array(EMBEDDINGS).read() ** 2).sum())
    best = float((np.linalg.svd(centred, compute_uv=False)[:16] ** 2).sum())
    assert energy == pytest.approx(best, rel=1e-3)
    before = workspace.array(EMBEDDINGS).fingerprint()
    Path(workspace.location, "markers/embeddings/000002.json").unlink()
    embed(workspace.location, encoder="pixels", components=16, client=client)
    assert workspace.array(EMBEDDINGS).fingerprint() == before
    embed(workspace.location, encoder="pixels", client=client)
    np.testing.assert_array_equal(workspace.array(EMBEDDINGS).read(), plain)
    with pytest.raises(InputError, match="from 1 to 1024"):
        embed(workspace.location, encoder="pixels", components=2000, client=client)


def test_given_vectors_can_be_shortened_too(tmp_path: Path, client: distributed.Client) -> None:
    x = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    initialise(str(tmp_path / "w"), embeddings=str(tmp_path / "x.npy"))
    report = embed(str(tmp_path / "w"), components=4, client=client)
    assert (report["encoder"], report["dimensions"]) == ("given", 4)
    np.testing.assert_array_equal(Workspace.open(tmp_path / "w").array(ENCODED).read(), x)
    assert embed(str(tmp_path / "w"), components=6, client=client)["dimensions"] == 6


@pytest.mark.parametrize("components", [None, 8])
def test_added_images_come_last_and_only_they_are_embedded(
    tmp_path: Path, components: int | None, client: distributed.Client
) -> None:
    photos, location = tmp_path / "photos", str(tmp_path / "w")
    first = write_folder(photos, 300)
    (photos / "a/broken.png").write_bytes(b"no image")
    initialise(location, images=str(photos))
    embed(location, encoder="pixels", components=components, client=client)
    before = Workspace.open(location).array(EMBEDDINGS).read()
    assert extend(location, images=str(photos))["added"] == 0
    for name in first:  # were one of them decoded again, it would fail now
        (photos / name).write_bytes(b"")
    write_folder(photos, 40, first=300)
    assert extend(location, images=str(photos)) == {"workspace": location, "items": 341, "added": 40, "labelled": 0, "again": 0}
    with pytest.raises(WorkspaceError, match="cccount embed"):
        Workspace.open(location).array(EMBEDDINGS).require_complete()
    report = embed(location, encoder="pixels", components=components, client=client)
    assert [entry["id"] for entry in report["failed"]] == ["a/broken.png"]
    after = Workspace.open(location).array(EMBEDDINGS).read()
    np.testing.assert_array_equal(after[:301], before)
    assert np.isfinite(after[301:]).all()
    assert not (tmp_path / "w/previous.zarr").exists()
    assert Workspace.open(location).collection().ids[301] == "a/0300.png"


def test_an_id_cannot_come_to_mean_another_image(workspace: Workspace, tmp_path: Path) -> None:
    write_folder(tmp_path / "other", 3)
    with pytest.raises(InputError, match=r"the id 'a/0000\.png' is taken by"):
        extend(workspace.location, images=str(tmp_path / "other"))
    assert workspace.collection().items == 600


@pytest.mark.parametrize(
    ("name", "suffix", "items"), [("chimp_czoo_112px_jpeg", "jpg", 2109), ("gtsrb_32x32_webp", "webp", 2000)]
)
def test_real_collections_keep_count_order_and_labels_and_resume_with_equal_bytes(
    name: str, suffix: str, items: int, tmp_path: Path, client: distributed.Client
) -> None:
    path = next(
        (p / f"shared/data/{name}.npz" for p in Path(__file__).parents if (p / f"shared/data/{name}.npz").is_file()), None
    )
    if path is None:
        pytest.skip(f"{name}.npz is not at hand: it may be used for research only and is not in the repository")
    with np.load(path, allow_pickle=False) as arrays:
        files, cuts, labels = arrays["jpeg"].tobytes(), arrays["offsets"].tolist(), arrays["labels"][:items].tolist()
    for number, label in enumerate(labels):
        file = tmp_path / f"photos/{label:02d}/{number:05d}.{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(files[cuts[number] : cuts[number + 1]])
    location = str(tmp_path / "w")
    report = initialise(location, images=str(tmp_path / "photos"), labels="folder")
    assert (report["items"], report["labelled"]) == (items, items)
    ids = Workspace.open(location).collection().ids
    assert ids == sorted(f"{label:02d}/{number:05d}.{suffix}" for number, label in enumerate(labels))
    assert Workspace.open(location).collection().table.column("label").to_pylist() == [name.partition("/")[0] for name in ids]
    assert embed(location, encoder="hog", client=client)["failed"] == []
    array = Workspace.open(location).array(EMBEDDINGS)
    before = array.fingerprint()
    for shard in array.done()[::2]:
        Path(location, f"markers/embeddings/{shard:06d}.json").unlink()
    assert embed(location, encoder="hog", client=client)["shards_resumed"] == array.shards // 2
    assert Workspace.open(location).array(EMBEDDINGS).fingerprint() == before

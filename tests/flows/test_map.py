"""The map of a collection on a real Dask cluster: equal bytes, resumption, growth, and when there is none."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from cccount_dist.embedding import mapping as tasks
from cccount_dist.embedding.fitting import components_for, components_of_moments, mapped, moments_of, whiten
from cccount_dist.embedding.mapping import FIRST, RUN, SAMPLE, MapJob
from cccount_dist.embedding.projection import Projection, centred_rows, load_projection, unit_rows
from cccount_dist.similarity.inmemory import neighbors_in_memory
from flows.compute.clients import open_client, run_tasks
from flows.stages import mapping, passes
from flows.stages.embed import standing
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError, InputError
from storage.schema import EMBEDDINGS, ENCODED
from storage.workspace import Workspace
from tests.cccount_dist.embedding.pictures import write_folder
from tests.cccount_dist.embedding.test_fitting import individuals
from tests.flows.calls import embed, extend, first_frames, initialise, neighbors, stage, verify


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with open_client("local", workers=2) as client:
        yield client


def given(place: Path, x: NDArray[np.float32]) -> Workspace:
    np.save(place.with_suffix(".npy"), x)
    initialise(str(place), embeddings=str(place.with_suffix(".npy")))
    return Workspace.open(place)


def print_of(workspace: Workspace) -> str:
    return Workspace.open(workspace.location).array(EMBEDDINGS).fingerprint()


@pytest.fixture(scope="module")
def x() -> NDArray[np.float32]:
    return individuals(160, 8, 48)[0]  # more items than dimensions, and two runs of them


def test_given_vectors_go_through_their_map_and_everything_after_uses_it(
    x: NDArray[np.float32], tmp_path: Path, client: distributed.Client
) -> None:
    workspace = given(tmp_path / "w", x)
    report = embed(workspace.location, map="auto", client=client)
    assert (report["encoder"], report["dimensions"]) == ("given", 48)
    about = report["map"]
    assert (about["used"], about["components"], about["fitted_items"], about["reason"]) == (True, 48, len(x), None)
    assert 0 < about["mutual_before"] < 1
    np.testing.assert_array_equal(workspace.array(ENCODED).read(), x)
    np.testing.assert_allclose(workspace.array(EMBEDDINGS).read(), mapped(x, "auto"), atol=1e-4)
    found = neighbors(workspace.location, k=5, client=client)
    assert found["dimensions"] == 48
    assert verify(workspace.location) == {"ok": True, "problems": []}
    assert not list(Path(workspace.location, ".scratch").glob("neighbors*"))
    assert standing(workspace.location, "auto", None) == "complete"  # a workspace keeps its map
    assert embed(workspace.location, map="auto", client=client)["map"] == about
    Path(workspace.location, "projection.npz").write_bytes(b"PK\x03\x04 damaged")
    assert [problem["path"] for problem in verify(workspace.location)["problems"]] == [f"{workspace.location}/projection.npz"]


def test_the_bytes_are_the_same_on_one_worker_and_after_a_kill(
    x: NDArray[np.float32], tmp_path: Path, client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    holes = x.copy()
    holes[[3, 700]] = np.nan
    whole, killed = given(tmp_path / "whole", holes), given(tmp_path / "killed", holes)
    with open_client("local", workers=1) as alone:
        embed(whole.location, map="auto", client=alone)
    ran: list[str] = []

    monkeypatch.setattr(mapping, "run_tasks", lambda *a, describe, **m: _noting(ran, *a, describe=describe, **m))
    monkeypatch.setattr(passes, "run_tasks", lambda *a, describe, **m: _until_round_two(ran, *a, describe=describe, **m))
    with pytest.raises(ComputeError, match="killed"):
        embed(killed.location, map="auto", client=client)
    assert standing(killed.location, "auto", None, "auto") == "partial"
    assert any("components" in one for one in ran)
    ran.clear()
    monkeypatch.setattr(passes, "run_tasks", lambda *a, describe, **m: _noting(ran, *a, describe=describe, **m))
    embed(killed.location, map="auto", client=client)
    assert not [one for one in ran if "components" in one or "turning" in one or "round 1" in one]  # done before: stays done
    assert print_of(whole) == print_of(killed)
    assert np.isnan(killed.array(EMBEDDINGS).read()[[3, 700]]).all()


def test_of_a_large_collection_components_and_first_neighbours_come_from_a_part_and_the_last_whitening_from_all(
    x: NDArray[np.float32], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "FIRST", RUN)
    workspace = given(tmp_path / "w", x)  # two runs, so the first one alone is a part
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0") as here:
        embed(workspace.location, map="auto", client=here)
    found = components_of_moments([moments_of([x[:RUN]])], components_for(*x.shape))
    assert found is not None
    rows = unit_rows(centred_rows(x, found.mean, found.basis))
    first = whiten(rows[:RUN], neighbors_in_memory(rows[:RUN], 5).index)
    last = whiten(rows, neighbors_in_memory(first.apply(rows), 5).index)
    expected = Projection(found.mean, found.basis, {}, last).apply(x)
    np.testing.assert_allclose(workspace.array(EMBEDDINGS).read(), expected, atol=1e-4)
    assert np.abs(expected - mapped(x, "auto")).max() > 1e-2, "and not from all"


def _noting(ran: list[str], *arguments: Any, describe: str, **more: Any) -> Any:
    ran.extend(describe for _ in arguments[2])
    return run_tasks(*arguments, describe=describe, **more)


def _until_round_two(ran: list[str], *arguments: Any, describe: str, **more: Any) -> Any:
    if "round 2" in describe:
        raise ComputeError("killed")
    return _noting(ran, *arguments, describe=describe, **more)


def test_a_few_new_items_go_through_the_stored_map_and_many_have_it_fitted_again(
    x: NDArray[np.float32], tmp_path: Path, client: distributed.Client
) -> None:
    workspace = given(tmp_path / "w", x[:1000])
    embed(workspace.location, map="auto", client=client)
    before = workspace.array(EMBEDDINGS).read()
    np.save(tmp_path / "few.npy", x[1000:1100])
    extend(workspace.location, embeddings=str(tmp_path / "few.npy"))
    assert standing(workspace.location, "auto", None) == "partial"
    report = embed(workspace.location, client=client)
    assert report["map"]["fitted_items"] == 1000
    after = Workspace.open(workspace.location).array(EMBEDDINGS).read()
    np.testing.assert_array_equal(after[:1000], before)
    assert np.isfinite(after[1000:]).all()
    np.save(tmp_path / "many.npy", x[1100:])
    extend(workspace.location, embeddings=str(tmp_path / "many.npy"))
    report = embed(workspace.location, client=client)
    assert report["map"]["fitted_items"] == len(x)  # 1,280 are more than 1.2 times 1,000
    assert not np.array_equal(Workspace.open(workspace.location).array(EMBEDDINGS).read(0, 1000), before)


def test_a_campaign_goes_on_in_a_new_epoch_with_the_map_that_was_fitted_again(
    x: NDArray[np.float32], tmp_path: Path, client: distributed.Client
) -> None:
    workspace = given(tmp_path / "w", x[:400])
    place = workspace.location
    embed(place, map="auto", client=client)
    neighbors(place, k=10, client=client)
    stage("cluster", place, "groups", method="evidence", oracle="people", budget=50)
    before = stored_digest(place)
    np.save(tmp_path / "many.npy", x[400:640])
    extend(place, embeddings=str(tmp_path / "many.npy"))
    embed(place, client=client)
    neighbors(place, k=10, client=client)
    assert stored_digest(place) != before
    assert stage("advance", place, "groups")["state"] == "waiting"
    epochs = CampaignFolder(Workspace.open(place), "groups").epochs()
    assert len(epochs) == 2
    assert (epochs[-1].fingerprints or {})["embeddings"] == print_of(workspace)
    assert verify(place) == {"ok": True, "problems": []}


def stored_digest(place: str) -> str:
    stored = load_projection(Workspace.open(place).objects)
    assert stored is not None
    return stored.digest()


@pytest.mark.parametrize(("shape", "reason"), [((95, 64), "95 items with a vector are too few"), ((300, 12), "12 numbers")])
def test_auto_says_why_there_is_no_map_and_leaves_the_vectors_as_they_are(
    shape: tuple[int, int], reason: str, tmp_path: Path, client: distributed.Client
) -> None:
    few = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    workspace = given(tmp_path / "w", few)
    about = embed(workspace.location, map="auto", client=client)["map"]
    assert about["used"] is False
    assert reason in about["reason"]
    np.testing.assert_array_equal(workspace.array(EMBEDDINGS).read(), few)
    assert standing(workspace.location, "auto", None) == "complete"


def test_the_default_encoder_always_has_a_map_and_says_so_when_it_is_refused(tmp_path: Path, client: distributed.Client) -> None:
    write_folder(tmp_path / "photos", 12)
    location = str(tmp_path / "w")
    initialise(location, images=str(tmp_path / "photos"))
    for options in ({"map": "none"}, {"components": 8}):
        with pytest.raises(InputError, match="the vectors of composite are made for a map"):
            embed(location, client=client, **options)
    report = embed(location, client=client)
    assert (report["encoder"], report["dimensions"], report["map"]["used"]) == ("composite", 6, True)
    assert Workspace.open(location).array(ENCODED).shape == (12, 2852)
    assert neighbors(location, client=client)["k"] == 11
    assert verify(location)["ok"]


def test_bursts_are_found_by_the_look_of_frames_whatever_the_map_makes_of_them(
    tmp_path: Path, client: distributed.Client
) -> None:
    names = write_folder(tmp_path / "photos", 14)
    square = np.full((96, 96, 3), 255, np.uint8)
    square[30:60, 30:60] = (200, 0, 0)
    Image.fromarray(square).save(tmp_path / "photos/square.png")
    minutes = [(name, f"{number:02d}:00") for number, name in enumerate(names)]
    frames = [*minutes, (names[0], "00:02"), ("square.png", "00:03")]  # a copy of the first, and another picture
    lines = [f"photos/{name},{number},2026-05-01T10:{time}Z,north" for number, (name, time) in enumerate(frames)]
    (tmp_path / "m.csv").write_text("\n".join(["path,id,time,group", *lines]))
    location, thin = str(tmp_path / "w"), str(tmp_path / "thin")
    initialise(location, manifest=str(tmp_path / "m.csv"))
    embed(location, client=client)
    found = first_frames(location, thin)
    assert (found["items"], found["frames"]) == (15, 16)
    opened, made = Workspace.open(location), Workspace.open(thin)
    kept = [item for item in range(16) if item != 14]
    np.testing.assert_array_equal(made.array(EMBEDDINGS).read(), opened.array(EMBEDDINGS).read()[kept])
    np.testing.assert_array_equal(made.array(ENCODED).read(), opened.array(ENCODED).read()[kept])
    assert verify(thin) == {"ok": True, "problems": []}
    assert standing(thin, "auto", None) == "complete"


def test_copies_of_one_picture_keep_a_vector_and_are_alike(tmp_path: Path, client: distributed.Client) -> None:
    names = write_folder(tmp_path / "photos", 1)
    picture = (tmp_path / "photos" / names[0]).read_bytes()
    for number in range(3):
        (tmp_path / "photos" / f"copy{number}.png").write_bytes(picture)
    location = str(tmp_path / "w")
    initialise(location, images=str(tmp_path / "photos"))
    assert embed(location, client=client)["map"]["reason"] == "all vectors are equal"
    rows = Workspace.open(location).array(EMBEDDINGS).read()
    assert rows.any()
    np.testing.assert_allclose(rows, np.broadcast_to(rows[0], rows.shape), atol=1e-5)


def test_a_workspace_keeps_the_encoder_that_it_has(tmp_path: Path, client: distributed.Client) -> None:
    write_folder(tmp_path / "photos", 6)
    location = str(tmp_path / "w")
    initialise(location, images=str(tmp_path / "photos"))
    embed(location, encoder="pixels", client=client)
    before = print_of(Workspace.open(location))
    assert standing(location, "auto", None) == "complete"
    report = embed(location, client=client)
    assert (report["encoder"], "map" in report, print_of(Workspace.open(location))) == ("pixels", False, before)
    embed(location, encoder="pixels", map="auto", client=client)
    for _ in range(2):
        assert embed(location, client=client)["encoder"] == "pixels"  # and the map that was asked for
        assert Workspace.open(location).has_array(ENCODED)
    embed(location, encoder="pixels", map="none", client=client)
    assert print_of(Workspace.open(location)) == before
    assert not Workspace.open(location).has_array(ENCODED)
    assert verify(location)["ok"]


def test_wrong_wishes_are_refused_before_anything_is_written(tmp_path: Path, client: distributed.Client) -> None:
    workspace = given(tmp_path / "w", individuals(20, 6, 20)[0])
    with pytest.raises(InputError, match="--components 4 and --map auto are two ways"):
        embed(workspace.location, components=4, map="auto", client=client)
    with pytest.raises(InputError, match="there is no map 'always': use auto or none"):
        embed(workspace.location, map="always", client=client)
    with pytest.raises(InputError, match="nothing to encode"):
        embed(workspace.location, client=client)
    assert not workspace.has_array(ENCODED)


def test_a_map_that_does_not_fit_into_the_workers_is_refused_before_it_starts() -> None:
    job = MapJob("w", "f", 100_000, 100_000, 2852, "s")
    assert job.components == 192
    assert job.task_bytes() < 1.1 * 2**30  # a worker of 1.5 GiB takes it
    large = MapJob("w", "f", 10_000_000, 10_000_000, 2852, "s")
    assert (large.sampled(0), large.sampled(1)) == (FIRST, SAMPLE)

    class Small:
        def scheduler_info(self, **_: int) -> dict[str, Any]:
            return {"workers": {"tcp://small": {"memory_limit": 2**29, "nthreads": 1}}}

    with pytest.raises(ComputeError, match=r"tcp://small has 512\.00 MiB of memory"):
        passes.require_memory(Small(), job.task_bytes())  # type: ignore[arg-type]

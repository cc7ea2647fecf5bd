"""`neighbors` on a real Dask cluster: the same bytes on any number of workers, through kills, damage and reruns."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pyarrow as pa
import pytest

from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import METRICS, Metric
from flows.compute.clients import open_client, run_tasks
from storage.errors import ComputeError, ConflictError, InputError, StoreError
from storage.schema import COLLECTION, DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, SIMILARITY
from storage.workspace import Workspace
from tests.cccount_dist.reference import clustered
from tests.flows.calls import neighbors
from tests.flows.conftest import ROOT, environment, files_of
from tests.storage.faults import fill_up, small_disk

ITEMS, K = 2000, 20  # 8 blocks, 36 tiles, three stages
OUTPUTS = (NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, DEGREE)


def make_workspace(folder: Path, x: np.ndarray) -> Path:
    columns = {column.name: pa.nulls(len(x), column.type) for column in COLLECTION.columns}
    columns["item"] = pa.array(range(len(x)), pa.int64())
    columns["id"] = pa.array([f"image {item}" for item in range(len(x))])
    workspace = Workspace.create(folder, pa.table(columns, schema=COLLECTION.schema))
    array = workspace.create_array(EMBEDDINGS, x.shape, attributes={"encoder": "none"})
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        array.write_shard(shard, x[start:stop])
    return folder


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    x = clustered(ITEMS, 24)
    x[[3, 700]] = np.nan
    x[1500] = x[200]
    return make_workspace(tmp_path / "ws", x)


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with open_client(workers=2) as client:
        yield client


def written(folder: Path) -> dict[str, bytes]:
    """The bytes of the three arrays, and nothing of when and by whom they were made."""
    workspace = Workspace.open(folder)
    return {spec.name: workspace.array(spec).read().tobytes() for spec in OUTPUTS}


@pytest.fixture(scope="module")
def undisturbed(client: distributed.Client, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    x = clustered(ITEMS, 24)
    x[[3, 700]] = np.nan
    x[1500] = x[200]
    folder = make_workspace(tmp_path_factory.mktemp("undisturbed") / "ws", x)
    neighbors(str(folder), k=K, client=client)
    return written(folder)


def partial_results(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / ".scratch").rglob("*") if path.name.startswith(("part-", "state-")))


def test_the_arrays_are_those_of_the_pass_in_memory(collection: Path, client: distributed.Client) -> None:
    report = neighbors(str(collection), k=K, client=client)
    workspace = Workspace.open(collection)
    expected = neighbors_in_memory(workspace.array(EMBEDDINGS).read(), K)
    assert np.array_equal(workspace.array(NEIGHBOR_INDEX).read(), expected.index)
    assert np.array_equal(workspace.array(NEIGHBOR_SIMILARITY).read(), expected.similarity, equal_nan=True)
    assert np.allclose(workspace.array(DEGREE).read(), expected.degree, rtol=1e-12, equal_nan=True)
    attributes = workspace.array(DEGREE).attributes
    assert attributes["embeddings"] == workspace.array(EMBEDDINGS).fingerprint()
    assert (attributes["metric"], attributes["k"], attributes["engine"]) == ("cosine", K, "exact")
    assert 0 < report.pop("seconds") < 120
    assert 50e6 < report.pop("peak_worker_bytes") < 1.5 * 2**30
    assert report == {
        "items": ITEMS, "dimensions": 24, "k": K, "metric": "cosine", "engine": "exact",
        "tiles": 36, "tiles_resumed": 0, "recall": None,
    }  # fmt: skip
    assert not partial_results(collection)


def test_one_worker_writes_the_same_bytes_as_two(collection: Path, undisturbed: dict[str, bytes]) -> None:
    with open_client(workers=1) as alone:
        neighbors(str(collection), k=K, client=alone)
    assert written(collection) == undisturbed


def test_eight_workers_write_the_same_bytes_in_whatever_order_tasks_come(
    collection: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shuffled(client: distributed.Client, function: Any, tasks: list[Any], **how: Any) -> list[Any]:
        return run_tasks(client, function, [tasks[i] for i in np.random.default_rng(1).permutation(len(tasks))], **how)

    monkeypatch.setattr("flows.stages.neighbors.run_tasks", shuffled)
    with (
        distributed.LocalCluster(n_workers=8, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as eight,
    ):
        neighbors(str(collection), k=K, client=eight)
    assert written(collection) == undisturbed


def test_a_complete_pass_returns_at_once_and_other_parameters_begin_anew(collection: Path, client: distributed.Client) -> None:
    neighbors(str(collection), k=K, client=client)
    before = files_of(collection)
    again = neighbors(str(collection), k=K, client=client)
    assert (again["tiles"], again["tiles_resumed"]) == (36, 36)
    assert files_of(collection) == before
    other = neighbors(str(collection), k=5, metric="euclidean", client=client)
    assert other["tiles_resumed"] == 0
    array = Workspace.open(collection).array(NEIGHBOR_SIMILARITY)
    assert array.shape == (ITEMS, 5)
    assert isinstance(array.attributes["mean_squared_distance"], float)


def test_a_killed_worker_loses_nothing(collection: Path, client: distributed.Client, undisturbed: dict[str, bytes]) -> None:
    victim = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        when(lambda: len(partial_results(collection)) >= 3)
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    report = neighbors(str(collection), k=K, client=client)
    killer.join()
    assert report["tiles_resumed"] == 0
    assert written(collection) == undisturbed
    client.wait_for_workers(2)


def when(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it never happened"
        time.sleep(0.002)


def started_pass(folder: Path, engine: str = "exact") -> subprocess.Popen[bytes]:
    """Run the stage in processes of their own."""
    script = (
        "import sys\nfrom flows.compute.clients import open_client\nfrom tests.flows.calls import neighbors\n"
        "if __name__ == '__main__':\n    with open_client(workers=1) as client:\n"
        f"        neighbors(sys.argv[1], k={K}, engine={engine!r}, client=client)\n"
    )
    path = folder.parent / "run.py"
    path.write_text(script)
    return subprocess.Popen([sys.executable, path, folder], cwd=ROOT, env=environment(), start_new_session=True)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def killed_pass(folder: Path, files: int) -> list[Path]:
    """Kill a pass and its workers when so many partial results are there, and return these."""
    process = started_pass(folder)
    try:
        when(lambda: len(partial_results(folder)) >= files or process.poll() is not None)
    finally:
        kill_all(process)
    return partial_results(folder)


def test_after_a_kill_only_missing_tiles_are_computed(
    collection: Path, client: distributed.Client, undisturbed: dict[str, bytes]
) -> None:
    left = killed_pass(collection, 6)
    assert len(left) >= 6
    report = neighbors(str(collection), k=K, client=client)
    assert 0 < report["tiles_resumed"] < 36
    assert written(collection) == undisturbed
    assert not partial_results(collection)


def test_damaged_partial_results_are_computed_again(
    collection: Path, client: distributed.Client, undisturbed: dict[str, bytes]
) -> None:
    left = killed_pass(collection, 6)
    flipped = bytearray(left[0].read_bytes())
    flipped[len(flipped) // 2] ^= 1
    left[0].write_bytes(flipped)
    left[1].write_bytes(left[1].read_bytes()[:-5])
    left[2].write_bytes(b"")
    neighbors(str(collection), k=K, client=client)
    assert written(collection) == undisturbed


def test_a_lost_shard_costs_only_the_tiles_of_its_block(
    collection: Path, client: distributed.Client, undisturbed: dict[str, bytes]
) -> None:
    neighbors(str(collection), k=K, client=client)
    marker = next((collection / "markers").rglob("*degree*/000002.json"))
    marker.unlink()
    report = neighbors(str(collection), k=K, client=client)
    assert report["tiles_resumed"] == 36 - 8
    assert written(collection) == undisturbed


def test_workers_that_cannot_hold_a_task_are_refused_with_what_would_do(collection: Path) -> None:
    before = files_of(collection)
    with (
        open_client(workers=1, memory_limit="300MiB") as small,
        pytest.raises(ComputeError, match=r"give it --memory-limit \d+MiB or more"),
    ):
        neighbors(str(collection), k=K, client=small)
    assert {name for name in files_of(collection) if not name.startswith(".")} == {
        name for name in before if not name.startswith(".")
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": ITEMS}, "largest k that works is 1997"),
        ({"k": 0}, "at least 1, not 0"),
        ({"metric": "manhattan"}, "use one of cosine, correlation, euclidean"),
        ({"engine": "quantum"}, "there is no engine 'quantum'"),
    ],
)
def test_wrong_options_are_explained_and_leave_the_arrays_alone(
    options: dict[str, Any], message: str, collection: Path, client: distributed.Client
) -> None:
    neighbors(str(collection), k=5, client=client)
    before = written(collection)
    with pytest.raises(InputError, match=message):
        neighbors(str(collection), **options, client=client)
    assert written(collection) == before


def test_one_item_has_no_neighbours(tmp_path: Path, client: distributed.Client) -> None:
    folder = make_workspace(tmp_path / "one", clustered(1, 4))
    with pytest.raises(InputError, match=r"1 item\(s\) of the collection have a vector: neighbours need at least 2"):
        neighbors(str(folder), k=1, client=client)


def test_two_passes_at_once_do_not_mix(collection: Path, client: distributed.Client) -> None:
    from cccount_dist.similarity.remaining import scratch_folder

    with scratch_folder(Workspace.open(collection), "neighbors-other"), pytest.raises(ConflictError, match="is at work on"):
        neighbors(str(collection), k=K, client=client)


def test_a_lost_scheduler_is_explained_and_the_pass_goes_on_elsewhere(
    collection: Path, client: distributed.Client, undisturbed: dict[str, bytes]
) -> None:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    file = collection.parent / "scheduler.json"
    with subprocess.Popen(
        [*command, "--scheduler-file", file], env=environment(), stderr=subprocess.DEVNULL
    ) as scheduler, subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard", "--scheduler-file", file],
        env=environment(), stderr=subprocess.DEVNULL, cwd=ROOT,
    ) as worker:  # fmt: skip
        try:
            when(file.exists)
            with distributed.Client(scheduler_file=str(file)) as remote:
                remote.wait_for_workers(1)

                def kill() -> None:
                    when(lambda: len(partial_results(collection)) >= 3)
                    scheduler.kill()

                killer = threading.Thread(target=kill)
                killer.start()
                with pytest.raises(ComputeError, match="scheduler was lost"):
                    neighbors(str(collection), k=K, client=remote)
                killer.join()
        finally:
            scheduler.kill()
            worker.kill()
    assert neighbors(str(collection), k=K, client=client)["tiles_resumed"] > 0
    assert written(collection) == undisturbed


def test_similarities_that_an_older_version_kept_are_removed(
    collection: Path, client: distributed.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace.open(collection)
    kept = workspace.create_array(SIMILARITY, (512, 256), attributes={"metric": "cosine", "items": 500}, shard_rows=256)
    kept.write_shard(0, np.zeros((256, 256), np.float16))
    kept.write_shard(1, np.zeros((256, 256), np.float16))
    assert list(workspace.problems()) == []
    neighbors(str(collection), k=K, client=client)
    assert "similarity.zarr of an older version was removed: nothing reads it" in capsys.readouterr().err
    assert not list(collection.glob("**/similarity.zarr")) + list(collection.glob("markers/similarity"))
    assert list(workspace.problems()) == []


def test_a_full_disk_is_explained(tmp_path: Path, client: distributed.Client) -> None:
    x = clustered(ITEMS, 24)
    with small_disk(tmp_path / "disk", "4M") as disk:
        folder = make_workspace(disk / "ws", x)
        ballast = fill_up(disk)
        with pytest.raises(StoreError, match="the disk is full"):
            neighbors(str(folder), k=K, client=client)
        ballast.unlink()
        assert neighbors(str(folder), k=K, client=client)["tiles"] == 36
        expected = neighbors_in_memory(x, K)
        assert np.array_equal(Workspace.open(folder).array(NEIGHBOR_INDEX).read(), expected.index)


@pytest.mark.parametrize("metric", METRICS)
def test_the_approximate_engine_finds_nearly_all_and_says_how_many(
    metric: Metric, collection: Path, client: distributed.Client
) -> None:
    x = Workspace.open(collection).array(EMBEDDINGS).read()
    report = neighbors(str(collection), k=K, metric=metric, engine="approximate", client=client)
    workspace = Workspace.open(collection)
    exact = neighbors_in_memory(x, K, metric)
    index, similarity, degree = (workspace.array(spec).read() for spec in OUTPUTS)
    good = np.isfinite(exact.degree)
    assert (index[~good] == -1).all()
    assert np.array_equal(np.isnan(degree), ~good)
    assert (index[good] != np.flatnonzero(good)[:, None]).all()
    recall = np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(index[good], exact.index[good], strict=True)])
    assert recall > 0.97
    error = np.sqrt(recall * (1 - recall) / 1024)  # of the sample, if neighbours were missed independently
    assert abs(report["recall"] - recall) <= 6 * error
    assert workspace.array(DEGREE).attributes["recall"] == report["recall"]
    assert np.sqrt(np.mean((degree[good] / exact.degree[good] - 1) ** 2)) < 0.02
    # The engines sum the products of a similarity in different orders: equal but for the last bits.
    first = np.isclose(similarity[good, 0], exact.similarity[good, 0], rtol=0.0, atol=x.shape[1] * np.finfo(np.float32).eps)
    assert first.mean() > 0.97
    again = neighbors(str(collection), k=K, metric=metric, engine="approximate", client=client)
    assert (again["recall"], again["tiles_resumed"]) == (report["recall"], again["tiles"])


def test_the_approximate_engine_writes_the_same_bytes_on_one_worker_and_when_it_resumes(
    collection: Path, client: distributed.Client, tmp_path: Path
) -> None:
    shutil.copytree(collection, tmp_path / "copy")
    neighbors(str(collection), k=K, engine="approximate", client=client)
    process = started_pass(tmp_path / "copy", "approximate")
    when(lambda: len(list((tmp_path / "copy/.scratch").rglob("found-*"))) >= 2 or process.poll() is not None)
    kill_all(process)
    report = neighbors(str(tmp_path / "copy"), k=K, engine="approximate", client=client)
    assert 0 < report["tiles_resumed"] < report["tiles"]
    assert written(tmp_path / "copy") == written(collection)


def test_a_poor_recall_is_warned_of(tmp_path: Path, client: distributed.Client, capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(8).standard_normal((3000, 64)).astype(np.float32)  # no clusters at all: the worst case
    folder = make_workspace(tmp_path / "ws", x)
    report = neighbors(str(folder), k=K, engine="approximate", client=client)
    assert report["recall"] < 0.95
    assert f"recall on a sample is only {report['recall']:.3f}" in capsys.readouterr().err


def test_the_approximate_engine_loses_nothing_with_a_worker(collection: Path, client: distributed.Client, tmp_path: Path) -> None:
    shutil.copytree(collection, tmp_path / "copy")
    neighbors(str(collection), k=K, engine="approximate", client=client)
    victim = next(iter(client.run(os.getpid).values()))

    def kill() -> None:
        when(lambda: any((tmp_path / "copy/.scratch").rglob("near-*")))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    neighbors(str(tmp_path / "copy"), k=K, engine="approximate", client=client)
    killer.join()
    assert written(tmp_path / "copy") == written(collection)
    client.wait_for_workers(2)


def test_workers_without_faiss_are_refused_in_one_line(
    collection: Path, client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.stages.approximate.has_faiss", lambda: False)
    with pytest.raises(ComputeError, match=r"needs the extra 'approximate': pip install 'cccount\[approximate\]'"):
        neighbors(str(collection), k=K, engine="approximate", client=client)

"""Clusters: a real scheduler and worker in processes of their own, and what is said when they are not as they should be."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import dask
import distributed
import pytest
from typer.exceptions import TyperException
from typer.main import get_command

from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.campaign.prepared_sampler import prepared
from cccount_dist.kinds.cluster.runner import ClusterRunner
from flows.commands.cli import make_app
from flows.commands.usage import NAME, commands_of, explained, has_option
from flows.compute.clients import WORKERLESS, open_client, run_tasks
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError, InputError
from storage.workspace import Workspace
from tests.flows.calls import verify
from tests.flows.conftest import ROOT, cccount, environment


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = _dask(tmp_path_factory.mktemp("dask"), "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    yield f"tcp://127.0.0.1:{port}"
    _end(process)


def _dask(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *arguments],
            cwd=folder, env=environment(), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip


def _end(process: "subprocess.Popen[bytes]") -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="module")
def cluster(scheduler: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The scheduler with one worker that has cccount on its path."""
    worker = _dask(tmp_path_factory.mktemp("worker"), "worker", scheduler, "--nthreads", "1", "--no-dashboard")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with open_client(scheduler):
                break
        except ComputeError:
            time.sleep(0.2)
    yield scheduler
    _end(worker)


def test_a_scheduler_without_workers_is_refused(scheduler: str) -> None:
    with (
        pytest.raises(ComputeError, match=r"has no workers: start some with `dask worker|no Dask scheduler answers"),
        open_client(scheduler),
    ):
        pass


def test_the_command_uses_an_existing_cluster(cluster: str, workspace: Path) -> None:
    shown = cccount("neighbors", workspace, "--k", "12", "--compute", cluster, "--json")
    assert shown.code == 0, shown.err
    assert shown.json["k"] == 12


def test_sizes_of_a_foreign_cluster_are_not_ours_to_choose(cluster: str) -> None:
    with pytest.raises(InputError, match="has its own"), open_client(cluster, workers=2):
        pass


def _square(number: int) -> int:
    return number * number


def _explode(number: int) -> int:
    raise InputError(f"{number} is a bad number")


def _die(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.parametrize("limit", ["much", "-3"])
def test_a_memory_limit_that_is_no_size_is_refused(limit: str) -> None:
    with pytest.raises(InputError, match="--memory-limit"), open_client(memory_limit=limit):
        pass


def test_results_come_in_the_order_of_the_tasks_and_errors_as_they_are() -> None:
    with open_client(workers=1) as client:
        assert run_tasks(client, _square, range(30), describe="squares", unit="numbers") == [i * i for i in range(30)]
        with pytest.raises(InputError, match="7 is a bad number"):
            run_tasks(client, _explode, [7], describe="explosions", unit="numbers", retries=0)


def test_a_task_that_kills_every_worker_is_explained() -> None:
    with open_client(workers=1) as client, pytest.raises(ComputeError, match="because memory ran out"):
        run_tasks(client, _die, [1], describe="deaths", unit="numbers", retries=0)


def test_a_cluster_that_has_lost_its_workers_is_given_up() -> None:
    with (
        dask.config.set({WORKERLESS: 0.5}),
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(ComputeError, match="all Dask workers were lost after 0 of 2 numbers: run the same command again"),
    ):
        run_tasks(client, _square, [1, 2], describe="squares", unit="numbers")


def test_the_source_tree_is_what_is_tested() -> None:
    assert Path(sys.modules["flows.compute.clients"].__file__ or "").is_relative_to(ROOT)


def test_a_cluster_that_nobody_would_use_is_refused(workspace: Path) -> None:
    for arguments in (["--compute", "tcp://127.0.0.1:9"], ["--workers", "2"], ["--memory-limit", "2GiB"]):
        shown = cccount("cluster", workspace, "--method", "iu-red", "--clusters", "2", "--budget", "5", *arguments)
        assert shown.code == 1
        assert "are of no use to iu-red" in shown.line
    assert not (workspace / "campaigns").exists()
    shown = cccount("count", workspace, "--compute", "tcp://127.0.0.1:9")
    assert shown.code == 2
    assert shown.err.startswith(
        "cccount: count has no --compute, and would not use it: it is for embed, neighbors, matches, cluster"
    )
    assert shown.err.count("\n") == 1


def test_every_command_takes_an_address_or_refuses_it_in_one_line() -> None:
    app = make_app()
    commands = dict(commands_of(get_command(app)))
    using = {name for name, command in commands.items() if has_option(command, "--compute")}
    assert using == {"embed", "neighbors", "matches", "cluster", "subcluster", "doctor", "benchmark counting"}
    for name in commands.keys() - using:
        with pytest.raises(TyperException) as refused:
            app([*name.split(), "--compute", "tcp://127.0.0.1:9"], prog_name=NAME, standalone_mode=False)
        said = explained(refused.value)
        assert said.startswith(f"{name} has no --compute, and would not use it"), said
        assert "\n" not in said
        assert refused.value.exit_code == 2


@pytest.mark.parametrize("method", ["apc", "evidence"])
def test_a_sampler_is_prepared_on_the_cluster(
    method: str, cluster: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker prepares is what would be prepared here: the same questions, and nothing is computed twice."""
    command = ("cluster", workspace, "--oracle", "labels", "--method", method, "--seed", "3")
    assert cccount(*command, "--budget", "20", "--campaign", "here").code == 0

    shown = cccount(*command, "--budget", "20", "--campaign", "there", "--compute", cluster)
    assert shown.code == 0, shown.err
    kept = json.loads((workspace / "campaigns/there/snapshot/prepared.json").read_bytes())
    assert kept["took"] == 0.0, "it was prepared here"
    assert "of no use" not in shown.err
    logs = [CampaignFolder(Workspace.open(workspace), name).log.questions() for name in ("here", "there")]
    assert logs[0].drop_columns(["asked_at"]) == logs[1].drop_columns(["asked_at"])
    assert logs[0].num_rows > 0
    assert verify(str(workspace))["ok"]
    assert "nothing was left to prepare" in cccount(*command, "--budget", "21", "--campaign", "there", "--compute", cluster).err


def test_what_other_code_prepared_is_not_taken(workspace: Path) -> None:
    cccount("cluster", workspace, "--method", "apc", "--budget", "5", "--campaign", "group")
    folder = CampaignFolder(Workspace.open(workspace), "group")
    shutil.rmtree(workspace / "campaigns/group/snapshot", ignore_errors=True)
    packed = prepared((str(workspace), "group"))
    assert packed is not None
    snapshots = ClusterRunner.bare(folder, load_inputs(folder.workspace)).snapshots()
    foreign = replace(packed, document={**packed.document, "key": {**packed.document["key"], "numpy": "0.1"}})
    assert snapshots.lacks_prepared()
    assert not snapshots.take_prepared(foreign)
    assert snapshots.lacks_prepared()
    assert snapshots.take_prepared(packed)
    assert not snapshots.lacks_prepared()


def test_a_cluster_that_has_nothing_left_to_do_is_said(workspace: Path) -> None:
    command = ("cluster", workspace, "--oracle", "labels")
    assert cccount(*command, "--method", "hacc", "--clusters", "10", "--budget", "3").code == 0
    shown = cccount(*command, "--budget", "4", "--workers", "1")  # the campaign's own method, hacc, is not auto
    assert shown.code == 0, shown.err
    assert "nothing was left to prepare" in shown.err

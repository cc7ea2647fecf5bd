"""The whole way on a real LocalCluster under a real Prefect server (SQLite), and without any server."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from flows.orchestration.recording import server_url
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError
from storage.workspace import Workspace
from tests.flows.conftest import ROOT, Shown, cccount, digits, environment
from tests.servers import free_port, process

STARTUP_SECONDS = 120
ENDS = ("COMPLETED", "FAILED", "CRASHED")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A Prefect server of its own, and the environment in which a command uses it."""
    home = tmp_path_factory.mktemp("prefect")
    port = free_port()
    settings = {"PREFECT_HOME": str(home), "PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        started = subprocess.Popen(
            command, env=environment(**settings), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait(settings["PREFECT_API_URL"], started, home / "server.log")
        yield settings
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"no server after {STARTUP_SECONDS} s: {log.read_text()}")


def flow_runs(server: dict[str, str], flow: str) -> list[dict[str, Any]]:
    """The runs of a flow that have begun: a schedule makes others, for later."""
    body = json.dumps({"flows": {"name": {"any_": [flow]}}, "sort": "START_TIME_ASC"}).encode()
    request = urllib.request.Request(
        f"{server['PREFECT_API_URL']}/flow_runs/filter", body, {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return [run for run in found if run["start_time"] is not None]


def states(server: dict[str, str], flow: str) -> list[tuple[str, str]]:
    return [(run["state_type"], run["state_name"]) for run in flow_runs(server, flow)]


def folder_of_images(folder: Path) -> Path:
    folder.mkdir()
    for number, row in enumerate(digits()[0][:120]):
        picture = (row.reshape(8, 8) * 15).astype(np.uint8)
        Image.fromarray(picture).resize((32, 32)).save(folder / f"{number:03d}.png")
    np.save(folder.parent / "labels.npy", digits()[1][:120])
    return folder


def test_the_whole_way_is_recorded_by_the_server(server: dict[str, str], tmp_path: Path) -> None:
    photos = folder_of_images(tmp_path / "photos")
    place = str(tmp_path / "ws")
    shown = cccount("init", place, "--images", photos, "--labels", tmp_path / "labels.npy")
    assert shown.code == 0, shown.err
    for arguments in (
        ["embed", place, "--encoder", "hog", "--workers", "2"],
        ["neighbors", place, "--k", "5", "--workers", "2"],
        ["count", place, "--method", "nis", "--oracle", "labels", "--budget", "200"],
        ["verify", place],
    ):
        shown = cccount(*arguments, "--json", variables=server)
        assert shown.code == 0, shown.err
        assert shown.out.count("\n") == 1
        assert states(server, f"cccount-{arguments[0]}") == [("COMPLETED", "Completed")]
    assert cccount("status", place, "--json").json["campaigns"][0]["questions"] == 200


def test_the_pipeline_flow_does_it_all_and_again_computes_nothing(server: dict[str, str], tmp_path: Path) -> None:
    photos = folder_of_images(tmp_path / "photos")
    cccount("init", tmp_path / "ws", "--images", photos, "--labels", tmp_path / "labels.npy")
    script = (
        "import json, sys; from flows.orchestration.scheduled import pipeline\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(2):\n"
        "        done = pipeline(sys.argv[1], compute={'workers': 1}, embed={'encoder': 'hog'}, neighbors={'k': 5},\n"
        "                        campaign=[{'kind': 'count', 'budget': 100, 'oracle': 'labels'}])\n"
        "        print(json.dumps(done.json()))\n"
    )
    (tmp_path / "run.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py"), str(tmp_path / "ws")],
        env=environment(**server), cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.strip().splitlines())
    ran = {one["stage"]: one["state"] for one in first["stages"]}
    assert ran == {"init": "skipped", "embed": "done", "neighbors": "done", "count": "done", "report": "done"}
    assert {one["state"] for one in second["stages"]} == {"skipped"}
    assert second["campaigns"] == first["campaigns"]
    assert first["campaigns"][0]["questions"] == 100
    assert states(server, "cccount-pipeline") == [("COMPLETED", "Completed")] * 2


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Dask scheduler and a worker, as processes of their own."""
    folder, address = tmp_path_factory.mktemp("dask"), f"tcp://127.0.0.1:{free_port()}"
    scheduler = ["dask", "scheduler", "--host", address, "--no-dashboard"]
    worker = ["dask", "worker", address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(folder)]
    surroundings = environment()
    with (
        process(sys.executable, "-m", *scheduler, log=folder / "scheduler.log", env=surroundings),
        process(sys.executable, "-m", *worker, log=folder / "worker.log", env=surroundings),
    ):
        yield address


JOB = """\
workspace = "WORKSPACE"
[collection]
embeddings = "digits.npz"
[compute]
compute = "ADDRESS"
[neighbors]
k = 5
[[campaign]]
method = "nis"
oracle = "labels"
budget = 80
[[campaign]]
name = "groups"
kind = "cluster"
method = "apc"
oracle = "labels"
budget = 20
[schedule]
every = 3600
"""


def test_one_file_is_run_and_deployed_on_a_real_cluster(server: dict[str, str], cluster: str, tmp_path: Path) -> None:
    """A count and an apc, by hand and by a worker that has the package and no checkout: the same answers, row by row."""
    x, y = digits()
    np.savez(tmp_path / "digits.npz", x=x[:160], y=y[:160])
    for name in ("run", "deployed"):
        (tmp_path / f"{name}.toml").write_text(JOB.replace("WORKSPACE", name).replace("ADDRESS", cluster))
    before = len(flow_runs(server, "cccount-pipeline"))
    shown = cccount("run", tmp_path / "run.toml", "--json", variables=server)
    assert shown.code == 0, shown.err
    (run,) = flow_runs(server, "cccount-pipeline")[before:]
    assert run["state_type"] == "COMPLETED"
    deadline = time.monotonic() + 30  # the server takes the news of tasks in by and by
    while task_names(server, run["id"]) != {"init", "neighbors", "count", "cluster", "report"}:
        assert time.monotonic() < deadline, task_names(server, run["id"])
        time.sleep(0.2)

    made = cccount("deploy", tmp_path / "deployed.toml", "--json", variables=server)
    assert made.code == 0, made.err
    steps = ["cccount-advance/advance-count", "cccount-advance/advance-groups"]
    assert made.json["deployments"] == ["cccount-pipeline/pipeline", *steps, "cccount-verify/verify"]
    refused = cccount("deploy", tmp_path / "run.toml", variables=server)
    assert "the server has a deployment pipeline of the workspace" in refused.line
    assert cccount("deploy", tmp_path / "run.toml", "--name", "mine", "--json", variables=server).code == 0

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    surroundings = environment(**server, PREFECT_WORKER_QUERY_SECONDS="1")
    start = [sys.executable, "-m", "prefect", "deployment", "run", "cccount-pipeline/pipeline"]
    subprocess.run(start, env=surroundings, check=True, capture_output=True, cwd=elsewhere)
    worker = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cccount"]
    with process(*worker, log=tmp_path / "worker.log", env=surroundings, cwd=elsewhere):
        deadline = time.monotonic() + STARTUP_SECONDS
        while [one["state_type"] in ENDS for one in flow_runs(server, "cccount-pipeline")] != [True] * (before + 2):
            assert time.monotonic() < deadline, (tmp_path / "worker.log").read_text()
            time.sleep(0.5)
    assert states(server, "cccount-pipeline")[-1] == ("COMPLETED", "Completed"), (tmp_path / "worker.log").read_text()
    for campaign in ("count", "groups"):
        logs = [CampaignFolder(Workspace.open(tmp_path / name), campaign).log for name in ("run", "deployed")]
        asked = [log.questions().drop_columns(["asked_at"]) for log in logs]
        assert asked[0].num_rows > 0
        assert asked[0].equals(asked[1])
        assert logs[0].answers().drop_columns(["answered_at"]).equals(logs[1].answers().drop_columns(["answered_at"]))


def task_names(server: dict[str, str], run: str) -> set[str]:
    body = json.dumps({"task_runs": {"flow_run_id": {"any_": [run]}}}).encode()
    url = f"{server['PREFECT_API_URL']}/task_runs/filter"
    request = urllib.request.Request(url, body, {"content-type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return {one["name"].rpartition("-")[0] for one in json.load(answer)}


def test_a_scheduled_step_of_a_campaign_that_is_to_come_is_skipped(server: dict[str, str], workspace: Path) -> None:
    before = len(flow_runs(server, "cccount-advance"))
    for to_come, code in ((True, 0), (False, 1)):
        script = (
            f"import sys; from flows.orchestration.scheduled import advance; advance(sys.argv[1], 'later', to_come={to_come})"
        )
        command = [sys.executable, "-c", script, str(workspace)]
        done = subprocess.run(command, env=environment(**server), capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert states(server, "cccount-advance")[before:] == [("COMPLETED", "Skipped"), ("FAILED", "Failed")]


def test_deploying_without_a_server_is_said(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.replace("WORKSPACE", "ws").replace("ADDRESS", "local"))
    shown = cccount("deploy", tmp_path / "job.toml", variables={"PREFECT_HOME": str(tmp_path)})
    assert shown.code == 1
    assert shown.line.startswith("cccount: no Prefect server is configured: start one with `prefect server start`")


def test_an_advance_that_finds_the_campaign_busy_is_skipped_not_failed(server: dict[str, str], workspace: Path) -> None:
    cccount("count", workspace, "--method", "nis", "--budget", "50", "--campaign", "c")
    before = len(flow_runs(server, "cccount-advance"))
    with CampaignFolder(Workspace.open(workspace), "c").lease():
        _call_flow(server, workspace)
    _call_flow(server, workspace)
    assert states(server, "cccount-advance")[before:] == [("COMPLETED", "Skipped"), ("COMPLETED", "Completed")]


def _call_flow(server: dict[str, str], workspace: Path) -> None:
    script = "import sys; from flows.orchestration.scheduled import advance; advance(sys.argv[1], 'c')"
    done = subprocess.run(
        [sys.executable, "-c", script, str(workspace)], env=environment(**server), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_failure_under_prefect_is_one_line_too(server: dict[str, str], workspace: Path) -> None:
    shown = cccount("verify", workspace / "nothing", "--json", variables=server)
    _one_line(shown)
    assert states(server, "cccount-verify")[-1] == ("FAILED", "Failed")


def test_a_server_that_does_not_answer_is_said_at_once(workspace: Path) -> None:
    began = time.monotonic()
    shown = cccount("verify", workspace, variables={"PREFECT_API_URL": "http://127.0.0.1:9/api"})
    _one_line(shown)
    assert "does not answer" in shown.line
    assert time.monotonic() - began < 15


def _one_line(shown: Shown) -> None:
    assert shown.code == 1
    assert shown.out == ""
    assert shown.err.strip().count("\n") == 0, shown.err


def test_without_a_server_prefect_is_not_even_imported(workspace: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from flows.orchestration.recording import run_stage; run_stage('verify', workspace=sys.argv[1]);"
        "print('prefect' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(workspace)],
        env=environment(PREFECT_HOME=str(tmp_path)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_the_active_profile_names_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PREFECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    assert server_url() is None
    profiles = tmp_path / "profiles.toml"
    profiles.write_text('active = "farm"\n[profiles.farm]\nPREFECT_API_URL = "http://farm/api"\n[profiles.local]\n')
    assert server_url() == "http://farm/api"
    monkeypatch.setenv("PREFECT_PROFILE", "local")
    assert server_url() is None
    monkeypatch.setenv("PREFECT_API_URL", "http://here/api")
    assert server_url() == "http://here/api"
    monkeypatch.delenv("PREFECT_API_URL")
    profiles.write_text("active = ")
    with pytest.raises(ComputeError, match="not valid TOML"):
        server_url()

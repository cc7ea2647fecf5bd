"""The whole way on a real LocalCluster under a real Prefect server (SQLite), and without any server."""

import json
import os
import signal
import socket
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

from flows.orchestration import server_url
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError
from storage.workspace import Workspace
from tests.flows.conftest import ROOT, Shown, cccount, digits, environment

STARTUP_SECONDS = 120


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A Prefect server of its own, and the environment in which a command uses it."""
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"PREFECT_HOME": str(home), "PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port), "--no-services"]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(
            command, env=environment(**settings), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _wait(settings["PREFECT_API_URL"], process, home / "server.log")
        yield settings
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2)
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
        else:
            return
    raise AssertionError(f"no server after {STARTUP_SECONDS} s: {log.read_text()}")


def flow_runs(server: dict[str, str], flow: str) -> list[dict[str, Any]]:
    body = json.dumps({"flows": {"name": {"any_": [flow]}}, "sort": "START_TIME_ASC"}).encode()
    request = urllib.request.Request(
        f"{server['PREFECT_API_URL']}/flow_runs/filter", body, {"content-type": "application/json"}, method="POST"
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


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
        ["count", place, "--oracle", "labels", "--budget", "200"],
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
        "import json, sys; from flows.scheduled import pipeline\n"
        "if __name__ == '__main__':\n"
        "    for _ in range(2):\n"
        "        print(json.dumps(pipeline(sys.argv[1], encoder='hog', k=5, budget=100, oracle='labels', workers=1)))\n"
    )
    (tmp_path / "run.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py"), str(tmp_path / "ws")],
        env=environment(**server), cwd=ROOT, capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    first, second = map(json.loads, done.stdout.strip().splitlines())
    assert second["embed"]["shards_resumed"] == second["embed"]["shards"]
    assert second["neighbors"]["tiles_resumed"] == second["neighbors"]["tiles"]
    assert second["count"] == first["count"]
    assert states(server, "cccount-pipeline") == [("COMPLETED", "Completed")] * 2


def test_an_advance_that_finds_the_campaign_busy_is_skipped_not_failed(server: dict[str, str], workspace: Path) -> None:
    cccount("count", workspace, "--method", "nis", "--budget", "50", "--campaign", "c")
    with CampaignFolder(Workspace.open(workspace), "c").lease():
        _call_flow(server, workspace)
    _call_flow(server, workspace)
    assert states(server, "cccount-advance") == [("COMPLETED", "Skipped"), ("COMPLETED", "Completed")]


def _call_flow(server: dict[str, str], workspace: Path) -> None:
    script = "import sys; from flows.scheduled import advance; advance(sys.argv[1], 'c')"
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
        "import sys; from flows.orchestration import run_stage; run_stage('verify', workspace=sys.argv[1]);"
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

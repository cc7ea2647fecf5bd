"""What a person or Prometheus sees of a run: JSON events with stage, campaign and run, and metrics read off the workspace."""

import json
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from flows.compute.logs import LOGGER, logged
from flows.orchestration import prometheus as metrics
from flows.orchestration.recording import run_stage
from storage.errors import CccountError
from tests.flows.conftest import cccount
from tests.servers import free_port


@pytest.fixture(autouse=True)
def json_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CCCOUNT_LOG", "json")
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    LOGGER.handlers.clear()


def test_a_stage_logs_its_begin_and_end_with_campaign_and_run(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_stage("count", workspace=str(workspace), campaign="c", method="nis", budget=20, oracle="labels")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("{")]
    begun, done = map(json.loads, lines)
    assert (begun["event"], done["event"]) == ("begun", "done")
    assert begun["campaign"] == done["campaign"] == "c"
    assert begun["run"] == done["run"]
    assert done["questions"] == 20
    assert done["seconds"] > 0


def test_a_failure_is_logged_as_one_and_raised(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CccountError), logged("advance", campaign="c"):
        raise CccountError("no luck")
    event = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert (event["event"], event["level"], event["error"]) == ("failed", "error", "CccountError: no luck")


def test_metrics_say_where_campaigns_and_arrays_stand(workspace: Path, tmp_path: Path) -> None:
    run_stage("count", workspace=str(workspace), campaign="c", method="nis", budget=20, oracle="labels")
    text = metrics.render(str(workspace)).decode()
    where = f'workspace="{workspace}"'
    assert f'cccount_questions{{campaign="c",method="nis",{where}}} 20.0' in text
    assert f'cccount_state{{campaign="c",method="nis",state="done",{where}}} 1.0' in text
    assert f'cccount_shards_done{{array="embeddings.zarr",{where}}} 2.0' in text
    assert f"cccount_up{{{where}}} 1.0" in text
    shown = cccount("metrics", workspace, "--file", tmp_path / "cccount.prom", "--json")
    assert shown.code == 0, shown.err
    assert (tmp_path / "cccount.prom").read_text().count("# HELP") > 8


def test_a_workspace_that_cannot_be_read_is_down_not_silent(tmp_path: Path) -> None:
    assert f'cccount_up{{workspace="{tmp_path}"}} 0.0' in metrics.render(str(tmp_path)).decode()


def test_metrics_are_served(workspace: Path) -> None:
    port = free_port()
    threading.Thread(target=metrics.serve, args=(str(workspace), "127.0.0.1", port), daemon=True).start()
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer:
                assert b"cccount_up" in answer.read()
                return
        except urllib.error.URLError:  # the thread is not there yet
            time.sleep(0.1)
    raise AssertionError("nothing answers")

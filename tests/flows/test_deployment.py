"""Prefect for real: PostgreSQL, a server, a worker, deployments; a run that the schedule made changes a campaign."""

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.orchestration.deploy import PrefectFile, filled_in
from flows.stages.jobfile import Job
from storage.campaigns import CampaignFolder
from storage.settings import Goal
from storage.workspace import Workspace
from tests.flows.conftest import cccount, environment
from tests.servers import (
    Postgres,
    free_port,
    postgres_binaries,
    prefect_server_command,
    prefect_server_variables,
    prefect_settings,
    process,
    wait_for_http,
)  # fmt: skip

WAIT_SECONDS = 150


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    binaries = postgres_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL on this machine: `apt-get install postgresql` brings it")
    server = Postgres(binaries)
    yield server
    server.remove()


@pytest.fixture(scope="module")
def server(database: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    home, port = tmp_path_factory.mktemp("prefect"), free_port()
    log = home / "server.log"
    with process(*prefect_server_command(port), log=log, env=prefect_server_variables(home, database.url)) as started:
        settings = prefect_settings(port, home)
        wait_for_http(f"{settings['PREFECT_API_URL']}/health", started, log, 120)
        yield settings


def found(server: dict[str, str], what: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(
        f"{server['PREFECT_API_URL']}/{what}/filter",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def test_a_scheduled_run_happens_and_changes_the_campaign(server: dict[str, str], workspace: Path, tmp_path: Path) -> None:
    assert cccount("count", workspace, "--method", "nis", "--budget", "20", "--oracle", "labels").code == 0
    folder = CampaignFolder(Workspace.open(workspace), "count")
    folder.set_goal(Goal(budget=2000, oracle="labels"))  # somebody raised the budget: the schedule should go on
    before = folder.log.answers().num_rows
    surroundings = environment(**server)
    (tmp_path / "job.toml").write_text(f'workspace = "{workspace.name}"\n[[campaign]]\nmethod = "nis"\noracle = "labels"\n')
    deployed = cccount("deploy", tmp_path / "job.toml", "--every", "5", variables=server)
    assert deployed.code == 0, deployed.err
    quick = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_WORKER_PREFETCH_SECONDS": "1"}
    worker = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cccount"]
    with process(*worker, log=tmp_path / "worker.log", env={**surroundings, **quick}):
        deadline = time.monotonic() + WAIT_SECONDS
        while not (done := _completed(server)) and time.monotonic() < deadline:
            time.sleep(0.5)
    assert done, (tmp_path / "worker.log").read_text()
    assert done[0]["auto_scheduled"]
    assert folder.log.answers().num_rows > before
    artifacts = found(server, "artifacts/latest", {})
    assert {artifact["key"] for artifact in artifacts} >= {"campaign-count-progress", "campaign-count-table"}


def test_a_campaign_that_left_the_file_is_not_advanced_any_more(server: dict[str, str], workspace: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    two = f'workspace = "{workspace}"\n[[campaign]]\n[[campaign]]\nname = "deer"\n'
    for text in (two, two.replace('[[campaign]]\nname = "deer"\n', "")):
        job.write_text(text)
        assert cccount("deploy", job, "--name", "two", variables=server).code == 0
    names = {deployment["name"] for deployment in found(server, "deployments", {}) if deployment["name"].startswith("two-")}
    assert names == {"two-pipeline", "two-advance-count", "two-verify"}


def _completed(server: dict[str, str]) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = found(server, "flow_runs", {"flow_runs": {"state": {"name": {"any_": ["Completed"]}}}})
    return runs


def test_deployments_have_a_limit_for_each_campaign_and_zombies_are_looked_for(server: dict[str, str]) -> None:
    there = found(server, "deployments", {})
    deployments = {deployment["name"]: deployment for deployment in there if not deployment["name"].startswith("two-")}
    assert deployments.keys() == {"pipeline", "verify", "advance-count"}
    limited = deployments["advance-count"]
    assert limited["global_concurrency_limit"]["limit"] == 1
    assert limited["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    assert limited["concurrency_options"]["grace_period_seconds"] == 60
    (automation,) = found(server, "automations", {})
    assert automation["trigger"]["posture"] == "Proactive"
    assert automation["trigger"]["within"] == 120.0
    assert automation["actions"][0]["state"] == "CRASHED"
    # Automations hear of the end of a scheduled run 15 minutes late: forced, every run that ended well would be marked.
    assert automation["actions"][0]["force"] is False


TWO = 'workspace = "s3://bucket/census"\n[[campaign]]\nname = "lynx"\n[[campaign]]\nname = "deer"\n'


def test_every_campaign_has_a_deployment_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(TWO)
    job = Job.from_file(tmp_path / "job.toml")
    document = PrefectFile.read()
    filled = {one.name: one for one in filled_in(document, job)}
    assert list(filled) == ["pipeline", "advance-lynx", "advance-deer", "verify"]
    step = filled["advance-deer"]
    assert step.parameters == {"workspace": "s3://bucket/census", "campaign": "deer", "to_come": True}
    assert (step.cron, step.every, step.tags) == ("*/5 * * * *", None, ["campaign:deer"])
    assert filled["verify"].cron == "0 3 * * *"
    assert filled["pipeline"].parameters == job.content
    assert document.deployments[1].name == "advance"
    assert filled_in(document, job, name="alps")[0].name == "alps-pipeline"


@pytest.mark.parametrize(
    ("schedule", "every", "step", "verify"),
    [
        ("every = 60", None, (60.0, None), "0 3 * * *"),
        ('cron = "0 * * * *"\nverify = "0 4 * * 0"', None, (None, "0 * * * *"), "0 4 * * 0"),
        ("every = 60", 5.0, (5.0, None), "0 3 * * *"),
    ],
)
def test_the_file_says_the_schedule(
    tmp_path: Path, schedule: str, every: float | None, step: tuple[float | None, str | None], verify: str
) -> None:
    (tmp_path / "job.toml").write_text(f"{TWO}[schedule]\n{schedule}\n")
    filled = {one.name: one for one in filled_in(PrefectFile.read(), Job.from_file(tmp_path / "job.toml"), every=every)}
    assert (filled["advance-lynx"].every, filled["advance-lynx"].cron) == step
    assert filled["verify"].cron == verify

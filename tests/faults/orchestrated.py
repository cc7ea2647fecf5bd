"""Faults of what schedules: PostgreSQL, Prefect's server and worker, and the flow runs that the worker starts.

A campaign in the object store is advanced by its schedule every few seconds. Before each fault somebody raises its budget; in the
middle of the run that this brings something is killed and, as systemd or Kubernetes would, started again. Nobody does more: the
schedule alone must bring the campaign to its end, where every row and the estimate equal an undisturbed campaign's.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from storage.campaigns import CampaignFolder
from storage.settings import Goal
from storage.workspace import Workspace
from tests.faults.compare import Log, check_beginning, check_whole, estimate_of, log_of
from tests.faults.topology import Topology
from tests.flows.calls import stage
from tests.servers import (
    ROOT,
    Postgres,
    free_port,
    kill_group,
    postgres_binaries,
    prefect_server_command,
    prefect_server_variables,
    prefect_settings,
    wait_for_http,
)  # fmt: skip

KINDS = {
    "kill -9 of PostgreSQL": "kill_database",
    "kill -9 of the Prefect server": "kill_server",
    "kill -9 of the Prefect worker": "kill_prefect_worker",
    "kill -9 of a scheduled flow run": "kill_run",
    "kill -9 of Prefect worker and flow run together": "kill_both",
    "kill -9 of database, server, worker and run together": "kill_all",
}
CAMPAIGN = "scheduled"
RAISE = 64  # questions that the budget is raised by before each fault
EVERY = 6  # seconds between scheduled runs
LONGEST_RUN = 4.0  # seconds into which the moment of the fault falls after a run's process has appeared
PATIENCE = 420.0  # a run that nobody can report keeps its place for 120 s of silence, or 300 s if it had not begun


class Orchestrated:
    """PostgreSQL, server, worker and a campaign on a schedule; `stop` ends them."""

    def __init__(self, topology: Topology, reference: str, folder: Path, seed: int = 0) -> None:
        binaries = postgres_binaries()
        assert binaries is not None, "no PostgreSQL on this machine: `apt-get install postgresql` brings it"
        self.folder = folder
        self.folder.mkdir()
        self.chance = random.Random(seed)
        self.budget = 32
        self._started: list[subprocess.Popen[bytes]] = []
        self.database = Postgres(binaries)
        try:
            self._begin(topology, reference)
        except BaseException:
            self.stop()
            raise

    def _begin(self, topology: Topology, reference: str) -> None:
        self.place, self.beside = topology.place(self.folder.name), topology.place(f"{self.folder.name}-undisturbed")
        for place in (self.place, self.beside):
            topology.copy(reference, place)
            stage("count", place, CAMPAIGN, method="nis", budget=self.budget, oracle="labels")
        self.port = free_port()
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **prefect_settings(self.port, self.folder)}
        self.environment |= {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_WORKER_PREFETCH_SECONDS": "1"}
        self._start_server()
        job = self.folder / "job.toml"
        job.write_text(f'workspace = "{self.place}"\n[[campaign]]\nname = "{CAMPAIGN}"\nmethod = "nis"\noracle = "labels"\n')
        command = [sys.executable, "-m", "flows", "deploy", str(job), "--every", str(EVERY)]
        deployed = subprocess.run(
            command, cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True, timeout=PATIENCE
        )
        assert deployed.returncode == 0, f"cccount deploy failed: {deployed.stderr}"
        self._start_worker()
        self._whole(*self._raised())

    def stop(self) -> None:
        for started in self._started:
            kill_group(started)
        self.database.remove()

    # -- what is killed -------------------------------------------------------------------------------------------------

    def kill_database(self) -> float:
        return self._hurt(lambda _: self.database.kill(), self.database.start)

    def kill_server(self) -> float:
        return self._hurt(lambda _: kill_group(self.server), self._start_server)

    def kill_prefect_worker(self) -> float:
        """Its flow run goes on alone, beside the next one: the lease keeps them apart."""
        return self._hurt(lambda _: os.kill(self.worker.pid, signal.SIGKILL), self._start_worker)

    def kill_run(self) -> float:
        return self._hurt(lambda run: run.kill(), lambda: None)

    def kill_both(self) -> float:
        """Nobody is left to report the end: the heartbeat automation must mark the run, and free its place."""

        def both(run: psutil.Process) -> None:
            os.kill(self.worker.pid, signal.SIGKILL)
            run.kill()

        return self._hurt(both, self._start_worker)

    def kill_all(self) -> float:
        """A machine that loses its power, with everything on it."""

        def everything(run: psutil.Process) -> None:
            self.database.kill()
            kill_group(self.server)
            os.kill(self.worker.pid, signal.SIGKILL)
            run.kill()

        def again() -> None:
            self.database.start()
            self._start_server()
            self._start_worker()

        return self._hurt(everything, again)

    def _hurt(self, hurt: Callable[[psutil.Process], object], mend: Callable[[], object]) -> float:
        """Return the seconds from the fault until the schedule had brought the campaign to its end."""
        expected, estimate = self._raised()
        run = self._a_run()
        began = time.monotonic()
        with suppress(psutil.NoSuchProcess):  # it ended this very moment
            hurt(run)
        mend()
        self._whole(expected, estimate)
        taken = time.monotonic() - began
        self._check_marks()
        return taken

    # -- what must hold -------------------------------------------------------------------------------------------------

    def _raised(self) -> tuple[Log, dict[str, object]]:
        """Raise the budget of both campaigns, and bring the undisturbed one to its end: its log and estimate."""
        self.budget += RAISE
        goal = Goal(budget=self.budget, oracle="labels")
        CampaignFolder(Workspace.open(self.beside), CAMPAIGN).set_goal(goal)
        while stage("advance", self.beside, CAMPAIGN)["state"] == "running":
            pass
        CampaignFolder(Workspace.open(self.place), CAMPAIGN).set_goal(goal)
        return log_of(self.beside, CAMPAIGN), estimate_of(self.beside, CAMPAIGN)

    def _whole(self, expected: Log, estimate: dict[str, object]) -> None:
        """Wait until the schedule has brought the campaign to its end, and compare."""

        def ended() -> bool:
            found = log_of(self.place, CAMPAIGN)
            check_beginning(found, expected)
            return found.answers.num_rows == expected.answers.num_rows and estimate_of(self.place, CAMPAIGN) == estimate

        self._wait(ended, "the schedule to bring the campaign to its end")
        check_whole(self.place, CAMPAIGN, expected, estimate)

    def _a_run(self) -> psutil.Process:
        """A flow run that the worker has started, at a random moment of its life."""
        found: list[psutil.Process] = []

        def there() -> bool:
            with suppress(psutil.NoSuchProcess):
                found[:] = psutil.Process(self.worker.pid).children()
            return bool(found)

        self._wait(there, "a flow run to be started by the worker", pause=0.05)
        time.sleep(self.chance.uniform(0.0, LONGEST_RUN))
        return found[0]

    def _wait(self, ready: Callable[[], bool], what: str, pause: float = 0.5) -> None:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s in vain for {what}. {self._situation()}"
            if self.worker.poll() is not None:  # a worker that gave up on its server: `restart` starts it again (infra/)
                self._start_worker()
            time.sleep(pause)

    def _situation(self) -> str:
        """What runs and what the server and the worker said last: for whoever has to find out why."""
        told = [f"{name} {'runs' if p.poll() is None else 'is gone'}" for name, p in self._parts()]
        told.append(f"answers {log_of(self.place, CAMPAIGN).answers.num_rows}, budget {self.budget}")
        told.append(f"last runs: {', '.join(self._last_runs())}")
        told += [f"{log}: {(self.folder / log).read_text()[-600:]}" for log in ("server.log", "worker.log")]
        return "; ".join(told)

    def _parts(self) -> list[tuple[str, "subprocess.Popen[bytes]"]]:
        return [("server", self.server), ("worker", self.worker)]

    def _last_runs(self) -> list[str]:
        try:
            begun = {"start_time": {"is_null_": False}}
            runs = self._found("flow_runs/filter", sort="EXPECTED_START_TIME_DESC", limit=12, flow_runs=begun)
        except OSError as error:
            return [f"the server does not say ({error})"]
        return [f"{run['name']} {run['state_name']}" for run in runs]

    def _check_marks(self) -> None:
        """Whoever ended well is not marked as a zombie later."""
        for run in self._found("flow_runs/filter", flow_runs={"state": {"name": {"any_": ["Zombie"]}}}):
            states = [state["type"] for state in self._found(f"flow_run_states/?flow_run_id={run['id']}")]
            assert "COMPLETED" not in states, f"run {run['name']} ended well and was marked as a zombie: {states}"

    def _found(self, what: str, **body: Any) -> Any:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(
            f"{self.environment['PREFECT_API_URL']}/{what}", data, {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    # -- processes ------------------------------------------------------------------------------------------------------

    def _start_server(self) -> None:
        variables = prefect_server_variables(self.folder, self.database.url)
        self.server = self._start(prefect_server_command(self.port), "server.log", variables)
        wait_for_http(f"http://127.0.0.1:{self.port}/api/health", self.server, self.folder / "server.log", PATIENCE)

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cccount"]
        self.worker = self._start(command, "worker.log", self.environment)

    def _start(self, command: list[str], log: str, variables: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.folder / log).open("ab") as sink:
            started = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=sink, stderr=sink, start_new_session=True)
        self._started.append(started)
        return started

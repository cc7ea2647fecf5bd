"""Faults of what schedules: PostgreSQL, Prefect's server and worker, and the flow runs that the worker starts.

A campaign is advanced by its schedule every few seconds; after each fault the schedule must go on, and the log must stay the
beginning of the one that an undisturbed campaign writes.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pyarrow as pa

from flows import stages
from storage.campaigns import CampaignFolder
from storage.settings import Goal
from storage.workspace import Workspace
from tests.faults.topology import Topology
from tests.faults.work import wait_until
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
    "kill -9 of the database": "kill_database",
    "kill -9 of the Prefect server": "kill_server",
    "kill -9 of the Prefect worker": "kill_worker",
    "kill -9 of a scheduled flow run": "kill_run",
    "kill -9 of Prefect worker and flow run together": "kill_both",
}
BUDGET = 6000
PATIENCE = 300.0


class Orchestrated:
    """PostgreSQL, server, worker and a campaign on a schedule; `stop` ends them."""

    def __init__(self, topology: Topology, reference: str) -> None:
        binaries = postgres_binaries()
        assert binaries is not None, "no PostgreSQL on this machine: `apt-get install postgresql` brings it"
        self.folder = topology.folder / "prefect"
        self.folder.mkdir()
        self.place = str(self.folder / "ws")
        topology.copy(reference, self.place)
        self.database = Postgres(binaries)
        self.port = free_port()
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **prefect_settings(self.port, self.folder)}
        self.environment |= {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_WORKER_PREFETCH_SECONDS": "1"}
        self._start_server()
        for name in ("scheduled", "undisturbed"):
            stages.count(self.place, name, method="nis", budget=20, oracle="labels")
            self._folder(name).set_goal(Goal(budget=BUDGET, oracle="labels"))
        command = [sys.executable, "-m", "flows.deploy", self.place, "scheduled", "--every", "3"]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True, capture_output=True)
        self._start_worker()
        self._goes_on()

    def stop(self) -> None:
        for started in (self.worker, self.server):
            kill_group(started)
        self.database.remove()

    def kill_database(self) -> str:
        return self._hurt(self.database.kill, self.database.start)

    def kill_server(self) -> str:
        return self._hurt(lambda: kill_group(self.server), self._start_server)

    def kill_worker(self) -> str:
        return self._hurt(lambda: os.kill(self.worker.pid, signal.SIGKILL), self._start_worker)

    def kill_run(self) -> str:
        return self._hurt(lambda: os.kill(self._run().pid, signal.SIGKILL), lambda: None)

    def kill_both(self) -> str:
        """Nobody is left to report the end: the heartbeat automation must mark the run, and free its place."""

        def both() -> None:
            run = self._run()
            os.kill(self.worker.pid, signal.SIGKILL)
            run.kill()

        return self._hurt(both, self._start_worker)

    def _hurt(self, hurt: Callable[[], object], mend: Callable[[], object]) -> str:
        hurt()
        mend()
        self._goes_on()
        return "the schedule went on"

    def _goes_on(self) -> None:
        """Wait for new answers, and compare all of them with the undisturbed campaign's."""
        before = self._log("scheduled")[1].num_rows
        wait_until(lambda: self._log("scheduled")[1].num_rows > before, PATIENCE, "a scheduled run that brings answers")
        questions, answers = self._log("scheduled")
        ids = answers.column("answer_id").to_pylist()
        assert len(set(ids)) == len(ids), "an answer is doubled"
        while (undisturbed := self._log("undisturbed"))[1].num_rows < answers.num_rows:
            stages.advance(self.place, "undisturbed")
        assert answers.equals(undisturbed[1].slice(0, answers.num_rows)), "an answer differs from the undisturbed campaign"
        assert questions.slice(0, undisturbed[0].num_rows).equals(undisturbed[0].slice(0, questions.num_rows))

    def _folder(self, name: str) -> CampaignFolder:
        return CampaignFolder(Workspace.open(self.place), name)

    def _log(self, name: str) -> tuple[pa.Table, pa.Table]:
        log = self._folder(name).log
        return log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"])

    def _start_server(self) -> None:
        variables = prefect_server_variables(self.folder, self.database.url)
        self.server = self._started(prefect_server_command(self.port), "server.log", variables)
        wait_for_http(f"http://127.0.0.1:{self.port}/api/health", self.server, self.folder / "server.log", PATIENCE)

    def _start_worker(self) -> None:
        command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", "cccount"]
        self.worker = self._started(command, "worker.log", self.environment)

    def _started(self, command: list[str], log: str, variables: dict[str, str]) -> "subprocess.Popen[bytes]":
        with (self.folder / log).open("ab") as sink:
            return subprocess.Popen(command, cwd=ROOT, env=variables, stdout=sink, stderr=sink, start_new_session=True)

    def _run(self) -> psutil.Process:
        """A flow run that the worker has started."""
        found: list[psutil.Process] = []

        def there() -> bool:
            found[:] = psutil.Process(self.worker.pid).children(recursive=True)
            return bool(found)

        wait_until(there, PATIENCE, "a flow run")
        time.sleep(0.5)
        return found[0]

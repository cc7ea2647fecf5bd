"""The folder of one campaign: settings, goal, query log, journal, lease, results."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from storage.errors import InputError, WorkspaceError
from storage.journal import Journal
from storage.lease import Lease, is_held
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from storage.schema import ESTIMATES
from storage.settings import Goal, Settings
from storage.workspace import Workspace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class CampaignFolder:
    """`campaigns/<name>/` of a workspace."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise InputError(f"a campaign's name is letters, digits, '.', '_' and '-', at most 64 of them, not {name!r}")
        self.workspace = workspace
        self.name = name
        self.prefix = f"campaigns/{name}"
        self.log = QueryLog(workspace.objects, self.prefix)

    @property
    def exists(self) -> bool:
        return self.workspace.objects.size(f"{self.prefix}/campaign.toml") is not None

    def create(self, settings: Settings, goal: Goal) -> None:
        """Start the campaign; `ConflictError` if another process started it first."""
        self.set_goal(goal)
        self.workspace.objects.create(f"{self.prefix}/campaign.toml", settings.to_toml())

    def settings(self) -> Settings:
        if not self.exists:
            known = ", ".join(self.workspace.campaigns()) or "none"
            raise WorkspaceError(f"{self.workspace.location} has no campaign {self.name!r} (there are: {known})")
        return Settings.from_toml(self._read("campaign.toml"), self._where("campaign.toml"))

    def goal(self) -> Goal:
        return Goal.from_toml(self._read("goal.toml"), self._where("goal.toml"))

    def set_goal(self, goal: Goal) -> None:
        self.workspace.objects.replace(f"{self.prefix}/goal.toml", goal.to_toml())

    def lease(self, *, seconds: float = 60.0) -> Lease:
        """Take the right to advance this campaign; `LeaseError` if another process has it."""
        return Lease.acquire(self.workspace.objects, f"{self.prefix}/lease.json", seconds=seconds)

    @property
    def is_being_advanced(self) -> bool:
        """Whether a living process holds the lease at this moment."""
        return is_held(self.workspace.objects, f"{self.prefix}/lease.json")

    @property
    def journal_path(self) -> Path:
        """Single answers are durable here first. SQLite needs a real disk: beside the log if that is local, else this host's."""
        objects = self.workspace.objects
        if isinstance(objects, LocalObjects):
            return objects.path(f"{self.prefix}/journal.sqlite")
        return self.workspace.cache_folder() / self.prefix / "journal.sqlite"

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        with closing(Journal(self.journal_path)) as journal:
            yield journal

    def estimates(self) -> pa.Table:
        """One row for each refresh of a count, oldest first."""
        key = f"{self.prefix}/results/estimates.parquet"
        if self.workspace.objects.size(key) is None:
            return ESTIMATES.empty()
        table = pq.read_table(pa.BufferReader(self.workspace.objects.read(key)))
        return ESTIMATES.check(table, self._where("results/estimates.parquet"))

    def write_result(self, name: str, data: bytes) -> str:
        """Replace a file of `results/` and return where it is."""
        self.workspace.objects.replace(f"{self.prefix}/results/{name}", data)
        return self._where(f"results/{name}")

    def write_estimates(self, table: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(table.cast(ESTIMATES.schema), sink)
        self.write_result("estimates.parquet", sink.getvalue().to_pybytes())

    def _read(self, name: str) -> bytes:
        return self.workspace.objects.read(f"{self.prefix}/{name}")

    def _where(self, name: str) -> str:
        return f"{self.workspace.location}/{self.prefix}/{name}"

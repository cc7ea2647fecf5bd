"""The folder of one campaign: settings, goal, query log, journal, lease, results."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from storage import parquet
from storage.epochs import Epoch, read_epoch
from storage.errors import InputError, WorkspaceError
from storage.handouts import HANDOUTS, read_waits
from storage.holder import Holder
from storage.journal import JOURNAL, Journal
from storage.lease import Lease, is_held
from storage.querylog import QueryLog
from storage.schema import TableSpec
from storage.settings import Goal, Settings
from storage.snapshots import Snapshots
from storage.stamp import stamped
from storage.workspace import Workspace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def check_name(name: str) -> None:
    """Raise `InputError` for what cannot be the name of a campaign."""
    if not _NAME.fullmatch(name):
        raise InputError(f"a campaign's name is letters, digits, '.', '_' and '-', at most 64 of them, not {name!r}")


class CampaignFolder:
    """`campaigns/<name>/` of a workspace."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        check_name(name)
        self.workspace = workspace
        self.name = name
        self.prefix = f"campaigns/{name}"
        self._writer: Lease | None = None
        self.log = QueryLog(workspace.objects, self.prefix)
        self.snapshots = Snapshots(workspace.objects, self.prefix)

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
        return Goal.from_toml(self.goal_as_written(), self._where("goal.toml"))

    def goal_as_written(self) -> bytes:
        return self._read("goal.toml")

    def set_goal(self, goal: Goal) -> None:
        self.workspace.objects.replace(f"{self.prefix}/goal.toml", goal.to_toml())

    def epochs(self) -> list[Epoch]:
        """The epochs of the campaign, the first one, which began with it, included."""
        settings = self.settings()
        first = Epoch(0, settings.revision or 1, "the campaign was started", settings.started_at, settings.version)
        found = [replace(first, items=settings.items, fingerprints=settings.fingerprints, knowledge=settings.knowledge)]
        names = sorted(key.rpartition("/")[2] for key in self.workspace.objects.keys(f"{self.prefix}/epochs"))
        for name in names:
            where = f"epochs/{name}"
            epoch, before = read_epoch(self._read(where), self._where(where)), found[-1]
            if epoch.fingerprints is None:
                epoch = replace(epoch, items=before.items, fingerprints=before.fingerprints)
            found.append(epoch)
        return found

    def open_epoch(self, epoch: Epoch) -> None:
        """Begin an epoch; `ConflictError` if another process began it first."""
        self.workspace.objects.create(f"{self.prefix}/epochs/{epoch.number:04d}.toml", epoch.to_toml())

    def lease(self, *, seconds: float = 60.0) -> Lease:
        """Take the right to advance this campaign; `LeaseError` if another process has it."""
        return Lease.acquire(self.workspace.objects, f"{self.prefix}/lease.json", seconds=seconds)

    def waits(self) -> tuple[float, ...]:
        """How long people at the page of this host had nothing to answer, each time."""
        return read_waits(self.handouts_path)

    def no_lease(self) -> Lease:
        """A lease that nobody holds: every check of it fails, so whoever has it writes nothing."""
        return Lease(self.workspace.objects, f"{self.prefix}/lease.json", -1, Holder.this_process(), 1.0)

    @property
    def is_being_advanced(self) -> bool:
        """Whether a living process holds the lease at this moment."""
        return is_held(self.workspace.objects, f"{self.prefix}/lease.json")

    @property
    def journal_path(self) -> Path:
        """Single answers are durable here first. SQLite needs a real disk: beside the log if that is local, else this host's."""
        return self._on_disk(JOURNAL)

    @property
    def handouts_path(self) -> Path:
        """The book of leases on questions lies beside the journal."""
        return self._on_disk(HANDOUTS)

    def _on_disk(self, name: str) -> Path:
        return self.workspace.state_folder() / self.prefix / name

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        with closing(Journal(self.journal_path)) as journal:
            yield journal

    def read_table(self, spec: TableSpec) -> pa.Table:
        """Return a table of `results/`; an empty one if it is not there yet."""
        name = f"{spec.name}.parquet"
        if self.workspace.objects.size(f"{self.prefix}/results/{name}") is None:
            return spec.empty()
        table = parquet.from_bytes(self._read(f"results/{name}"))
        return spec.check(table, self._where(f"results/{name}"))

    def write_table(self, spec: TableSpec, table: pa.Table) -> str:
        """Replace a table of `results/` and return where it is."""
        return self.write_result(f"{spec.name}.parquet", parquet.to_bytes(table.cast(spec.schema)))

    def append_row(self, spec: TableSpec, row: Mapping[str, object]) -> None:
        """Add a row to a table of `results/`, unless its last row has the same number of answers and the same state."""
        last = self.last_row(spec)
        if last is None or any(last[name] != row[name] for name in ("answers", "state")):
            table = self.read_table(spec)
            stamped = {**row, "refreshed_at": datetime.now(UTC)}
            self.write_table(spec, pa.concat_tables([table, pa.Table.from_pylist([stamped], schema=table.schema)]))

    def last_row(self, spec: TableSpec) -> dict[str, Any] | None:
        """Return the newest row of a table of `results/`."""
        table = self.read_table(spec)
        rows: list[dict[str, Any]] = table.slice(max(0, table.num_rows - 1)).to_pylist()
        return rows[0] if rows else None

    def write_result(self, name: str, data: bytes) -> str:
        """Replace a file of `results/` and return where it is; it gets a stamp if its ending has a place for one (`stamp.py`)."""
        with nullcontext() if self._writer is None else self._writer.holding():
            self.workspace.objects.replace(f"{self.prefix}/results/{name}", stamped(name, data))
        return self._where(f"results/{name}")

    @contextmanager
    def written_by(self, lease: Lease) -> Iterator[None]:
        """Results are written only as long as this lease is held: whoever was overtaken does not write over newer ones."""
        self._writer = lease
        try:
            yield
        finally:
            self._writer = None

    def read_result(self, name: str) -> bytes | None:
        """Return a file of `results/`; None if it is not there yet."""
        there = self.workspace.objects.size(f"{self.prefix}/results/{name}") is not None
        return self._read(f"results/{name}") if there else None

    def _read(self, name: str) -> bytes:
        return self.workspace.objects.read(f"{self.prefix}/{name}")

    def _where(self, name: str) -> str:
        return f"{self.workspace.location}/{self.prefix}/{name}"

"""Bring an older workspace to the present formats: what changes is backed up first, and workspace.toml says the new number last.

Killed at any moment the workspace is of the old format, every file is whole, old or new, and readers read both; run again, the
rest is changed. Parts of the log and arrays are never rewritten (`migrations.py`). Cost: the log is read once, to see that this
version reads it; memory: the log of one campaign.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from storage import formats, layout
from storage.campaigns import CampaignFolder
from storage.migrations import Change, Readable
from storage.objects import Objects
from storage.schema import ARRAYS, candidates
from storage.workspace import Workspace, read_description

_BACKUPS = "backups"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """From which number of the workspace to which; the keys that were changed, or would be; where they are as they were."""

    before: int
    after: int
    changed: tuple[str, ...]
    backup: str | None


@dataclass(slots=True)
class _Imagined:
    """A workspace as it would be: changes are kept here, and nothing is written."""

    objects: Objects
    changed: dict[str, bytes] = field(default_factory=dict)

    @property
    def location(self) -> str:
        return self.objects.location

    def read(self, key: str) -> bytes:
        return self.changed[key] if key in self.changed else self.objects.read(key)

    def keys(self, prefix: str) -> list[str]:
        return self.objects.keys(prefix)


def upgrade(location: str | Path, *, dry_run: bool = False) -> Upgrade:
    """Migrate a workspace step by step to the present number.

    A dry run says what would change and writes nothing. `LeaseError` if a campaign is being advanced, `FormatError` if something
    in the workspace is newer than this version, `CorruptionError` if something is damaged: then nothing is changed.
    """
    # The number may be one that is not read any more but can be migrated.
    objects, before, identity = read_description(location, also=formats.WORKSPACE.migrations)
    workspace = Workspace(objects, identity)
    _check_all(workspace)
    if not dry_run:
        objects.sweep()  # what a killed upgrade left, also one that was killed after its last change
    if before == formats.WORKSPACE.present:
        return Upgrade(before, before, (), None)
    imagined = _Imagined(objects)
    for change in _changes(imagined, before):  # also before a real run: what stands in its way is met before anything is written
        imagined.changed[change.key] = change.after
    if dry_run:
        return Upgrade(before, formats.WORKSPACE.present, tuple(imagined.changed), None)
    backup = f"{_BACKUPS}/{before}-{formats.WORKSPACE.present}"
    changed: dict[str, None] = {}
    with _alone(workspace):
        for change in _changes(objects, before):
            with objects.locked(change.key):
                if change.key not in changed:  # of two changes of one file the first one has what was there
                    objects.replace(f"{backup}/{change.key}", change.before)
                objects.swap(change.key, change.after, change.before)
            changed[change.key] = None
    where = f"{objects.location}/{backup}" if changed else None
    return Upgrade(before, formats.WORKSPACE.present, tuple(changed), where)


def _changes(objects: Readable, number: int) -> Iterator[Change]:
    for step in range(number, formats.WORKSPACE.present):
        yield from formats.WORKSPACE.migrations[step](objects)


def _check_all(workspace: Workspace) -> None:
    """Raise for what is damaged, or newer than this version."""
    names = workspace.campaigns()
    for spec in (*ARRAYS, *map(candidates, names)):
        layout.stored_metadata(workspace.objects, spec)
    for name in names:
        folder = CampaignFolder(workspace, name)
        folder.settings()
        folder.goal()
        folder.log.questions()
        folder.log.answers()


@contextmanager
def _alone(workspace: Workspace) -> Iterator[None]:
    """Hold the leases of all campaigns: nobody advances one meanwhile."""
    with ExitStack() as leases:
        for name in workspace.campaigns():
            leases.enter_context(CampaignFolder(workspace, name).lease())
        yield


__all__ = ["Upgrade", "upgrade"]

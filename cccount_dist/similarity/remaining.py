"""What is left to do of an exact pass: read off the finished shards and the partial results in the scratch folder.

Every file that is there is checked first, so a torn or altered one counts as not there. O(files) to read.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from cccount_dist.similarity.exact import ExactPass, MergeTask, TileTask
from cccount_dist.similarity.partial import is_sound
from storage.errors import ConflictError, LeaseError
from storage.lease import Lease
from storage.objects import explaining
from storage.scratch import ScratchPath, StorePath
from storage.workspace import Workspace

_PREFIX = "neighbors-"
_FORMAT = "1"  # changes when partial results of an earlier version cannot be used


def scratch_name(*parameters: object) -> str:
    """Return the name of the scratch folder of a pass with these parameters: another pass never finds its files."""
    text = "\n".join(map(str, (_FORMAT, *parameters)))
    return _PREFIX + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@contextmanager
def scratch_folder(workspace: Workspace, name: str) -> Iterator[None]:
    """Have the scratch folder of this pass to oneself; those of other passes are removed, and this one when all went well."""
    top = workspace.scratch("")
    with _locked_folder(workspace, top) if isinstance(top, Path) else _leased_prefix(workspace, top):
        _remove_passes(top, keep=name)
        yield
        _remove_passes(top)


def has_passes(workspace: Workspace) -> bool:
    """Whether a pass that was interrupted left partial results."""
    if not workspace.is_remote:
        return any(Path(workspace.location, ".scratch").glob(f"{_PREFIX}*"))
    top = workspace.scratch("")
    return isinstance(top, StorePath) and any(
        key.removeprefix(f"{top.key}/").startswith(_PREFIX) for key in top.objects.keys(top.key)
    )


def _remove_passes(top: ScratchPath, *, keep: str | None = None) -> None:
    if isinstance(top, Path):
        with explaining(top):
            for other in top.glob(f"{_PREFIX}*"):
                if other.name != keep:
                    shutil.rmtree(other)
    else:
        for passed in {key.removeprefix(f"{top.key}/").partition("/")[0] for key in top.objects.keys(top.key)}:
            if passed.startswith(_PREFIX) and passed != keep:
                top.objects.delete(f"{top.key}/{passed}")


@contextmanager
def _locked_folder(workspace: Workspace, top: Path) -> Iterator[None]:
    with explaining(top):
        lock = (top / ".lock-neighbors").open("ab")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # let go by the kernel when this process dies
        except BlockingIOError as error:
            raise _busy(workspace) from error
        yield


@contextmanager
def _leased_prefix(workspace: Workspace, top: StorePath) -> Iterator[None]:
    try:
        lease = Lease.acquire(top.objects, f"{top.key}/neighbors.json")
    except LeaseError as error:
        raise _busy(workspace) from error
    with lease:
        yield


def _busy(workspace: Workspace) -> ConflictError:
    return ConflictError(f"another `cccount neighbors` is at work on {workspace.location}: wait until it is done")


class Remaining:
    """The tasks that are left, stage by stage."""

    def __init__(self, job: ExactPass, blocks: Collection[int]) -> None:
        """`blocks` lack shards of neighbours or degree."""
        self.job = job
        self.merged = {block: self._merged(block) for block in blocks}  # the last stage that each block has behind it

    def _merged(self, block: int) -> int:
        sound = (s for s in reversed(range(self.job.grid.stages)) if is_sound(self.job.state(s, block)))
        return next(sound, -1)

    def tiles(self, stage: int) -> list[TileTask]:
        """Return the tiles of a stage that some block still needs."""
        tasks = []
        for tile in self.job.grid.stage(stage):
            first, second = (
                stage > self.merged.get(block, stage) and not (stage and is_sound(self.job.part(tile, block)))
                for block in (tile.first, tile.second)
            )
            if first or second:
                tasks.append(TileTask(tile, first, second))
        return tasks

    def merges(self, stage: int) -> list[MergeTask]:
        """Return the blocks to merge when the tiles of a stage are done. After stage 0 that is needed only if it is the last."""
        last = stage == self.job.grid.stages - 1
        return [MergeTask(stage, block) for block, done in self.merged.items() if (done < stage and stage) or last]

    def passed(self, stage: int) -> None:
        """Take note that a stage is done for all blocks."""
        self.merged = {block: max(done, stage) for block, done in self.merged.items()}

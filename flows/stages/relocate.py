"""`cccount relocate`: pictures that moved to another folder. Items, vectors and answers stay; only where pictures are changes."""

from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.embedding.moved import found_in
from cccount_dist.taken import require_for
from storage.errors import InputError
from storage.objects import is_remote
from storage.workspace import Workspace

_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Relocated(Outcome):
    """How many pictures were found again, and which were not."""

    workspace: str
    moved: int
    missing: Sequence[str]  # ids
    dry_run: bool

    def words(self) -> str:
        are = "is" if self.moved == 1 else "are"
        would = "would be taken from there" if self.dry_run else f"{are} taken from there now"
        text = f"{self.moved:,} picture{'' if self.moved == 1 else 's'} {would}."
        if self.missing:
            more = f", and {len(self.missing) - _SHOWN:,} more" if len(self.missing) > _SHOWN else ""
            text += f"\nStill missing: {', '.join(self.missing[:_SHOWN])}{more}."
        return text if not self.dry_run else f"{text}\nNothing was changed."


def relocate(workspace: str, folder: str, *, dry_run: bool = False) -> Relocated:
    """Look for missing pictures below a folder, and have the collection say where they are: all at once, or nothing."""
    if is_remote(folder):
        raise InputError(f"{folder}: pictures are looked for on a disk; copy them there first")
    opened = Workspace.open(workspace)
    require_for("relocate", opened)
    collection = opened.collection()
    found = found_in(collection, folder)
    if found.missing and not found.moved:
        raise InputError(
            f"none of the {len(found.missing):,} missing pictures is in {folder}: the first is "
            f"{collection.uri(found.missing[0])}; name the folder that has their subfolders"
        )
    if found.moved and not dry_run:
        opened.update_collection(found.table)
    return Relocated(
        workspace=workspace, moved=len(found.moved), missing=[collection.ids[item] for item in found.missing], dry_run=dry_run
    )


__all__ = ["Relocated", "relocate"]

"""`cccount upgrade`: an older workspace to the present formats."""

from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.outcome import Outcome
from storage import upgrade as upgrading


@dataclass(frozen=True, slots=True)
class Upgraded(Outcome):
    """From which format of the workspace to which, what was changed, and where it is as it was before."""

    before: int
    after: int
    changed: Sequence[str]
    backup: str | None
    dry_run: bool

    def words(self) -> str:
        if not self.changed:
            return f"The workspace has the present format, {self.after}: nothing to do."
        files = f"{len(self.changed)} {'file' if len(self.changed) == 1 else 'files'}"
        if self.dry_run:
            said = f"From format {self.before} to {self.after}; nothing was written. These {files} would change:"
        else:
            said = f"From format {self.before} to {self.after}. As they were, {files} are in {self.backup}:"
        return "\n".join([said, *(f"  {name}" for name in self.changed)])

    def json(self) -> dict[str, object]:
        return {
            "from": self.before,
            "to": self.after,
            "changed": list(self.changed),
            "backup": self.backup,
            "dry_run": self.dry_run,
        }


def upgrade(workspace: str, *, dry_run: bool = False) -> Upgraded:
    """Migrate the workspace; a dry run only says what would change."""
    done = upgrading.upgrade(workspace, dry_run=dry_run)
    return Upgraded(done.before, done.after, done.changed, done.backup, dry_run)

"""The exception tree of cccount. Every message is one line that names the value that was wrong and what to do.

The command line turns a `CccountError` into that line and exit code 1; anything else is a bug and shows its traceback.
"""

from storage.problems import Problem


class CccountError(Exception):
    """A failure that cccount can explain to the person who caused or met it."""


class InputError(CccountError):
    """Something that the user gave is wrong: a file, a column, an option, an array."""


class WorkspaceError(CccountError):
    """The workspace is missing, of another version, or lacks what an earlier stage should have written."""


class FormatError(WorkspaceError):
    """Something stored has a format that this version does not read: `problem` says which, and what reads it."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class StoreError(CccountError):
    """The folder or object store refused: disk full, no permission, gone."""


class MissingObjectError(StoreError):
    """No object has this key."""


class ConflictError(CccountError):
    """Somebody else wrote first, and what they wrote is kept."""


class LeaseError(ConflictError):
    """The campaign's lease is held by another process, or was taken over from this one."""


class CorruptionError(CccountError):
    """Stored data is damaged. `cccount verify` lists every such place with its repair."""


class ComputeError(CccountError):
    """The Dask cluster cannot be reached, cannot hold the work, or was lost."""

"""Where to compute, declared once for every command, flow and file. Light to import."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cccount_dist.options import Option, Options, from_folder
from storage.errors import InputError

if TYPE_CHECKING:
    import distributed

_WORKERS = Option("Processes of the local cluster.", shown="one for each core", part="call", least=1, rule="at least 1")
_MEMORY = Option("Memory of each local process, such as 2GiB.", metavar="SIZE", part="call")

LEAST_MEMORY = 256 * 2**20  # an idle worker with our imports takes about 200 MiB


def _profile_located(compute: str, folder: Path) -> str:
    """A profile that is given as a file is a path; an address or a name is none."""
    return from_folder(compute, folder) if compute.endswith(".toml") else compute


def check_place(compute: str, workers: int | None, memory_limit: str | None) -> None:
    """Raise `InputError` for a place to compute that cannot be meant: before anything is started there."""
    if workers is not None and workers < 1:
        raise InputError(f"--workers must be at least 1, not {workers}")
    if compute == "local":
        memory_bytes(memory_limit)
        return
    if workers is not None or memory_limit is not None:
        raise InputError(f"--workers and --memory-limit are for a local cluster: {compute} has its own")
    if compute.startswith(("tcp://", "tls://")):
        return
    from flows.compute.profiles import Profile, is_profile

    if not is_profile(compute):
        raise InputError(f"--compute takes local, tcp://host:port, tls://host:port or the name of a profile, not {compute!r}")
    Profile.read(compute)


def memory_bytes(memory_limit: str | None) -> int | None:
    """Return what `--memory-limit` says in bytes; None leaves it to Dask."""
    if memory_limit is None:
        return None
    from dask.utils import parse_bytes

    try:
        limit = int(parse_bytes(memory_limit))
    except ValueError as error:
        raise InputError(f"--memory-limit takes a size such as 2GiB, not {memory_limit!r}") from error
    if limit < LEAST_MEMORY:
        raise InputError(f"--memory-limit must be at least {LEAST_MEMORY >> 20}MiB for a worker to start, not {memory_limit!r}")
    return limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeOptions(Options):
    """For a stage that always computes on a cluster."""

    compute: Annotated[
        str,
        Option(
            "Where to compute: this machine, a Dask scheduler's address, or a profile such as slurm.",
            metavar="local|tcp://…|tls://…|PROFILE", part="call", located=_profile_located,
        ),
    ] = "local"  # fmt: skip
    workers: Annotated[int | None, _WORKERS] = None
    memory_limit: Annotated[str | None, _MEMORY] = None

    @contextmanager
    def client(self) -> "Iterator[distributed.Client]":
        """Connect to the cluster, or start a local one for as long as the context lasts."""
        from flows.compute.clients import open_client

        with open_client(self.compute, workers=self.workers, memory_limit=self.memory_limit) as client:
            yield client


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparingOptions(Options):
    """For a campaign, which computes here; some methods have a cluster prepare what is heavy."""

    compute: Annotated[
        str | None,
        Option(
            "Where to compute what a method prepares before its first question.", metavar="local|tcp://…|tls://…|PROFILE",
            shown="this process, or a local cluster where that is faster", part="call", located=_profile_located,
        ),
    ] = None  # fmt: skip
    workers: Annotated[int | None, _WORKERS] = None
    memory_limit: Annotated[str | None, _MEMORY] = None

    @property
    def named(self) -> bool:
        """Whether the user asked for a cluster."""
        return self != PreparingOptions()

"""What a kind of campaign sees of a Dask cluster: whether somebody named one, and a way to run many tasks there.

`flows` gives it (`flows/compute/preparing.py`); without one everything is prepared here, by the first step.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Cluster(Protocol):
    """Where something heavy can be prepared."""

    @property
    def named(self) -> bool:
        """Whether the user asked for it: then it is used also where it hardly pays."""

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        *,
        describe: str,
        unit: str,
        done_before: int = 0,
        sizes: Sequence[int] | None = None,
    ) -> list[R]:
        """Run the tasks on the cluster, with progress, and return their results in order."""

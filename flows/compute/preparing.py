"""A Dask cluster as a kind of campaign sees it (`cccount_dist/campaign/preparation.py`): opened when the first task comes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from flows.compute.clients import open_client, run_tasks
from flows.compute.options import PreparingOptions

T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class DaskCluster:
    """Where a campaign prepares what is heavy."""

    options: PreparingOptions
    used: bool = False

    @property
    def named(self) -> bool:
        return self.options.named

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
        self.used = True
        compute = self.options.compute or "local"
        with open_client(compute, workers=self.options.workers, memory_limit=self.options.memory_limit) as client:
            return run_tasks(client, function, tasks, describe=describe, unit=unit, done_before=done_before, sizes=sizes)

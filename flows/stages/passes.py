"""A pass over all pairs on a Dask cluster: the order of its tiles, and the memory that it needs."""

from functools import partial

import distributed
from dask.utils import format_bytes

from cccount_dist.similarity.exact import ExactPass, compute_tile, merge_block
from cccount_dist.similarity.memory import PROCESS_BYTES
from cccount_dist.similarity.remaining import Remaining
from flows.compute.clients import run_tasks
from storage.errors import ComputeError

_PAUSE = 0.8  # of its memory limit: there a Dask worker takes no new task


def run_stages(job: ExactPass, remaining: Remaining, client: distributed.Client, describe: str) -> tuple[int, list[int]]:
    """Run the tiles and merges that are left, stage by stage; return how many tiles that were, and the memory of each task."""
    peaks = [0]
    computed = 0
    for stage in range(job.grid.stages):
        tiles = remaining.tiles(stage)
        what = f"{describe}, stage {stage + 1} of {job.grid.stages}"
        before = len(job.grid.stage(stage)) - len(tiles)
        peaks += run_tasks(client, partial(compute_tile, job), tiles, describe=what, unit="tiles", done_before=before)
        peaks += run_tasks(client, partial(merge_block, job), remaining.merges(stage), describe=f"{what}, merging", unit="blocks")
        remaining.passed(stage)
        computed += len(tiles)
    return computed, peaks


def require_memory(client: distributed.Client, task_bytes: int) -> None:
    """Raise `ComputeError` if a worker could not hold as many tasks as it runs at once."""
    for address, worker in client.scheduler_info(n_workers=-1)["workers"].items():
        limit, threads = int(worker["memory_limit"] or 0), int(worker["nthreads"])
        needed = int((PROCESS_BYTES + threads * task_bytes) / _PAUSE)
        if 0 < limit < needed:
            raise ComputeError(
                f"worker {address} has {format_bytes(limit)} of memory, and {threads} task(s) at a time need "
                f"{format_bytes(needed)}: give it --memory-limit {-(-needed // 2**20)}MiB or more, and use fewer --workers "
                "if that is too much for the machine"
            )


__all__ = ["require_memory", "run_stages"]

"""`cccount neighbors --engine approximate`: the order of its tasks on the cluster."""

import sys
from collections.abc import Callable
from functools import partial

import distributed

from cccount_dist.campaign.answerwords import percent_words
from cccount_dist.similarity.approximate import (
    RECALL_ITEMS,
    ApproximatePass,
    collect,
    learn,
    map_block,
    measure_recall,
    search_block,
    sort_items,
    write_block,
)
from cccount_dist.similarity.coarse import NEEDS_FAISS, has_faiss
from cccount_dist.similarity.partial import is_sound
from flows.compute.clients import run_tasks
from storage.errors import ComputeError

Task = Callable[[ApproximatePass, int], int]

GOOD_RECALL = 0.95
_RECALL_PART = 256


def require_faiss(client: distributed.Client) -> None:
    """Raise `ComputeError` if a worker lacks the library of this engine."""
    if lacking := [address for address, there in client.run(has_faiss).items() if not there]:
        raise ComputeError(f"--engine approximate {NEEDS_FAISS} for every worker ({len(lacking)} lack it: {lacking[0]}, …)")


def search(job: ApproximatePass, client: distributed.Client) -> tuple[int, float, int]:
    """Find neighbours and degrees, leave them in the scratch folder; return blocks searched, recall and peak memory."""
    blocks = range(job.grid.blocks)
    peaks = [0]

    def once(name: str, function: Task, describe: str) -> None:
        if not is_sound(job.file(name)):
            peaks.extend(run_tasks(client, partial(function, job), [0], describe=describe, unit="passes"))

    def each(name: str, function: Task, describe: str) -> int:
        missing = [block for block in blocks if not is_sound(job.file(name, block))]
        done = len(blocks) - len(missing)
        work = partial(function, job)
        peaks.extend(run_tasks(client, work, missing, describe=describe, unit="blocks", done_before=done))
        return len(missing)

    once("learnt", learn, "learning centres")
    each("near", map_block, "mapping items to centres")
    once("lists", sort_items, "sorting items")
    searched = each("found", search_block, "searching near lists")
    peaks.extend(run_tasks(client, partial(collect, job), [0], describe="collecting", unit="passes"))
    parts = [(start, start + _RECALL_PART) for start in range(0, RECALL_ITEMS, _RECALL_PART)]
    measured = run_tasks(client, partial(measure_recall, job), parts, describe="measuring the recall", unit="parts")
    recall = sum(hits for hits, _ in measured) / sum(count for _, count in measured)
    if recall < GOOD_RECALL:
        sys.stderr.write(
            f"recall on a sample is only {recall:.3f}: {percent_words(1 - recall)} of the neighbours are missing; "
            "--engine exact finds all\n"
        )
    return searched, recall, max(peaks)


def write(job: ApproximatePass, blocks: list[int], client: distributed.Client) -> int:
    """Write the shards of these blocks."""
    return max(run_tasks(client, partial(write_block, job), blocks, describe="writing neighbours", unit="blocks"), default=0)

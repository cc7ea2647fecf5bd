"""The Dask tasks of the exact pass: look at the vectors, compute a tile, merge what a stage found for a block.

A task gets the pass (where the workspace is, and numbers) and its tile or block; it reads vectors from the host's row cache and
leaves its result as a file in the scratch folder, or as finished shards. Doing a task twice changes nothing.
Time O(T² d) for a tile of T items a side; memory as `memory.py` projects it, independent of n.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Block, Scores, make_block, scores_of
from cccount_dist.similarity.finish import finish
from cccount_dist.similarity.grid import Grid, Tile
from cccount_dist.similarity.kernel import scan_diagonal, scan_tile
from cccount_dist.similarity.lists import CLOSED, Lists, absorb, cut_all, new_lists
from cccount_dist.similarity.memory import forget_pages, peak_bytes, projected_bytes
from cccount_dist.similarity.metrics import EuclideanScale, Metric, euclidean_scale, prepare, usable
from cccount_dist.similarity.partial import found_in, read_found, write_found
from storage.errors import WorkspaceError
from storage.rowcache import row_cache
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY
from storage.scratch import ScratchPath
from storage.workspace import Workspace

_SURVEY_ROWS = 4096


@dataclass(frozen=True, slots=True)
class ExactPass:
    """One pass over all pairs, as every task of it knows it."""

    workspace: str
    embeddings: str  # fingerprint
    metric: Metric
    k: int
    grid: Grid
    dimensions: int
    scratch: str
    scale: EuclideanScale | None = None

    @property
    def folder(self) -> ScratchPath:
        return Workspace.open(self.workspace).scratch(self.scratch)

    @property
    def meaning(self) -> Scores:
        return scores_of(self.metric, self.dimensions, self.scale)

    def task_bytes(self) -> int:
        """Return an upper limit of the memory of a task."""
        return projected_bytes(self.grid, self.dimensions, self.k)

    def vectors(self) -> NDArray[np.float32]:
        """Return all prepared rows as a memory map of this host's row cache."""
        return _opened(self.workspace, self.embeddings, self.metric)

    def write(self, block: int, index: NDArray[np.int32], similarity: NDArray[np.float32], degree: NDArray[np.float64]) -> None:
        """Keep what was found for a block, as the shards of that number."""
        opened = Workspace.open(self.workspace)
        for spec, rows in ((NEIGHBOR_INDEX, index), (NEIGHBOR_SIMILARITY, similarity), (DEGREE, degree)):
            opened.array(spec).write_shard(block, rows)

    def part(self, tile: Tile, block: int) -> ScratchPath:
        """Where the tile leaves what it found for one of its blocks."""
        if tile.stage == 0:
            return self.state(0, block)
        partner = tile.first + tile.second - block
        return self.folder / f"part-{tile.stage}-{block:06d}-{partner:06d}"

    def state(self, stage: int, block: int) -> ScratchPath:
        """Where everything is that was found for a block until the end of a stage."""
        return self.folder / f"state-{stage}-{block:06d}"


@dataclass(frozen=True, slots=True)
class Survey:
    """What must be known of the vectors before the pass can begin."""

    usable: int
    scale: EuclideanScale | None
    peak: int


@dataclass(frozen=True, slots=True)
class TileTask:
    """A tile, and which of its blocks still need it."""

    tile: Tile
    first_needed: bool
    second_needed: bool


def survey(job: ExactPass, _: int = 0) -> Survey:
    """Build this host's row cache, count the items that have a vector, and measure the Euclidean scale."""
    vectors = job.vectors()

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, len(vectors), _SURVEY_ROWS):
            yield vectors[start : start + _SURVEY_ROWS]
            forget_pages(vectors)

    count = sum(int(usable(block).sum()) for block in blocks())
    scale = euclidean_scale(blocks) if job.metric == "euclidean" and count > 1 else None
    return Survey(count, scale, peak_bytes())


def compute_tile(job: ExactPass, task: TileTask) -> int:
    """Compute one tile for those of its blocks that need it; return the peak memory of this process."""
    if task.tile.first == task.tile.second:
        _diagonal(job, task)
    else:
        _pair(job, task)
    return peak_bytes()


def _diagonal(job: ExactPass, task: TileTask) -> None:
    number = task.tile.first
    block = read_block(job, number)
    lists = new_lists(block.usable, block.margin, job.k)
    scan_diagonal(block, lists, job.grid.rows(number), job.k, job.meaning)
    if task.first_needed:
        cut_all(lists, job.k, job.meaning.slope)
        write_found(job.state(0, number), found_in(lists))


def _pair(job: ExactPass, task: TileTask) -> None:
    tile = task.tile
    blocks = (read_block(job, tile.first), read_block(job, tile.second))
    lists = (
        _lists_for(job, tile.stage, tile.first, blocks[0], task.first_needed),
        _lists_for(job, tile.stage, tile.second, blocks[1], task.second_needed),
    )
    items = (job.grid.rows(tile.first), job.grid.rows(tile.second))
    scan_tile(*blocks, lists, items, job.k, job.meaning)
    for block, found, needed in zip((tile.first, tile.second), lists, (task.first_needed, task.second_needed), strict=True):
        if needed:
            cut_all(found, job.k, job.meaning.slope)
            write_found(job.part(tile, block), found_in(found))


def _lists_for(job: ExactPass, stage: int, number: int, block: Block, needed: bool) -> Lists:  # noqa: FBT001
    """Return empty lists with the thresholds of the stage before; closed ones for a block that needs nothing."""
    lists = new_lists(block.usable, block.margin, job.k)
    if needed:
        np.maximum(lists.threshold, read_found(job.state(stage - 1, number)).threshold, out=lists.threshold)
    else:
        lists.threshold[:] = CLOSED
    return lists


@dataclass(frozen=True, slots=True)
class MergeTask:
    """A block whose tiles of one stage are all there."""

    stage: int
    block: int


def merge_block(job: ExactPass, task: MergeTask) -> int:
    """Merge what the tiles of a stage found for a block; after the last stage, write its neighbours and degree."""
    lists = _merged(job, task)
    if task.stage + 1 < job.grid.stages:
        write_found(job.state(task.stage, task.block), found_in(lists))
    else:
        _write_shards(job, task.block, lists)
    for path in _merged_files(job, task):
        path.unlink(missing_ok=True)
    return peak_bytes()


def _merged(job: ExactPass, task: MergeTask) -> Lists:
    block = read_block(job, task.block)
    lists = new_lists(block.usable, block.margin, job.k)
    for path in _merged_files(job, task):  # in the order of blocks: degrees are sums of floats
        found = read_found(path)
        lists.degree[:] += found.degree
        absorb(lists, found.count, found.score, found.item, job.k, job.meaning.slope)
    cut_all(lists, job.k, job.meaning.slope)
    return lists


def _merged_files(job: ExactPass, task: MergeTask) -> list[ScratchPath]:
    before = [job.state(max(task.stage - 1, 0), task.block)]
    tiles = job.grid.stage(task.stage) if task.stage else []
    mine = sorted((t for t in tiles if task.block in (t.first, t.second)), key=lambda t: t.first + t.second)
    return before + [job.part(tile, task.block) for tile in mine]


def _write_shards(job: ExactPass, block: int, lists: Lists) -> None:
    start, stop = job.grid.rows(block)
    vectors = job.vectors()
    index, similarity = finish(vectors, np.arange(start, stop), lists, job.k, job.meaning)
    forget_pages(vectors)
    job.write(block, index, similarity, np.where(lists.usable, lists.degree, np.nan)[: stop - start])


def read_block(job: ExactPass, number: int) -> Block:
    """Return a block, copied out of the row cache."""
    vectors = job.vectors()
    start, stop = job.grid.rows(number)
    block = make_block(vectors[start:stop], job.grid.tile_rows, job.meaning)
    forget_pages(vectors)
    return block


@lru_cache(maxsize=2)  # a worker does many tasks of one pass, and to open the cache it must read every marker
def _opened(workspace: str, fingerprint: str, metric: Metric) -> NDArray[np.float32]:
    opened = Workspace.open(workspace)
    embeddings = opened.array(EMBEDDINGS)
    if embeddings.fingerprint() != fingerprint:
        raise WorkspaceError(f"the embeddings in {workspace} were changed while their neighbours were computed: run it again")
    rows: NDArray[Any] = row_cache(embeddings, opened.cache_folder(), f"prepared-{metric}", lambda rows: prepare(rows, metric))
    return rows

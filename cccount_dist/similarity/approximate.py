"""The Dask tasks of the approximate engine: learn centres, map items to them, search near lists, measure the recall.

faiss makes the centres and finds those near an item (`coarse.py`). An item is compared with the items of its PROBES nearest lists
only; each comparison is as exact as in the exact pass. Tasks take all items of some neighbouring lists at once, so that a list is
one matrix product for everybody who looks at it: faiss's own list scan is slower at the same recall
(docs/explanation/neighbors.md).
Time O(n √n d); memory O(T d) for a task of T items, and O(n k) once, to put the results in order.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.blocks import Block, make_block
from cccount_dist.similarity.coarse import SAMPLES, centres_for, faiss_on_one_thread, learn_centres, near_centres, scan_rows
from cccount_dist.similarity.degrees import SAMPLE, Reference, estimate_degrees
from cccount_dist.similarity.exact import ExactPass
from cccount_dist.similarity.finish import finish
from cccount_dist.similarity.lists import Lists, cut_all, new_lists
from cccount_dist.similarity.memory import forget_pages, peak_bytes, projected_approximate_bytes
from cccount_dist.similarity.metrics import usable
from cccount_dist.similarity.partial import read_arrays, write_arrays
from storage.schema import DEGREE, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY
from storage.scratch import ScratchPath
from storage.workspace import Workspace

PROBES = 32
RECALL_ITEMS = 1024
_SEED = 20
_ROWS = 4096


@dataclass(frozen=True, slots=True)
class ApproximatePass(ExactPass):
    """One approximate pass; blocks of the grid are what tasks map, search and write."""

    @property
    def probes(self) -> int:
        """Lists that each item looks at: more when k is so large that they would not hold enough."""
        centres = centres_for(self.grid.items)
        return min(centres, max(PROBES, -(-8 * self.k * centres // self.grid.items)))

    def task_bytes(self) -> int:
        return projected_approximate_bytes(self.grid.items, self.grid, self.dimensions, self.k, self.probes)

    def file(self, name: str, number: int = 0) -> ScratchPath:
        return self.folder / f"{name}-{number:06d}"


def learn(job: ApproximatePass, _: int = 0) -> int:
    """Learn the centres, draw the samples and sum up the collection."""
    vectors = job.vectors()
    rng = np.random.default_rng(_SEED)
    good = np.concatenate([usable(rows) for rows in _blocks(vectors)])
    items = rng.permutation(np.flatnonzero(good))
    centres = min(centres_for(job.grid.items), len(items))
    with faiss_on_one_thread():
        found = learn_centres(_coordinates(job, _block(job, vectors, items[: SAMPLES * centres])), centres, _SEED)
        sampled = np.sort(rng.permutation(items)[:SAMPLE])
        sample = _block(job, vectors, sampled).right
        total = np.zeros(sample.shape[1])
        gram = np.zeros((sample.shape[1], sample.shape[1]))
        for start in range(0, len(vectors), _ROWS):
            right = _block(job, vectors, np.arange(start, min(start + _ROWS, len(vectors)))[good[start : start + _ROWS]]).right
            total += right.sum(axis=0, dtype=np.float64)
            gram += right.T @ right
    write_arrays(job.file("learnt"), found, sampled, sample, total, gram, np.array([len(items)]))
    return peak_bytes()


def map_block(job: ApproximatePass, block: int) -> int:
    """Find the centres nearest to every item of a block."""
    start, stop = job.grid.rows(block)
    with faiss_on_one_thread():
        mine = _block(job, job.vectors(), np.arange(start, stop))
        near = near_centres(_coordinates(job, mine), read_arrays(job.file("learnt"))[0], job.probes)
    near[~mine.usable] = -1
    write_arrays(job.file("near", block), near)
    return peak_bytes()


def sort_items(job: ApproximatePass, _: int = 0) -> int:
    """Put the items in order of their nearest centre: the lists. Items without a vector are in none."""
    near = np.concatenate([read_arrays(job.file("near", block))[0] for block in range(job.grid.blocks)])
    own = near[:, 0]
    order = np.argsort(own, kind="stable")[np.count_nonzero(own < 0) :]
    centres = len(read_arrays(job.file("learnt"))[0])
    for number in range(job.grid.blocks):
        write_arrays(job.file("visits", number), near[order[slice(*job.grid.rows(number))]])
    write_arrays(job.file("lists"), order, np.searchsorted(own[order], np.arange(centres + 1)))
    return peak_bytes()


def search_block(job: ApproximatePass, number: int) -> int:
    """Find the neighbours and estimate the degrees of one block of the sorted items."""
    order, starts = read_arrays(job.file("lists"))
    items = order[slice(*job.grid.rows(number))]
    if not len(items):  # because some have no vector, the last blocks may be empty
        none = np.empty((0, job.k))
        write_arrays(job.file("found", number), items, none.astype(np.int32), none.astype(np.float32), none[:, 0])
        return peak_bytes()
    vectors = job.vectors()
    block = _block(job, vectors, items)
    (near,) = read_arrays(job.file("visits", number))
    lists = new_lists(block.usable, block.margin, job.k)
    with faiss_on_one_thread():
        for centre, rows in _visits(near):
            members = order[starts[centre] : starts[centre + 1]]
            if len(members):
                _compare(job, vectors, block, items, rows, members, lists)
        cut_all(lists, job.k, job.meaning.slope)
        index, similarity = finish(vectors, items, lists, job.k, job.meaning)
        forget_pages(vectors)
        learnt = read_arrays(job.file("learnt"))
        reference = Reference(learnt[1], learnt[2], learnt[3], learnt[4], int(learnt[5][0]))
        degree = np.concatenate(
            [
                estimate_degrees(items[rows], block.left[rows], block.right[rows], reference, job.meaning)
                for rows in (slice(start, start + 512) for start in range(0, len(items), 512))
            ]
        )
    write_arrays(job.file("found", number), items, index, similarity, degree)
    return peak_bytes()


def _visits(near: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every centre with the rows that look at it; those that are nearest to somebody first, for better thresholds."""
    centre = near.ravel()
    by_centre = np.argsort(centre, kind="stable")
    names, starts = np.unique(centre[by_centre], return_index=True)
    groups = dict(zip(names.tolist(), np.split(by_centre // near.shape[1], starts[1:]), strict=True))
    first = np.unique(near[:, 0]).tolist()
    for name in [*first, *sorted(set(groups) - set(first))]:
        yield name, groups[name]


def _compare(
    job: ApproximatePass, vectors: NDArray[np.float32], block: Block, items: NDArray[np.int64], rows: NDArray[np.int64],
    members: NDArray[np.int64], lists: Lists,
) -> None:  # fmt: skip
    width = -(-len(members) // 32) * 32
    theirs = _block(job, vectors, members).right
    padded = np.zeros((width, theirs.shape[1]), np.float32)
    padded[: len(theirs)] = theirs
    names = np.full(width, -1, np.int32)
    names[: len(members)] = members
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        scan_rows(block.left[some] @ padded.T, some, names, items[some], lists, job.k, job.meaning.slope)


def collect(job: ApproximatePass, _: int = 0) -> int:
    """Put what the search found back into the order of items."""
    items, k = job.grid.items, job.k
    index, similarity, degree = np.full((items, k), -1, np.int32), np.full((items, k), np.nan, np.float32), np.full(items, np.nan)
    for number in range(job.grid.blocks):
        if job.file("found", number).exists():
            mine, *found = read_arrays(job.file("found", number))
            index[mine], similarity[mine], degree[mine] = found
    for block in range(job.grid.blocks):
        rows = slice(*job.grid.rows(block))
        write_arrays(job.file("rows", block), index[rows], similarity[rows], degree[rows])
    return peak_bytes()


def measure_recall(job: ApproximatePass, part: tuple[int, int]) -> tuple[float, int]:
    """Return the sum of recalls of some sampled items, against exact lists, and how many they are.

    A neighbour counts if it is as near as the k-th of the exact list: of equals either may be there.
    """
    vectors = job.vectors()
    items = recall_items(job)[slice(*part)]
    mine = _block(job, vectors, items)
    lists = new_lists(mine.usable, mine.margin, job.k)
    with faiss_on_one_thread():
        for start in range(0, len(vectors), _ROWS):
            _compare(job, vectors, mine, items, np.arange(len(items)), _usable_items(vectors, start), lists)
            forget_pages(vectors)
    cut_all(lists, job.k, job.meaning.slope)
    _, exact = finish(vectors, items, lists, job.k, job.meaning)
    found = np.empty_like(exact)
    blocks = items // job.grid.tile_rows
    for block in np.unique(blocks):
        rows = blocks == block
        found[rows] = read_arrays(job.file("rows", int(block)))[1][items[rows] % job.grid.tile_rows]
    hits = found >= exact[:, -1:] - 1e-6
    return float(hits.mean(axis=1).sum()), len(items)


def recall_items(job: ApproximatePass) -> NDArray[np.int64]:
    """Return the items on which the recall is measured: drawn from all that have a vector, the same ones every time."""
    order = read_arrays(job.file("lists"))[0]
    return np.sort(np.random.default_rng(_SEED + 1).permutation(order)[:RECALL_ITEMS])


def _usable_items(vectors: NDArray[np.float32], start: int) -> NDArray[np.int64]:
    return start + np.flatnonzero(usable(vectors[start : start + _ROWS]))


def write_block(job: ApproximatePass, block: int) -> int:
    """Write the shards of one block."""
    opened = Workspace.open(job.workspace)
    for spec, rows in zip((NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, DEGREE), read_arrays(job.file("rows", block)), strict=True):
        opened.array(spec).write_shard(block, rows)
    return peak_bytes()


def _block(job: ApproximatePass, vectors: NDArray[np.float32], items: NDArray[np.int64]) -> Block:
    return make_block(vectors[items], len(items), job.meaning)


def _coordinates(job: ApproximatePass, block: Block) -> NDArray[np.float32]:
    """Return where items lie in the space of the centres: a Euclidean block has two columns that are no coordinates."""
    return block.left if job.scale is None else np.ascontiguousarray(block.left[:, :-2])


def _blocks(vectors: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    for start in range(0, len(vectors), _ROWS):
        yield vectors[start : start + _ROWS]

"""The Dask tasks that fit the map of a collection: moments, components, neighbours, whitening, twice.

Everything is fitted to at most `SAMPLE` items, in runs of consecutive ones; where there are more, the runs are evenly spaced, for
pictures of one animal often follow each other. The components and the first search, whose whitening only leads to better
neighbours, make do with `FIRST` of them: the map is as good (docs/evidence/embedding.md). A task leaves its result as a file in
the scratch folder; doing one twice changes nothing, and no sum depends on who computes it. Memory of a task: O(d²) for the
components, O(SAMPLE K) for the neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.fitting import (
    ROUNDS,
    Judged,
    Moments,
    components_for,
    components_of_moments,
    components_of_rows,
    judge,
    moments_of,
    whiten,
)
from cccount_dist.embedding.projection import Projection, Whitening, centred_rows, unit_rows
from cccount_dist.embedding.shard import finite_rows
from cccount_dist.similarity.exact import ExactPass
from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.lists import capacity
from cccount_dist.similarity.memory import peak_bytes
from cccount_dist.similarity.whitening import MUTUAL
from storage.arrays import ShardedArray, default_shard_rows
from storage.errors import ConflictError
from storage.schema import ENCODED
from storage.scratch import ScratchPath, read_arrays, write_arrays
from storage.workspace import Workspace

RUN = 1024  # consecutive items that a task reads
SAMPLE = 64 * RUN  # enough for the 100,000 pairs that a whitening looks at; the search among them is most of the time
FIRST = 32 * RUN  # of these, for the components and the first search
_GROUP = 8  # runs whose moments are one file of d² numbers


@dataclass(frozen=True, slots=True)
class MapJob:
    """One fit, as every task of it knows it."""

    workspace: str
    encoded: str  # fingerprint of what is mapped
    items: int
    usable: int  # of them, with a vector
    dimensions: int
    scratch: str

    @property
    def components(self) -> int:
        return components_for(self.usable, self.dimensions)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The first item of every run that is looked at, and the one after its last."""
        runs = _evenly(range(-(-self.items // RUN)), SAMPLE // RUN)
        return [(run * RUN, min((run + 1) * RUN, self.items)) for run in runs]

    def runs_of(self, number: int) -> Sequence[int]:
        """Which of the runs the search of this round is among; the first round's make the components, too."""
        every = range(len(self.runs))
        return every if number else _evenly(every, FIRST // RUN)

    def sampled(self, number: int) -> int:
        """How many items the search of this round is among."""
        runs = self.runs
        return sum(runs[run][1] - runs[run][0] for run in self.runs_of(number))

    @property
    def by_moments(self) -> bool:
        """Whether components come from (d, d) moments; fewer items than dimensions are held in memory instead."""
        return self.usable > self.dimensions

    @property
    def groups(self) -> int:
        return -(-len(self.runs_of(0)) // _GROUP)

    @property
    def rounds(self) -> int:
        return ROUNDS if self.usable > 2 else 0  # two items have nothing but each other

    def file(self, name: str, number: int = 0) -> ScratchPath:
        return Workspace.open(self.workspace).scratch(self.scratch) / f"{name}-{number:06d}"

    def search(self, number: int) -> "MapPass":
        """The pass over all pairs before the whitening of this number."""
        grid = grid_for(self.sampled(number), 8 * capacity(MUTUAL))
        scratch = f"{self.scratch}/round-{number}"
        k = min(MUTUAL, self.usable - 1)
        basis: NDArray[np.float32] = read_arrays(self.file("components"))[1]
        return MapPass(self.workspace, self.encoded, "cosine", k, grid, basis.shape[1], scratch, job=self, number=number)

    def task_bytes(self) -> int:
        """Return an upper limit of the memory of a task."""
        d = self.dimensions
        narrow = min(self.usable, d)
        finding = 6 * narrow * max(narrow, d) * 8
        searching = 5 * self.sampled(ROUNDS - 1) * self.components * 4 + 2 * 8192 * (capacity(MUTUAL) * 8 + 32) + 2**26
        projecting = 4 * default_shard_rows(self.items) * d * 4
        return max(finding, searching, projecting) + 4 * RUN * d * 8


@dataclass(frozen=True, slots=True)
class MapPass(ExactPass):
    """The exact pass among the components, in the space of the whitening before; what it finds stays in the scratch folder."""

    job: MapJob = field(kw_only=True)
    number: int = field(kw_only=True)

    def vectors(self) -> NDArray[np.float32]:
        return _space(self.job, self.number)

    def write(self, block: int, index: NDArray[np.int32], similarity: NDArray[np.float32], degree: NDArray[np.float64]) -> None:  # noqa: ARG002
        write_arrays(self.found(block), index)

    def found(self, block: int) -> ScratchPath:
        return self.folder / f"found-{block:06d}"


def sum_moments(job: MapJob, group: int) -> int:
    """Sum up the rows of some runs."""
    encoded, runs = _encoded(job), job.runs
    found = moments_of(encoded.read(*runs[run]) for run in job.runs_of(0)[group * _GROUP : (group + 1) * _GROUP])
    write_arrays(job.file("moments", group), np.array([found.count]), found.total, found.squares)
    return peak_bytes()


def find_components(job: MapJob, _: int = 0) -> int:
    """Find mean and directions; no directions if all vectors are equal."""
    if job.by_moments:
        parts = (read_arrays(job.file("moments", group)) for group in range(job.groups))
        found = components_of_moments((Moments(int(count[0]), *sums) for count, *sums in parts), job.components)
    else:
        encoded = _encoded(job)
        blocks = [encoded.read(start, stop) for start, stop in job.runs]
        found = components_of_rows(np.concatenate([rows[finite_rows(rows)] for rows in blocks]), job.components)
    if found is None:
        write_arrays(job.file("components"), np.zeros(job.dimensions, np.float32), np.zeros((job.dimensions, 0), np.float32))
    else:
        write_arrays(job.file("components"), found.mean, found.basis)
    return peak_bytes()


def turn_rows(job: MapJob, run: int) -> int:
    """Turn the rows of a run into unit components."""
    mean, basis = read_arrays(job.file("components"))
    rows = _encoded(job).read(*job.runs[run])
    write_arrays(job.file("rows", run), unit_rows(centred_rows(rows, mean, basis)))
    return peak_bytes()


def find_whitening(job: MapJob, number: int) -> int:
    """Fit the whitening to the neighbours of its round."""
    search = job.search(number)
    neighbors = np.concatenate([read_arrays(search.found(block))[0] for block in range(search.grid.blocks)])
    found = whiten(_components(job, job.runs_of(number)), neighbors)
    write_arrays(job.file("white", number), found.centre, found.matrix)
    return peak_bytes()


def judge_map(job: MapJob, _: int = 0) -> Judged | None:
    """Say without labels whether the map helps."""
    return judge(_components(job, range(len(job.runs))))


def has_directions(job: MapJob) -> bool:
    """Whether the vectors differ at all."""
    return bool(read_arrays(job.file("components"))[1].shape[1])


def fitted(job: MapJob) -> Projection:
    """Return what the tasks have found."""
    mean, basis = read_arrays(job.file("components"))
    return Projection(mean, basis, {}, _whitening(job, job.rounds - 1) if job.rounds and basis.shape[1] else None)


def _whitening(job: MapJob, number: int) -> Whitening:
    return Whitening(*read_arrays(job.file("white", number)))


def _components(job: MapJob, runs: Sequence[int]) -> NDArray[np.float32]:
    return np.concatenate([read_arrays(job.file("rows", run))[0] for run in runs])


@lru_cache(maxsize=1)  # a worker does many tiles of one round
def _space(job: MapJob, number: int) -> NDArray[np.float32]:
    """Return the rows (sampled, K) in which the neighbours of a round are looked for."""
    rows = _components(job, job.runs_of(number))
    return rows if number == 0 else _whitening(job, number - 1).apply(rows)


def _evenly(among: Sequence[int], most: int) -> Sequence[int]:
    """Return at most so many of these, evenly spaced.

    >>> [list(_evenly(range(n), 4)) for n in (3, 4, 7)]
    [[0, 1, 2], [0, 1, 2, 3], [0, 1, 3, 5]]
    """
    return among if len(among) <= most else [among[i * len(among) // most] for i in range(most)]


def _encoded(job: MapJob) -> ShardedArray:
    found = Workspace.open(job.workspace).array(ENCODED)
    if _fingerprint(job) != job.encoded:
        raise ConflictError(f"{ENCODED.name} in {job.workspace} was changed while its map was fitted: run `cccount embed` again")
    return found


@lru_cache(maxsize=1)
def _fingerprint(job: MapJob) -> str:
    return Workspace.open(job.workspace).array(ENCODED).fingerprint()


__all__ = [
    "MapJob", "MapPass", "find_components", "find_whitening", "fitted", "has_directions", "judge_map", "sum_moments", "turn_rows",
]  # fmt: skip

"""From a collection's vectors and neighbours to the sampler: exact up to MOST_UNITS items, through micro-clusters beyond.

Time O(n² d) and 40 n² bytes for the exact way; the condensed way takes O(n k log n) and 40 m² bytes for m units.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.beliefs import Labels, many_runs
from cccount_dist.clustering.hacc.hacc_sampler import ActiveHacc, Asking
from cccount_dist.clustering.hacc.knowledge import Knowledge
from cccount_dist.clustering.hacc.parameters import HaccParameters
from cccount_dist.clustering.hacc.units import (
    MOST_UNITS,
    MicroClusters,
    Problem,
    central_items,
    condense,
    condensed,
    grouped,
    plain,
)
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.clustering.methods import GroupingInputs, check_clusters, known_clusters
from cccount_dist.clustering.present import PresentItems
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.rows import of_items
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError

ONE_A_CLUSTER = 16  # questions that may be open, up to which each must be about clusters of its own
GROUPED_FROM, GROUPS = 1_000, 700  # section 3.1 and 4.1 of the paper: H1 groups larger sets by k-means, 1,042 leaves to 700
UNITS = 2_000  # micro-clusters that a larger collection is condensed to: about half a second for a question


def hacc(inputs: GroupingInputs, given: HaccParameters) -> Sampler[Grouping]:
    """Return a new Active-HACC sampler."""
    present = present_items(inputs)
    local = given.effects == "local"
    most_open = None if given.open == ONE_A_CLUSTER else given.open
    asking = Asking(local=local, pooling=given.pooling, unlikely=given.unlikely, stop=given.stop)
    sampler = ActiveHacc(knowledge_of(inputs, present), asking, most_open=most_open, crowded=given.open > ONE_A_CLUSTER)
    return PresentItems(sampler, present, len(inputs.neighbors))


@dataclass(frozen=True, slots=True)
class Units:
    """What the k-means runs see: the items that have a vector, or what stands for their micro-clusters."""

    vectors: NDArray[np.float32]  # (p, d) of the items
    micro: MicroClusters | None
    rows: NDArray[np.float32]  # (m, d) of the units
    weight: NDArray[np.int64]  # (m,) items of each unit
    clusters: int
    seed: int
    runs: int
    finer: bool = True  # every second run makes 2 K clusters
    groups: NDArray[np.int32] | None = None  # (p,) the group of each item, if k-means condensed them

    def consensus(self) -> Labels:
        """Return the labels of all runs (runs, m), computed here, one after the other."""
        return many_runs(self.rows, self.clusters, self.seed, self.runs, self.weight, finer=self.finer)


def units_of(inputs: GroupingInputs, present: NDArray[np.int64] | None = None) -> Units:
    """Return the units of the items that have a vector, numbered as in `present`; condensed if there are too many."""
    present = present_items(inputs) if present is None else present
    given = HaccParameters.read(inputs.parameters, "hacc")
    clusters = known_clusters("hacc", inputs.clusters)
    check_clusters(clusters, len(present))
    runs, units = given.runs, given.units
    vectors = inputs.vectors
    if len(present) < len(vectors):
        vectors = np.asarray(of_items(vectors, present)[:, : vectors.shape[1]])
    one_each = Units(vectors, None, vectors, np.ones(len(vectors), np.int64), clusters, inputs.seed, runs, given.finer)
    if units == 0 and len(present) <= (MOST_UNITS if given.condense == "graph" else GROUPED_FROM):
        return one_each
    if given.condense == "kmeans":
        fit = kmeans(vectors, min(max(units or GROUPS, clusters), len(vectors)), seed=inputs.seed)
        used, groups = np.unique(fit.labels, return_inverse=True)
        rows = fit.centres[used].astype(np.float32)
        return replace(one_each, rows=rows, weight=np.ones(len(rows), np.int64), groups=groups.astype(np.int32))
    number = np.full(len(inputs.neighbors), -1, np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    neighbors = np.where(inputs.neighbors[present] >= 0, number[inputs.neighbors[present]], -1)
    micro = condense(neighbors, inputs.similarity[present], max(units or UNITS, clusters))
    of_item = np.unique(micro.units(), return_inverse=True)[1].astype(np.int32)
    size = np.bincount(of_item).astype(np.int64)
    rows = np.asarray(vectors[central_items(vectors, of_item, len(size))])
    return replace(one_each, micro=micro, rows=rows, weight=size)


def present_items(inputs: GroupingInputs) -> NDArray[np.int64]:
    """Return the items that have a vector."""
    return np.flatnonzero(inputs.neighbors[:, 0] >= 0)


def knowledge_of(inputs: GroupingInputs, present: NDArray[np.int64]) -> Knowledge:
    """Return what is known at the start about the items that have a vector, numbered as in `present`."""
    units = units_of(inputs, present)
    labels = units.consensus() if inputs.consensus is None else inputs.consensus
    if labels.shape != (units.runs, len(units.rows)):
        raise InputError(f"the k-means labels are {labels.shape}, but {units.runs} runs of {len(units.rows):,} units are needed")
    smoothed = HaccParameters.read(inputs.parameters, "hacc").smoothing
    if units.groups is not None:
        return Knowledge(_believed(grouped(units.vectors, units.groups, units.rows, labels), smoothed), units.clusters)
    if units.micro is None:
        return Knowledge(_believed(plain(units.vectors, labels), smoothed), units.clusters)
    rebuild = partial(_rebuilt, units.vectors, units.micro, labels, smoothed)
    return Knowledge(rebuild(()), units.clusters, units.micro, rebuild)


def _rebuilt(
    vectors: NDArray[np.float32],
    micro: MicroClusters,
    labels: Labels,
    smoothed: bool,  # noqa: FBT001
    opened: Collection[int],
) -> Problem:
    return _believed(condensed(vectors, micro, labels, opened), smoothed)


def _believed(problem: Problem, smoothed: bool) -> Problem:  # noqa: FBT001
    return problem if smoothed else replace(problem, beliefs=replace(problem.beliefs, smoothed=False))

"""Counts without people on a workspace, to set a count beside: how many clusters the vectors alone seem to have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cccount_dist.campaign.inputs import load_inputs, neighbor_lists
from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.campaign.progress import when_needed
from cccount_dist.counting.baselines.together import counts_without_people, kmeans_accuracy
from cccount_dist.similarity.metrics import usable
from flows.compute.progress import progress
from storage.schema import NEIGHBOR_SIMILARITY
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class CountedWithout:
    """How many clusters a method sees without people; accuracy of k-means with that number, where there are labels."""

    method: str
    clusters: float
    accuracy: float | None = optional()


@dataclass(frozen=True, slots=True)
class Compared(Outcome):
    """Counts without people."""

    items: int
    counts: Sequence[CountedWithout]

    def words(self) -> str:
        lines = [f"{self.items:,} items; without asking anybody there seem to be:"]
        for row in self.counts:
            accuracy = "" if row.accuracy is None else f"  (k-means with it: accuracy {row.accuracy:.3f})"
            lines.append(f"{row.clusters:>9,}  {row.method}{accuracy}")
        return "\n".join(lines)


def baselines(workspace: str, seed: int = 0) -> Compared:
    """Return each method's count and, where the collection has labels, the truth and how good k-means is with that count."""
    opened = Workspace.open(workspace)
    with when_needed(progress, "Reading vectors", "vectors") as report:
        vectors = load_inputs(opened, report).vectors
    labels = opened.collection().labels()
    similarity = opened.array(NEIGHBOR_SIMILARITY).read()
    with when_needed(progress, "k-means", "values of k") as report:
        lists = neighbor_lists(opened)
        rows = [CountedWithout(*one) for one in counts_without_people(vectors, lists, similarity, seed=seed, progress=report)]
    if labels is not None:
        known = usable(vectors) & (labels >= 0)
        counted, codes = vectors[known], labels[known]
        rows.append(CountedWithout("the labels", len(np.unique(codes))))
        rows = [replace(row, accuracy=kmeans_accuracy(counted, codes, float(row.clusters), seed=seed)) for row in rows]
    return Compared(int(np.count_nonzero(usable(vectors))), rows)

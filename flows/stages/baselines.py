"""Counts without people on a workspace, to set a count beside: how many clusters the vectors alone seem to have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import load_inputs, neighbor_lists
from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.campaign.progress import when_needed
from cccount_dist.clustering.agreement import ari, jcc, nmi, rwcp
from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.clustering.baselines.byname import BASELINES as GROUPINGS
from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.clustering.methods import check_clusters
from cccount_dist.counting.baselines.entities import unique_entities
from cccount_dist.counting.baselines.together import counts_without_people, kmeans_accuracy
from cccount_dist.similarity.metrics import usable
from cccount_dist.subclustering.byname import BASELINES as SUBCLUSTERINGS
from cccount_dist.subclustering.scores import subcluster_scores
from cccount_dist.taken import require_for
from flows.compute.progress import progress
from storage.errors import InputError
from storage.schema import NEIGHBOR_SIMILARITY
from storage.workspace import Workspace

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CountedWithout:
    """How many clusters a method sees, without people unless it says how many questions it asked.

    Accuracy is that of k-means with that number, where there are labels.
    """

    method: str
    clusters: float
    accuracy: float | None = optional()
    questions: int | None = optional()


@dataclass(frozen=True, slots=True)
class GroupedBy:
    """How well a baseline that is told K groups, with labels in the place of people."""

    method: str
    questions: int
    nmi: float
    ari: float
    jcc: float
    rwcp: float


@dataclass(frozen=True, slots=True)
class SubclusteredBy:
    """How good the subclusters of a baseline are, by the labels."""

    method: str
    sjc: float
    coverage: float
    purity: float


@dataclass(frozen=True, slots=True)
class ElbowPoint:
    """The objective of k-means with so many clusters."""

    clusters: int
    objective: float


@dataclass(frozen=True, slots=True)
class Compared(Outcome):
    """Counts without people, and if they were asked for groupings and subclusters to compare with."""

    items: int
    counts: Sequence[CountedWithout]
    elbow: Sequence[ElbowPoint] = ()
    groupings: Sequence[GroupedBy] = ()
    subclusters: Sequence[SubclusteredBy] = ()

    def words(self) -> str:
        lines = [f"{self.items:,} items; without asking anybody there seem to be:"]
        for row in self.counts:
            accuracy = "" if row.accuracy is None else f"  (k-means with it: accuracy {row.accuracy:.3f})"
            asked = "" if row.questions is None else f", {row.questions:,} questions"
            lines.append(f"{row.clusters:>9,}  {row.method}{asked}{accuracy}")
        lines += ["", "Told how many there are, with labels in the place of people:"] if self.groupings else []
        for group in self.groupings:
            measures = f"NMI {group.nmi:.3f}, ARI {group.ari:.3f}, JCC {group.jcc:.3f}, RWCP {group.rwcp:.3f}"
            lines.append(f"{group.questions:>9,} questions  {group.method:<10} {measures}")
        lines += ["", "Subclusters without asking anybody:"] if self.subclusters else []
        for sub in self.subclusters:
            lines.append(f"  {sub.method:<15} SJC {sub.sjc:.3f}, coverage {sub.coverage:.3f}, purity {sub.purity:.3f}")
        return "\n".join(lines)


def baselines(
    workspace: str, seed: int = 0, clusters: int | None = None, budget: int | None = None, size: int | None = None
) -> Compared:
    """Return each method's count and, where the collection has labels, the truth and how good k-means is with that count.

    With a budget unique entity estimation counts and the grouping baselines group the items, with a size they find subclusters:
    both need labels.
    """
    opened = Workspace.open(workspace)
    require_for("baselines" if size is None else "baselines --size", opened)
    with when_needed(progress, "Reading vectors", "vectors") as report:
        vectors = load_inputs(opened, report).vectors
    labels = opened.collection().labels()
    known = None if labels is None else usable(vectors) & (labels >= 0)
    _check(known, clusters, budget, size)
    similarity = opened.array(NEIGHBOR_SIMILARITY).read()
    with when_needed(progress, "k-means", "values of k") as report:
        elbow = kmeans_elbow(vectors, seed=seed, progress=report)
    counts = counts_without_people(vectors, neighbor_lists(opened), similarity, seed=seed, elbow=elbow)
    rows = [CountedWithout(*one) for one in counts]
    curve = [ElbowPoint(*point) for point in zip(elbow.tried, elbow.objective, strict=True)]
    items = int(np.count_nonzero(usable(vectors)))
    if labels is None or known is None:
        return Compared(items, rows, curve)
    counted, codes = np.ascontiguousarray(vectors[known]), labels[known]
    if budget is not None:
        rows.append(_entities(counted, codes, budget, seed))
    rows.append(CountedWithout("the labels", len(np.unique(codes))))
    rows = [replace(row, accuracy=kmeans_accuracy(counted, codes, float(row.clusters), seed=seed)) for row in rows]
    told = clusters or len(np.unique(codes))
    groupings = [] if budget is None else [_grouped(name, counted, codes, told, budget, seed) for name in GROUPINGS]
    subclusters = [] if size is None else [_subclustered(name, counted, codes, told, size, seed) for name in SUBCLUSTERINGS]
    return Compared(items, rows, curve, groupings, subclusters)


def _check(known: NDArray[np.bool_] | None, clusters: int | None, budget: int | None, size: int | None) -> None:
    if budget is not None and budget < 0:
        raise InputError(f"--budget must be 0 or more, not {budget}")
    if size is not None and size < 1:
        raise InputError(f"--size must be 1 or more, not {size}")
    if known is None and (budget is not None or size is not None):
        raise InputError("--budget and --size need labels, which answer in the place of people: see `cccount init --labels`")
    if known is not None and clusters is not None:
        check_clusters(clusters, int(np.count_nonzero(known)))


def _entities(vectors: Floats, labels: Labels, budget: int, seed: int) -> CountedWithout:
    asker = Asker(lambda u, v: bool(labels[u] == labels[v]), budget)
    clusters = round(unique_entities(vectors, asker, seed))
    return CountedWithout("unique entity estimation", clusters, questions=asker.asked)


def _grouped(name: str, vectors: Floats, labels: Labels, clusters: int, budget: int, seed: int) -> GroupedBy:
    asker = Asker(lambda u, v: bool(labels[u] == labels[v]), budget)
    found = GROUPINGS[name](vectors, clusters, asker, seed)
    return GroupedBy(name, asker.asked, nmi(labels, found), ari(labels, found), jcc(labels, found), rwcp(labels, found))


def _subclustered(name: str, vectors: Floats, labels: Labels, clusters: int, size: int, seed: int) -> SubclusteredBy:
    scores = subcluster_scores(labels, SUBCLUSTERINGS[name](vectors, clusters, size, seed))
    return SubclusteredBy(name, scores.sjc, scores.coverage, scores.purity)

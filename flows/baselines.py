"""Counts without people on a workspace, to set a count beside: how many clusters the vectors alone seem to have."""

from typing import Any

import numpy as np

from cccount_dist.counting.baselines.accuracy import kmeans_accuracy
from cccount_dist.counting.baselines.together import counts_without_people
from cccount_dist.inputs import load_inputs, neighbor_lists
from cccount_dist.similarity.metrics import usable
from flows.progress import progress_when_needed
from storage.schema import NEIGHBOR_SIMILARITY
from storage.workspace import Workspace


def baselines(workspace: str, seed: int = 0) -> dict[str, Any]:
    """Return each method's count and, where the collection has labels, the truth and how good k-means is with that count."""
    opened = Workspace.open(workspace)
    with progress_when_needed("Reading vectors", "vectors") as report:
        vectors = load_inputs(opened, report).vectors
    labels = opened.collection().labels()
    similarity = opened.array(NEIGHBOR_SIMILARITY).read()
    rows: list[dict[str, Any]] = []
    with progress_when_needed("k-means", "values of k") as report:
        for method, clusters in counts_without_people(vectors, neighbor_lists(opened), similarity, seed=seed, progress=report):
            rows.append({"method": method, "clusters": clusters})
    if labels is not None:
        known = usable(vectors) & (labels >= 0)
        counted, codes = vectors[known], labels[known]
        rows.append({"method": "the labels", "clusters": len(np.unique(codes))})
        for row in rows:
            row["accuracy"] = kmeans_accuracy(counted, codes, float(row["clusters"]), seed=seed)
    return {"items": int(np.count_nonzero(usable(vectors))), "counts": rows}

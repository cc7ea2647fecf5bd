"""What samplers compute on: prepared vectors at memory-map speed, the degree, and which items take part.

Items without a vector (images that could not be read) take no part: samplers work on positions 0 … n-1 of the others, and the
campaign translates. Memory: the degree and two arrays of item numbers; the vectors stay on disk.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.metrics import Metric, prepare
from storage.errors import WorkspaceError
from storage.rowcache import row_cache
from storage.schema import DEGREE, EMBEDDINGS
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a sampler may read."""

    items: NDArray[np.int64]  # (n,) item number of each position, increasing
    vectors: NDArray[np.float32]  # (n, d) prepared for dot products, memory-mapped
    degree: NDArray[np.float64]  # (n,) sum of clipped similarities to all others
    metric: Metric
    fingerprints: dict[str, str]

    def positions(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of item numbers that take part."""
        return np.searchsorted(self.items, items)


def load_inputs(workspace: Workspace) -> Inputs:
    """Open the products of `cccount embed` and `cccount neighbors`, and check that they belong together."""
    embeddings = workspace.array(EMBEDDINGS)
    stored = workspace.array(DEGREE)
    embeddings.require_complete()
    stored.require_complete()
    fingerprint = embeddings.fingerprint()
    if stored.attributes["embeddings"] != fingerprint:
        raise WorkspaceError(
            f"the neighbours in {workspace.location} were computed from other embeddings: run `cccount neighbors` again"
        )
    metric: Metric = stored.attributes["metric"]
    degree = stored.read()
    items = np.flatnonzero(~np.isnan(degree))
    vectors = row_cache(
        embeddings,
        workspace.cache_folder(),
        f"prepared-{metric}",
        lambda rows: prepare(rows, metric),
        keep=None if len(items) == len(degree) else items,
    )
    return Inputs(
        items=items,
        vectors=vectors,
        degree=degree[items],
        metric=metric,
        fingerprints={"embeddings": fingerprint, "degree": stored.fingerprint()},
    )

"""What samplers compute on: prepared vectors at memory-map speed, and the degree of every item.

An item without a vector (an image that could not be read) has the degree NaN; samplers leave it out. Memory: the degree; the
vectors stay on disk.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.given import is_of_distances
from cccount_dist.sampling.sided import NO_SIDE
from cccount_dist.similarity.metrics import Metric, check_metric, prepare
from storage.collection import SIDES
from storage.errors import WorkspaceError
from storage.rowcache import row_cache
from storage.schema import DEGREE, EMBEDDINGS, MATCHES, NEIGHBOR_INDEX
from storage.workspace import Workspace

SIDES_KEPT = (*SIDES, NO_SIDE)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Everything that a sampler may read."""

    vectors: NDArray[np.float32]  # (n, d) prepared (`metrics.prepare`), memory-mapped; (n, 0) where a campaign works without
    degree: NDArray[np.float64]  # (n,) sum of clipped similarities to all others; NaN for an item that cannot be asked about
    metric: Metric | None  # None: without vectors
    fingerprints: dict[str, str]
    described: str = ""  # in a few words, for people
    mean_square: float | None = None  # mean squared distance of two items, if the metric is Euclidean (`metrics.py`)
    matches: NDArray[np.int16] | None = None  # (n, m) with the first m neighbours, memory-mapped (`localmatches.py`)
    of_distances: bool = False  # whether the vectors stand for given distances: Euclidean, none longer than 1
    sides: NDArray[np.int8] | None = None  # (n,) place in `SIDES_KEPT`, where pictures of different sides are never compared

    @property
    def countable(self) -> int:
        """How many items can be asked about."""
        return int(np.count_nonzero(~np.isnan(self.degree)))

    @property
    def most_of_a_side(self) -> int:
        """How many items can be compared with each other at most: all, or those of the side that has the most."""
        return max((len(items) for items in self.by_side().values()), default=self.countable)

    def classes(self, labels: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the classes that answers can tell apart: those of the labels, and where sides count, those of each side."""
        if labels is None or self.sides is None:
            return labels
        return np.where(labels < 0, labels, labels * len(SIDES_KEPT) + self.sides)

    def by_side(self) -> dict[str, NDArray[np.int64]]:
        """The items of every side that there are, those that cannot be asked about left out; nothing where sides do not count."""
        if self.sides is None:
            return {}
        usable = ~np.isnan(self.degree)
        found = {name: np.flatnonzero(usable & (self.sides == code)) for code, name in enumerate(SIDES_KEPT)}
        return {name: items for name, items in found.items() if len(items)}


def load_inputs(workspace: Workspace, progress: Callable[[int, int], None] | None = None) -> Inputs:
    """Open the products of `cccount embed` and `cccount neighbors`, and check that they belong together.

    The first call on a host copies the vectors into its row cache, and calls `progress` with (rows done, rows in all).
    """
    embeddings = workspace.array(EMBEDDINGS)
    degree = workspace.array(DEGREE)
    fingerprint = embeddings.fingerprint()
    if degree.attributes["embeddings"] != fingerprint:
        raise WorkspaceError(
            f"the neighbours in {workspace.location} were computed from other embeddings: run `cccount neighbors` again"
        )
    metric = check_metric(str(degree.attributes["metric"]))
    vectors = row_cache(embeddings, workspace.cache_folder(), f"prepared-{metric}", lambda rows: prepare(rows, metric), progress)
    mean_square = float(str(degree.attributes["mean_squared_distance"])) if metric == "euclidean" else None
    fingerprints = {"embeddings": fingerprint, "degree": degree.fingerprint()}
    k = degree.attributes.get("k")
    described = f"vectors of {embeddings.attributes.get('encoder')}, {k} neighbours, {metric}"
    of_distances = is_of_distances(embeddings.attributes)
    return Inputs(vectors, degree.read(), metric, fingerprints, described, mean_square, of_distances=of_distances)


def neighbor_lists(workspace: Workspace) -> NDArray[np.int32]:
    """Return the neighbours (n, k) of every item, most similar first, memory-mapped; -1 where a list is shorter."""
    found: NDArray[np.int32] = row_cache(workspace.array(NEIGHBOR_INDEX), workspace.cache_folder(), "neighbor-index")
    return found


def has_matches(workspace: Workspace) -> bool:
    """Whether there are local matches with the neighbours that are here now."""
    if not workspace.has_array(MATCHES) or not workspace.has_array(NEIGHBOR_INDEX):
        return False
    index, found = workspace.array(NEIGHBOR_INDEX), workspace.array(MATCHES)
    return not index.missing() and not found.missing() and found.attributes.get("neighbors") == index.fingerprint()


def with_matches(inputs: Inputs, workspace: Workspace) -> Inputs:
    """Return the inputs with local matches, where there are any: for methods that make use of them."""
    if not has_matches(workspace):
        return inputs
    array = workspace.array(MATCHES)
    found = row_cache(array, workspace.cache_folder(), "matches")
    return replace(
        inputs,
        matches=found,
        fingerprints={**inputs.fingerprints, "matches": array.fingerprint()},
        described=f"{inputs.described}, local matches",
    )


def with_sides(inputs: Inputs, workspace: Workspace) -> Inputs:
    """Return the inputs with the sides that pictures show, if there is more than one: they are then never compared."""
    codes, there = _sides(workspace, inputs)
    if len(there) < 2:
        return inputs
    return replace(
        inputs,
        sides=codes,
        fingerprints={**inputs.fingerprints, "sides": _digest(codes)},
        described=f"{inputs.described}, sides apart ({', '.join(there)})",
    )


def sides_fingerprint(workspace: Workspace, inputs: Inputs) -> str | None:
    """The fingerprint of the sides that pictures show by now; None where there is just one."""
    codes, there = _sides(workspace, inputs)
    return None if len(there) < 2 else _digest(codes)


def _sides(workspace: Workspace, inputs: Inputs) -> tuple[NDArray[np.int8], list[str]]:
    """The side of each item, as its place in `SIDES_KEPT`, and which sides there are among those that can be asked about."""
    said = workspace.collection().sides()[: len(inputs.degree)]
    codes = np.array([SIDES_KEPT.index(side or NO_SIDE) for side in said], np.int8)
    return codes, [SIDES_KEPT[code] for code in np.unique(codes[~np.isnan(inputs.degree)])]


def _digest(codes: NDArray[np.int8]) -> str:
    return hashlib.sha256(codes.tobytes()).hexdigest()[:32]


def items_alone(workspace: Workspace) -> Inputs:
    """What a campaign that needs no vectors works on: how many items there are, and which of them could be read."""
    collection = workspace.collection()
    degree = np.zeros(collection.items)
    degree[list(collection.problems())] = np.nan
    names = hashlib.sha256("\n".join(collection.ids).encode() + degree.tobytes()).hexdigest()
    return Inputs(np.empty((collection.items, 0), np.float32), degree, None, {"items": names[:32]})


def unit_vectors(workspace: Workspace) -> NDArray[np.float32]:
    """Return the embeddings prepared for cosine similarity; needs no neighbours."""
    return row_cache(
        workspace.array(EMBEDDINGS), workspace.cache_folder(), "prepared-cosine", lambda rows: prepare(rows, "cosine")
    )

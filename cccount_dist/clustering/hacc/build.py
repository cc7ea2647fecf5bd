"""From a collection's vectors and neighbours to the sampler: exact up to MOST_UNITS items, through micro-clusters beyond.

Time O(n² d) and 40 n² bytes for the exact way; the condensed way takes O(n k log n) and 40 m² bytes for m units.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.condense import condense
from cccount_dist.clustering.hacc.consensus import RUNS, many_runs
from cccount_dist.clustering.hacc.knowledge import Knowledge
from cccount_dist.clustering.hacc.present import PresentItems
from cccount_dist.clustering.hacc.problem import MOST_UNITS, central_items, condensed, plain
from cccount_dist.clustering.hacc.sampler import ActiveHacc
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError

UNITS = 2_000  # micro-clusters that a larger collection is condensed to: about half a second for a question
_PARAMETERS = ("runs", "units", "effects")


def hacc(inputs: GroupingInputs) -> Sampler[Grouping]:
    """Return a new Active-HACC sampler.

    Parameters (`inputs.parameters`)
    --------------------------------
    runs : k-means runs behind the probabilities
    units : condense the items to so many micro-clusters; 0 means none up to 5,000 items and 2,000 above
    effects : `exact`, or `local` for the paper's approximation H2
    """
    effects = inputs.parameters.get("effects", "exact")
    if effects not in ("exact", "local"):
        raise InputError(f"effects is {effects!r}: use exact or local")
    present = np.flatnonzero(inputs.neighbors[:, 0] >= 0)
    return PresentItems(ActiveHacc(knowledge_of(inputs, present), local=effects == "local"), present, len(inputs.neighbors))


def knowledge_of(inputs: GroupingInputs, present: NDArray[np.int64]) -> Knowledge:
    """Return what is known at the start about the items that have a vector, numbered as in `present`."""
    if unknown := sorted(set(inputs.parameters) - set(_PARAMETERS)):
        raise InputError(f"hacc has no parameter {unknown[0]!r}: it takes {', '.join(_PARAMETERS)}")
    if inputs.clusters is None:
        raise InputError("hacc needs the number of clusters: give --clusters K, for example the estimate of `cccount count`")
    if not 1 <= inputs.clusters <= max(len(present), 1):
        raise InputError(f"clusters is {inputs.clusters}, but {len(present):,} items have a vector: use 1 to {len(present)}")
    runs, units = _number(inputs, "runs", RUNS), _number(inputs, "units", 0)
    vectors = inputs.vectors[present] if len(present) < len(inputs.vectors) else inputs.vectors
    if units == 0 and len(present) <= MOST_UNITS:
        return Knowledge(plain(vectors, many_runs(vectors, inputs.clusters, inputs.seed, runs)), inputs.clusters)
    number = np.full(len(inputs.neighbors), -1, np.int32)
    number[present] = np.arange(len(present), dtype=np.int32)
    neighbors = np.where(inputs.neighbors[present] >= 0, number[inputs.neighbors[present]], -1)
    micro = condense(neighbors, inputs.similarity[present], max(units or UNITS, inputs.clusters))
    of_item = np.unique(micro.units(), return_inverse=True)[1].astype(np.int32)
    size = np.bincount(of_item).astype(np.int64)
    central = central_items(vectors, of_item, len(size))
    labels = many_runs(np.asarray(vectors[central]), inputs.clusters, inputs.seed, runs, size)
    rebuild = partial(condensed, vectors, micro, labels)
    return Knowledge(rebuild(()), inputs.clusters, micro, rebuild)


def _number(inputs: GroupingInputs, name: str, default: int) -> int:
    value = inputs.parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{name} is {value!r}: it must be a whole number, 0 or more")
    return value

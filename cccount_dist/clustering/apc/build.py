"""From a collection's vectors and neighbours to the `apc` sampler: pseudo classes, the map, the first clusters (FPC)."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.fpc import fpc
from cccount_dist.clustering.apc.parameters import parameters_from
from cccount_dist.clustering.apc.probability import fit_map, fit_pairs
from cccount_dist.clustering.apc.pseudo import pseudo_classes
from cccount_dist.clustering.apc.sampler import ApcSampler
from cccount_dist.clustering.apc.steps import Ground
from cccount_dist.clustering.distance import padded
from cccount_dist.clustering.hacc.present import PresentItems
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.types import Sampler


def apc(inputs: GroupingInputs) -> Sampler[Grouping]:
    """Return a new sampler. Parameters: `ApcParameters`."""
    parameters = parameters_from(inputs.parameters)
    present = np.flatnonzero(inputs.neighbors[:, 0] >= 0)
    vectors, neighbors = _present(inputs, present)
    classes = pseudo_classes(vectors, neighbors, parameters.pseudo_classes, inputs.seed)
    sample = fit_pairs(vectors, neighbors, inputs.seed)
    pairs = fit_map(sample.squared, classes[sample.first] == classes[sample.second])
    start = fpc(vectors, neighbors, pairs)
    ground = Ground(vectors, neighbors, pairs, parameters, inputs.seed, sample, classes)
    return PresentItems(ApcSampler(ground, start), present, len(inputs.neighbors))


def _present(inputs: GroupingInputs, present: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """The vectors and neighbour lists of the items that have a vector, numbered among themselves."""
    number = np.full(len(inputs.neighbors) + 1, -1, np.int32)  # the last entry is that of -1
    number[present] = np.arange(len(present), dtype=np.int32)
    return padded(inputs.vectors[present]), np.ascontiguousarray(number[inputs.neighbors[present]])

"""From a collection's vectors and neighbours to the `apc` sampler: pseudo classes, the map, the first clusters (FPC)."""

import numpy as np

from cccount_dist.clustering.apc.apc_sampler import ApcSampler
from cccount_dist.clustering.apc.fpc import fpc
from cccount_dist.clustering.apc.parameters import ApcParameters
from cccount_dist.clustering.apc.printed import PrintedApc
from cccount_dist.clustering.apc.probability import fit_map, fit_pairs, pseudo_classes
from cccount_dist.clustering.apc.steps import Ground
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.present import PresentItems, PresentRows
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.programs import ProgramSampler
from cccount_dist.sampling.types import Sampler


def apc(inputs: GroupingInputs, parameters: ApcParameters) -> Sampler[Grouping]:
    """Return a new sampler."""
    present = np.flatnonzero(inputs.neighbors[:, 0] >= 0)
    rows = PresentRows(inputs.vectors, inputs.neighbors, present)
    if parameters.form == "printed":
        return PresentItems(ProgramSampler(PrintedApc(rows, parameters, inputs.seed)), present, len(inputs.neighbors))
    vectors, neighbors = rows.vectors, rows.neighbors
    classes = pseudo_classes(vectors, neighbors, parameters.pseudo_classes, inputs.seed)
    sample = fit_pairs(vectors, neighbors, inputs.seed)
    pairs = fit_map(sample.squared, sample.same(classes))
    start = fpc(vectors, neighbors, pairs)
    ground = Ground(rows, pairs, parameters, inputs.seed, sample, classes)
    return PresentItems(ApcSampler(ground, start), present, len(inputs.neighbors))

"""Makes the samplers of the NIS paper and those that it is compared with from what a user may set.

Parameters of the nested samplers: `ratio` (M = ratio · N), and for the two with a similarity `similarity` (metric, soft,
softmax), `tau` (softmax), `clusters` (soft; 0: at the elbow), `sigma` (soft; 0: the mean distance to the nearest centre).
"""

from typing import TYPE_CHECKING

import numpy as np

from cccount_dist.counting.parameters import Parameters
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.schedule import RATIO
from cccount_dist.counting.similarities import (
    SIMILARITIES,
    Similarity,
    metric_similarity,
    soft_similarity,
    softmax_similarity,
)
from cccount_dist.sampling.types import Sampler

if TYPE_CHECKING:
    from cccount_dist.counting.methods import CountingInputs


def build_nis(inputs: "CountingInputs") -> Sampler[CountResult]:
    from cccount_dist.counting.nis import nis

    given = Parameters("nis", inputs.parameters)
    ratio = given.whole("ratio", RATIO, least=1)
    similarity = _similarity(inputs, given, default="metric")
    return nis(inputs.vectors, inputs.degree, seed=inputs.seed, level=inputs.level, similarity=similarity, ratio=ratio)


def build_nested_mc(inputs: "CountingInputs") -> Sampler[CountResult]:
    from cccount_dist.counting.nested_mc import nested_mc

    given = Parameters("nested-mc", inputs.parameters)
    ratio = given.whole("ratio", RATIO, least=1)
    given.finish()
    return nested_mc(inputs.degree, seed=inputs.seed, level=inputs.level, ratio=ratio)


def build_nis_released(inputs: "CountingInputs") -> Sampler[CountResult]:
    from cccount_dist.counting.released import RELEASED_RATIO, ReleasedProposal, ReleasedSampler

    given = Parameters("nis-released", inputs.parameters)
    ratio = given.whole("ratio", RELEASED_RATIO, least=1)
    similarity = _similarity(inputs, given, default="softmax")
    return ReleasedSampler(ReleasedProposal(similarity), seed=inputs.seed, level=inputs.level, ratio=ratio)


def build_nested_mc_released(inputs: "CountingInputs") -> Sampler[CountResult]:
    from cccount_dist.counting.released import RELEASED_RATIO, ReleasedSampler, ReleasedUniform

    given = Parameters("nested-mc-released", inputs.parameters)
    ratio = given.whole("ratio", RELEASED_RATIO, least=1)
    given.finish()
    return ReleasedSampler(ReleasedUniform(inputs.degree), seed=inputs.seed, level=inputs.level, ratio=ratio)


def build_inverse(inputs: "CountingInputs") -> Sampler[CountResult]:
    """Parameters: `replicates`, fixed in advance, and `alpha` of the weights (1 + degree)^-alpha."""
    from cccount_dist.counting.inverse import MOST_REPLICATES, inverse

    given = Parameters("inverse", inputs.parameters)
    replicates = given.whole("replicates", MOST_REPLICATES, least=1)
    alpha = given.number("alpha", 0.0)
    given.finish()
    return inverse(inputs.degree, seed=inputs.seed, level=inputs.level, alpha=alpha, replicates=replicates)


def build_pckmeans_random(inputs: "CountingInputs") -> Sampler[CountResult]:
    """Parameters: `alpha` and `beta`, the weights of must-links and cannot-links."""
    from cccount_dist.counting.pair_choosers import RandomPairs
    from cccount_dist.counting.pck_sampler import PCKMeansSampler

    given = Parameters("pckmeans-random", inputs.parameters)
    alpha, beta = given.number("alpha", 1.0), given.number("beta", 1.0)
    given.finish()
    chooser = RandomPairs(int(np.count_nonzero(~np.isnan(inputs.degree))), inputs.seed)
    return PCKMeansSampler(inputs.vectors, inputs.degree, chooser, seed=inputs.seed, level=inputs.level, alpha=alpha, beta=beta)


def build_pckmeans_explore(inputs: "CountingInputs") -> Sampler[CountResult]:
    """Parameters: `alpha`, `beta`, and `clusters`: how many are known to be there (0: not known)."""
    from cccount_dist.counting.pair_choosers import ExplorePairs
    from cccount_dist.counting.pck_sampler import PCKMeansSampler

    given = Parameters("pckmeans-explore", inputs.parameters)
    alpha, beta = given.number("alpha", 1.0), given.number("beta", 1.0)
    clusters = given.whole("clusters", 0)
    given.finish()
    counted = ~np.isnan(inputs.degree)
    vectors = inputs.vectors if counted.all() else inputs.vectors[counted]
    chooser = ExplorePairs(vectors, inputs.seed, clusters=clusters or None)
    return PCKMeansSampler(inputs.vectors, inputs.degree, chooser, seed=inputs.seed, level=inputs.level, alpha=alpha, beta=beta)


def _similarity(inputs: "CountingInputs", given: Parameters, *, default: str) -> Similarity:
    name = given.choice("similarity", default, SIMILARITIES)
    tau = given.number("tau", 0.5) if name == "softmax" else 0.0
    clusters = given.whole("clusters", 0) if name == "soft" else 0
    sigma = given.number("sigma", 0.0) if name == "soft" else 0.0
    given.finish()
    if name == "softmax":
        return softmax_similarity(inputs.vectors, inputs.degree, tau=tau, mean_square=inputs.mean_square)
    if name == "soft":
        return soft_similarity(inputs.vectors, seed=inputs.seed, clusters=clusters or None, sigma=sigma or None)
    return metric_similarity(inputs.vectors, inputs.degree, inputs.mean_square)

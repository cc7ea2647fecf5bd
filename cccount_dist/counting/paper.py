"""Makes the samplers of the NIS paper and those that it is compared with from what a user may set.

Parameters of the nested samplers: `ratio` (M = ratio · N), and for the two with a similarity `similarity` (metric, soft,
softmax), `tau` (softmax), `clusters` (soft; 0: at the elbow), `sigma` (soft; 0: the mean distance to the nearest centre).
"""

from typing import TYPE_CHECKING

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


def _similarity(inputs: "CountingInputs", given: Parameters, *, default: str) -> Similarity:
    name = given.choice("similarity", default, SIMILARITIES)
    tau = given.number("tau", 0.5) if name == "softmax" else 0.0
    clusters = given.whole("clusters", 0) if name == "soft" else 0
    sigma = given.number("sigma", 0.0) if name == "soft" else 0.0
    given.finish()
    if name == "softmax":
        return softmax_similarity(inputs.vectors, inputs.degree, tau=tau)
    if name == "soft":
        return soft_similarity(inputs.vectors, seed=inputs.seed, clusters=clusters or None, sigma=sigma or None)
    return metric_similarity(inputs.vectors, inputs.degree)

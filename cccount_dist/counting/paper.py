"""Makes the samplers of the NIS paper and those that it is compared with from what a user may set.

What may be set is read, and refused, apart from making the sampler: a campaign must not be frozen with what it cannot run with.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cccount_dist.counting.inverse import MOST_REPLICATES, inverse
from cccount_dist.counting.nested_mc import nested_mc
from cccount_dist.counting.nis import nis
from cccount_dist.counting.pair_choosers import ExplorePairs, RandomPairs
from cccount_dist.counting.parameters import Parameters
from cccount_dist.counting.pck_sampler import PCKMeansSampler
from cccount_dist.counting.released import RELEASED_RATIO, ReleasedProposal, ReleasedSampler, ReleasedUniform
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.schedule import RATIO
from cccount_dist.counting.similarities import (
    SIMILARITIES,
    SMALLEST_TAU,
    Similarity,
    metric_similarity,
    soft_similarity,
    softmax_similarity,
)
from cccount_dist.sampling.types import Sampler
from storage.settings import Scalar

if TYPE_CHECKING:
    from cccount_dist.counting.methods import CountingInputs


class Nested(NamedTuple):
    """Of the nested samplers: M = ratio · N; those with a similarity have one of three, with its own parameters."""

    ratio: int
    similarity: str
    tau: float  # of softmax
    clusters: int  # of soft; 0: at the elbow
    sigma: float  # of soft; 0: the mean distance to the nearest centre


class Inverse(NamedTuple):
    replicates: int  # fixed in advance
    alpha: float  # of the weights (1 + degree)^-alpha


class PCKMeans(NamedTuple):
    """Weights of must-links and cannot-links, and how many clusters are known to be there (0: not known)."""

    alpha: float
    beta: float
    clusters: int


def read_nested(method: str, parameters: Mapping[str, Scalar]) -> Nested:
    released, proposes = method.endswith("-released"), method.startswith("nis")
    given = Parameters(method, parameters)
    ratio = given.whole("ratio", RELEASED_RATIO if released else RATIO, least=1)
    name = given.choice("similarity", "softmax" if released else "metric", SIMILARITIES) if proposes else "none"
    read = Nested(
        ratio,
        name,
        given.number("tau", 0.5, least=SMALLEST_TAU) if name == "softmax" else 0.0,
        given.whole("clusters", 0) if name == "soft" else 0,
        given.number("sigma", 0.0, least=0.0) if name == "soft" else 0.0,
    )
    given.finish()
    return read


def read_inverse(method: str, parameters: Mapping[str, Scalar]) -> Inverse:
    given = Parameters(method, parameters)
    read = Inverse(given.whole("replicates", MOST_REPLICATES, least=1), given.number("alpha", 0.0, least=0.0, most=2.0))
    given.finish()
    return read


def read_pckmeans(method: str, parameters: Mapping[str, Scalar]) -> PCKMeans:
    given = Parameters(method, parameters)
    explores = method == "pckmeans-explore"
    read = PCKMeans(
        given.number("alpha", 1.0, least=0.0),
        given.number("beta", 1.0, least=0.0),
        given.whole("clusters", 0) if explores else 0,
    )
    given.finish()
    return read


def build_nis(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_nested("nis", inputs.parameters)
    similarity = _similarity(inputs, read)
    return nis(inputs.vectors, inputs.degree, seed=inputs.seed, level=inputs.level, similarity=similarity, ratio=read.ratio)


def build_nested_mc(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_nested("nested-mc", inputs.parameters)
    return nested_mc(inputs.degree, seed=inputs.seed, level=inputs.level, ratio=read.ratio)


def build_nis_released(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_nested("nis-released", inputs.parameters)
    proposal = ReleasedProposal(_similarity(inputs, read))
    return ReleasedSampler(proposal, seed=inputs.seed, level=inputs.level, ratio=read.ratio)


def build_nested_mc_released(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_nested("nested-mc-released", inputs.parameters)
    return ReleasedSampler(ReleasedUniform(inputs.degree), seed=inputs.seed, level=inputs.level, ratio=read.ratio)


def build_inverse(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_inverse("inverse", inputs.parameters)
    return inverse(inputs.degree, seed=inputs.seed, level=inputs.level, alpha=read.alpha, replicates=read.replicates)


def build_pckmeans_random(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_pckmeans("pckmeans-random", inputs.parameters)
    return _pckmeans(inputs, RandomPairs(int(np.count_nonzero(~np.isnan(inputs.degree))), inputs.seed), read)


def build_pckmeans_explore(inputs: "CountingInputs") -> Sampler[CountResult]:
    read = read_pckmeans("pckmeans-explore", inputs.parameters)
    counted = ~np.isnan(inputs.degree)
    vectors = inputs.vectors if counted.all() else inputs.vectors[counted]
    return _pckmeans(inputs, ExplorePairs(vectors, inputs.seed, clusters=read.clusters or None), read)


def _pckmeans(inputs: "CountingInputs", chooser: RandomPairs | ExplorePairs, read: PCKMeans) -> PCKMeansSampler:
    return PCKMeansSampler(
        inputs.vectors, inputs.degree, chooser, seed=inputs.seed, level=inputs.level, alpha=read.alpha, beta=read.beta
    )


def _similarity(inputs: "CountingInputs", read: Nested) -> Similarity:
    if read.similarity == "softmax":
        return softmax_similarity(inputs.vectors, inputs.degree, tau=read.tau, mean_square=inputs.mean_square)
    if read.similarity == "soft":
        return soft_similarity(inputs.vectors, seed=inputs.seed, clusters=read.clusters or None, sigma=read.sigma or None)
    return metric_similarity(inputs.vectors, inputs.degree, inputs.mean_square)


READERS: dict[str, Callable[[str, Mapping[str, Scalar]], object]] = {
    "nis": read_nested,
    "nested-mc": read_nested,
    "nis-released": read_nested,
    "nested-mc-released": read_nested,
    "inverse": read_inverse,
    "pckmeans-random": read_pckmeans,
    "pckmeans-explore": read_pckmeans,
}
BUILDERS: dict[str, Callable[["CountingInputs"], Sampler[CountResult]]] = {
    "nis": build_nis,
    "nested-mc": build_nested_mc,
    "nis-released": build_nis_released,
    "nested-mc-released": build_nested_mc_released,
    "inverse": build_inverse,
    "pckmeans-random": build_pckmeans_random,
    "pckmeans-explore": build_pckmeans_explore,
}

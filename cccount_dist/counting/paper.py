"""Makes the samplers of the NIS paper and those that it is compared with from what a user may set (`parameters.py`)."""

import numpy as np

from cccount_dist.counting.inverse import inverse
from cccount_dist.counting.methods import CountingInputs
from cccount_dist.counting.nested_mc import nested_mc
from cccount_dist.counting.nis import nis
from cccount_dist.counting.pair_choosers import ExplorePairs, RandomPairs
from cccount_dist.counting.parameters import (
    ExploreParameters,
    InverseParameters,
    NestedParameters,
    NisParameters,
    PCKMeansParameters,
    ReleasedNestedParameters,
    ReleasedNisParameters,
)
from cccount_dist.counting.pck_sampler import PCKMeansSampler
from cccount_dist.counting.released import ReleasedProposal, ReleasedSampler, ReleasedUniform
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.similarities import Similarity, metric_similarity, soft_similarity, softmax_similarity
from cccount_dist.sampling.types import Sampler


def build_nis(inputs: CountingInputs, given: NisParameters) -> Sampler[CountResult]:
    similarity = _similarity(inputs, given)
    return nis(
        inputs.vectors, inputs.degree, seed=inputs.seed, level=inputs.level, similarity=similarity, ratio=given.ratio,
        alpha=given.alpha, uniform=given.uniform,
    )  # fmt: skip


def build_nested_mc(inputs: CountingInputs, given: NestedParameters) -> Sampler[CountResult]:
    return nested_mc(inputs.degree, seed=inputs.seed, level=inputs.level, ratio=given.ratio, alpha=given.alpha)


def build_nis_released(inputs: CountingInputs, given: ReleasedNisParameters) -> Sampler[CountResult]:
    proposal = ReleasedProposal(_similarity(inputs, given))
    return ReleasedSampler(proposal, seed=inputs.seed, level=inputs.level, ratio=given.ratio)


def build_nested_mc_released(inputs: CountingInputs, given: ReleasedNestedParameters) -> Sampler[CountResult]:
    return ReleasedSampler(ReleasedUniform(inputs.degree), seed=inputs.seed, level=inputs.level, ratio=given.ratio)


def build_inverse(inputs: CountingInputs, given: InverseParameters) -> Sampler[CountResult]:
    return inverse(inputs.degree, seed=inputs.seed, level=inputs.level, alpha=given.alpha, replicates=given.replicates)


def build_pckmeans_random(inputs: CountingInputs, given: PCKMeansParameters) -> Sampler[CountResult]:
    return _pckmeans(inputs, RandomPairs(int(np.count_nonzero(~np.isnan(inputs.degree))), inputs.seed), given)


def build_pckmeans_explore(inputs: CountingInputs, given: ExploreParameters) -> Sampler[CountResult]:
    counted = ~np.isnan(inputs.degree)
    vectors = inputs.vectors if counted.all() else inputs.vectors[counted]
    return _pckmeans(inputs, ExplorePairs(vectors, inputs.seed, clusters=given.clusters or None), given)


def _pckmeans(inputs: CountingInputs, chooser: RandomPairs | ExplorePairs, given: PCKMeansParameters) -> PCKMeansSampler:
    return PCKMeansSampler(
        inputs.vectors, inputs.degree, chooser, seed=inputs.seed, level=inputs.level, alpha=given.alpha, beta=given.beta
    )


def _similarity(inputs: CountingInputs, given: NisParameters | ReleasedNisParameters) -> Similarity:
    if given.similarity == "softmax":
        return softmax_similarity(inputs.vectors, inputs.degree, tau=given.tau, mean_square=inputs.mean_square)
    if given.similarity == "soft":
        return soft_similarity(
            inputs.vectors,
            seed=inputs.seed,
            clusters=given.clusters or None,
            sigma=given.sigma or None,
            length=given.length or None,
        )
    return metric_similarity(inputs.vectors, inputs.degree, inputs.mean_square)

"""From a collection to the sampler that asks for ratings. Nothing but the number of items is needed; vectors may give a prior."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.present import PresentItems
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.spectral.parameters import SpectralParameters, check_items, read_pairs
from cccount_dist.clustering.spectral.spectral_sampler import Prior, Rule, SpectralSampler, Way
from cccount_dist.sampling.types import Sampler


def spectral(inputs: GroupingInputs, told: SpectralParameters, rule: Rule, *, interleaved: bool) -> Sampler[Grouping]:
    """Return a new sampler."""
    present = inputs.present
    clusters = 2 if inputs.clusters is None else inputs.clusters
    check_items(rule, clusters, len(present))
    sampler = SpectralSampler(
        len(present),
        clusters,
        rule=rule,
        interleaved=interleaved,
        seed=inputs.seed,
        floor=told.floor,
        repeats=told.repeats,
        prior=prior_of(inputs, present, told.prior) if told.prior > 0.0 else None,
        missing=told.missing,
        way=Way(told.begin, told.estimate, told.repeating, told.open),
        unavailable=unavailable_pairs(present, told.unavailable),
    )
    return PresentItems(sampler, present, len(inputs.vectors))


def unavailable_pairs(present: NDArray[np.int64], text: str) -> tuple[tuple[int, int], ...]:
    """Return the pairs that cannot be measured, numbered as in `present`; those of items that are not there are left out."""
    number = {int(item): place for place, item in enumerate(present)}
    return tuple((number[u], number[v]) for u, v in read_pairs(text) if u in number and v in number)


def prior_of(inputs: GroupingInputs, present: NDArray[np.int64], weight: float) -> Prior:
    """Return the similarities of nearest neighbours, each pair once, times the weight; items are numbered as in `present`."""
    number = np.full(len(inputs.vectors), -1, np.int64)
    number[present] = np.arange(len(present))
    first = np.repeat(np.arange(len(present)), inputs.neighbors.shape[1])
    neighbors = inputs.neighbors[present].ravel()
    second = np.where(neighbors >= 0, number[neighbors], -1)
    similarity = inputs.similarity[present].ravel().astype(np.float64)
    kept = (second >= 0) & (similarity > 0.0)
    pairs = np.stack([np.minimum(first, second)[kept], np.maximum(first, second)[kept]])
    pairs, place = np.unique(pairs, axis=1, return_index=True)
    return Prior(pairs[0], pairs[1], weight * np.minimum(similarity[kept][place], 1.0))

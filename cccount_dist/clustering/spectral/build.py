"""From a collection to the sampler that asks for ratings. Nothing but the number of items is needed; vectors may give a prior."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.present import PresentItems
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.spectral.sampler import Prior, Rule, SpectralSampler
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError

MOST_S_AND_T = 2_000  # items: S&T takes O(n³) time for a question, about a second there
_DEFAULTS: dict[str, float] = {"floor": 0.01, "repeats": 3, "prior": 0.0}
_NAMES = (*_DEFAULTS, "missing")


def spectral(inputs: GroupingInputs, rule: Rule, *, interleaved: bool) -> Sampler[Grouping]:
    """Return a new sampler.

    Parameters (`inputs.parameters`)
    --------------------------------
    repeats : how often a pair may be rated
    prior : similarities of the nearest neighbours, times this, are weights until the pair is rated; 0: none
    floor : the weight of "different"
    missing : what the result takes a pair for that was not rated: `either` 0 or the mean, whichever explains more, or `zero`
    """
    if unknown := sorted(set(inputs.parameters) - set(_NAMES)):
        raise InputError(f"methods that ask for ratings have no parameter {unknown[0]!r}: they take {', '.join(_NAMES)}")
    present = inputs.present
    clusters = 2 if inputs.clusters is None else inputs.clusters
    if not 1 <= clusters <= max(len(present), 1):
        raise InputError(f"clusters is {clusters}, but there are {len(present):,} items: use 1 to {len(present)}")
    if rule == "s-and-t" and clusters > 2:
        raise InputError(f"s-and-t makes two groups, not {clusters}: use iu-red for more")
    if rule == "s-and-t" and len(present) > MOST_S_AND_T:
        raise InputError(f"s-and-t works up to {MOST_S_AND_T:,} items, and there are {len(present):,}: use iu-red")
    floor, repeats, prior = (_number(inputs, name) for name in _DEFAULTS)
    if not 0.0 < floor < 1.0:
        raise InputError(f"floor is {floor}: it must lie between 0 and 1")
    if repeats < 1 or repeats != int(repeats):
        raise InputError(f"repeats is {repeats:g}: it must be a whole number, 1 or more")
    if not 0.0 <= prior <= 1.0:
        raise InputError(f"prior is {prior:g}: it must lie between 0 (none) and 1")
    missing = inputs.parameters.get("missing", "either")
    if missing not in ("either", "zero"):
        raise InputError(f"missing is {missing!r}: use either or zero")
    sampler = SpectralSampler(
        len(present),
        clusters,
        rule=rule,
        interleaved=interleaved,
        seed=inputs.seed,
        floor=floor,
        repeats=int(repeats),
        prior=prior_of(inputs, present, prior) if prior > 0.0 else None,
        missing="zero" if missing == "zero" else "either",
    )
    return PresentItems(sampler, present, len(inputs.vectors))


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


def _number(inputs: GroupingInputs, name: str) -> float:
    value = inputs.parameters.get(name, _DEFAULTS[name])
    if isinstance(value, bool | str):
        raise InputError(f"{name} is {value!r}: it must be a number")
    return float(value)

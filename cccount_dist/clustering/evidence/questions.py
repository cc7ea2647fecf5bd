"""Steps 5 and 6: what it is worth to ask about a pair of blocks or about a past merge, and the threshold θ that follows.

Value = entropy drop of the merge × probability that the present decision is wrong. Merging at P(same) > F/2 maximises the pair F
score (close to ARI); F itself is estimated from the same probabilities. O(pairs + merges).
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.model import CLIP, Model
from cccount_dist.clustering.evidence.partition import Floats, Partition

LEAST_F = 0.2
SETTLED = 50  # rounds in which the expected F score and what it says about unseen pairs come to agree
STRAY = 0.1  # chance that a block is a part of another one whatever the model says; halved by each "different" that it got


@dataclass(frozen=True, slots=True)
class Worth:
    """What every question is worth, and how good the partition probably is."""

    pair: Floats  # (P,) value of asking about two blocks
    same: Floats  # (P,) P(same) of two blocks
    merge: Floats  # (t,) value of asking about the two halves of a merge
    held: Floats  # (t,) P(same) of the two halves
    quality: float  # expected F score over pairs of items
    theta: float  # log-odds from which two blocks are merged


@njit(**OPTIONS)
def _score(features, evidence, size_a, size_b, own_a, own_b, weight, covariance, items):
    """Return for pairs of item sets P(same) and the entropy drop of merging them; `own` is size · log(size)."""
    same = np.empty(len(evidence))
    drop = np.empty(len(evidence))
    for p in range(len(evidence)):
        z, variance = 0.0, 0.0
        for i in range(4):
            z += weight[i] * features[p, i]
            for j in range(4):
                variance += features[p, i] * covariance[i, j] * features[p, j]
        z = max(-CLIP, min(CLIP, z / np.sqrt(1.0 + np.pi / 8.0 * variance))) + evidence[p]
        same[p] = 1.0 / (1.0 + np.exp(-max(-30.0, min(30.0, z))))
        both = size_a[p] + size_b[p]
        drop[p] = (both * np.log(both) - own_a[p] - own_b[p]) / items
    return same, drop


@njit(**OPTIONS)
def _strays(first, second, same, evidence, blocks, stray):
    """Raise P(same) of the likeliest partner that a block was not asked about: what looks like nothing else is found, too."""
    best = np.full(blocks, -1, np.int64)
    refused = np.zeros(blocks)
    for p in range(len(first)):
        for x in (first[p], second[p]):
            if evidence[p] == 0.0 and (best[x] < 0 or same[p] > same[best[x]]):
                best[x] = p
            refused[x] += evidence[p] < 0.0
    out = same.copy()
    for x in range(blocks):
        if best[x] >= 0:
            out[best[x]] = max(out[best[x]], stray * 0.5 ** refused[x])
    return out


@njit(**OPTIONS)
def _expected_classes(first, second, same, size):
    """Return Σ over blocks of the chance that a block belongs to none of the larger ones that it may belong to."""
    alone = np.zeros(len(size))
    for p in range(len(first)):
        a, b = first[p], second[p]
        smaller = a if size[a] < size[b] or (size[a] == size[b] and a > b) else b
        alone[smaller] += np.log1p(-min(same[p], 1.0 - 1e-9))
    return np.exp(alone).sum()


def expected_classes(partition: Partition, worth: Worth) -> float:
    """Return the expected number of blocks that are no part of a larger one: what the partition says as a count."""
    return float(_expected_classes(partition.pairs.first, partition.pairs.second, worth.same, partition.size))


def worth(micro: Micro, partition: Partition, model: Model, theta: float) -> Worth:
    """Return the value of every question under the present threshold, and the threshold for the next partition."""
    pairs, merges = partition.pairs, partition.merges
    items = float(micro.size.sum())
    size_a, size_b = partition.size[pairs.first], partition.size[pairs.second]
    own = partition.size * np.log(partition.size)
    taught = model.weight, model.covariance, items
    same, drop = _score(pairs.features, pairs.evidence, size_a, size_b, own[pairs.first], own[pairs.second], *taught)
    missed = float((size_a * size_b * same).sum())
    asked = _strays(pairs.first, pairs.second, same, pairs.evidence, partition.blocks, STRAY)
    left, right = merges.left_size, merges.right_size
    held, inner_drop = _score(merges.features, merges.evidence, left, right, left * np.log(left), right * np.log(right), *taught)
    inside = float((micro.size * (micro.size - 1) / 2).sum())
    products = left * right
    found = inside + float((products * held).sum())
    claimed = inside + float(products.sum())
    quality = 2 * found / max(claimed + found + missed, 1e-12)
    # Pairs that are no candidates were never looked at: among them, too, the partition misses what it gets wrong here.
    every = items * (items - 1) / 2
    unseen = max(every - claimed - float((size_a * size_b).sum()), 0.0) * claimed / max(every, 1.0)
    for _ in range(SETTLED):
        quality = 2 * found / max(claimed + found + missed + unseen * max(1.0 - quality, 0.0), 1e-12)
    level = 1.0 / (1.0 + np.exp(-theta))
    half = min(max(quality, LEAST_F), 1.0) / 2
    return Worth(
        drop * asked * (1 - level) * 2,
        same,
        inner_drop * (1 - held) * level * 2,
        held,
        quality,
        float(np.log(half / (1 - half))),
    )


def best_first(values: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Return where the `count` largest values are, largest first; equal ones in their order."""
    if len(values) > count:
        level = np.partition(values, len(values) - count)[len(values) - count]
        chosen = np.flatnonzero(values >= level)
    else:
        chosen = np.arange(len(values))
    return chosen[np.argsort(-values[chosen], kind="stable")][:count]

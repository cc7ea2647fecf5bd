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
from cccount_dist.clustering.evidence.logistic import CLIP, FEATURES, Model
from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Floats, Partition

LEAST_F = 0.3  # whatever is expected: first answers say little about it, and a low threshold makes one block of many classes
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
def _likely(features, evidence, weight, doubt):
    """Return P(same) of two item sets: the model's log-odds, shrunk by its own doubt and clipped, plus the evidence.

    Written out, as the first feature is 1: this is where most of the time of a question went. `doubt` has the variances of the
    weights, and the covariances twice, in rows of 4.
    """
    f1, f2, f3 = features[1], features[2], features[3]
    z = weight[0] + weight[1] * f1 + weight[2] * f2 + weight[3] * f3
    variance = (
        doubt[0]
        + f1 * (doubt[1] + doubt[5] * f1 + doubt[6] * f2 + doubt[7] * f3)
        + f2 * (doubt[2] + doubt[10] * f2 + doubt[11] * f3)
        + f3 * (doubt[3] + doubt[15] * f3)
    )
    z = max(-CLIP, min(CLIP, z / np.sqrt(1.0 + np.pi / 8.0 * variance))) + evidence
    return 1.0 / (1.0 + np.exp(-max(-30.0, min(30.0, z))))


@njit(**OPTIONS)
def _score_pairs(first, second, size, features, evidence, weight, doubt):
    """Return for pairs of blocks P(same) and the entropy drop of merging them, and two sums over pairs of items: all of them,
    and how many are the same.
    """
    items = size.sum()
    own = size * np.log(size)
    # x log x of every size that a merge may have, where there are fewer of them than pairs: a look is quicker than a logarithm.
    sizes = int(2 * size.max()) + 1 if len(size) else 0
    listed = sizes < len(evidence)
    whole = np.zeros(sizes if listed else 0)
    for x in range(1, len(whole)):
        whole[x] = x * np.log(x)
    same, drop = np.empty(len(evidence)), np.empty(len(evidence))
    seen, missed = 0.0, 0.0
    for p in range(len(evidence)):
        a, b = first[p], second[p]
        same[p] = _likely(features[p], evidence[p], weight, doubt)
        both = size[a] + size[b]
        drop[p] = ((whole[int(both)] if listed else both * np.log(both)) - own[a] - own[b]) / items
        seen += size[a] * size[b]
        missed += size[a] * size[b] * same[p]
    return same, drop, seen, missed


@njit(**OPTIONS)
def _score_merges(joined, features, evidence, weight, doubt):
    """Return for merges P(same) of their halves, and two sums over pairs of items: all that they join, and how many are right."""
    same = np.empty(len(evidence))
    claimed, found = 0.0, 0.0
    for t in range(len(evidence)):
        same[t] = _likely(features[t], evidence[t], weight, doubt)
        claimed += joined[t]
        found += joined[t] * same[t]
    return same, claimed, found


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
    taught = model.weight, ((2.0 - np.eye(FEATURES)) * model.covariance).ravel()
    same, drop, seen, missed = _score_pairs(pairs.first, pairs.second, partition.size, pairs.features, pairs.evidence, *taught)
    asked = _strays(pairs.first, pairs.second, same, pairs.evidence, partition.blocks, STRAY)
    held, joined, right = _score_merges(merges.joined, merges.features, merges.evidence, *taught)
    inside = float((micro.size * (micro.size - 1) / 2).sum())
    found, claimed = inside + right, inside + joined
    quality = 2 * found / max(claimed + found + missed, 1e-12)
    # Pairs that are no candidates were never looked at: among them, too, the partition misses what it gets wrong here.
    every = items * (items - 1) / 2
    unseen = max(every - claimed - seen, 0.0) * claimed / max(every, 1.0)
    for _ in range(SETTLED):
        quality = 2 * found / max(claimed + found + missed + unseen * max(1.0 - quality, 0.0), 1e-12)
    level = 1.0 / (1.0 + np.exp(-theta))
    half = min(max(quality, LEAST_F), 1.0) / 2
    return Worth(
        drop * asked * (1 - level) * 2,
        same,
        merges.drop / items * (1 - held) * level * 2,
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

"""P(same) of two items by their distance and of two clusters by their items, and how the map from distance is learned.

The map is isotonic and falls; clusters follow equations (2) to (5) of the paper. Distances go into 4,096 bins, so a fit takes
O(pairs) time and constant memory; a look-up is one table entry. A pair of clusters takes at most 90,000 distances.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.distance import squared_distance
from cccount_dist.clustering.evidence.kernels import OPTIONS
from cccount_dist.clustering.evidence.logistic import prior
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.sampling.types import SAME

BINS = 4096
SURE = 1e-4  # no pair is surer than this
RANDOM_PAIRS, MOST_RANDOM = 10, 500_000  # for each item, and in all
MOST = 300  # items of a cluster that quadratic work looks at
_PAIRS = 2**20  # of a fit that are looked at at a time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Link = tuple[int, int, float]  # u, v, 1 or 0


@dataclass(frozen=True, slots=True)
class PairMap:
    """P(same) and its log-odds at the middle of each bin of squared distances."""

    low: float
    scale: float  # bins per unit of squared distance
    same: Floats  # (BINS,)
    odds: Floats  # (BINS,)

    def bins(self, squared: Floats) -> Ints:
        return np.clip((squared - self.low) * self.scale, 0, BINS - 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FitPairs:
    """The pairs that a map is fitted on: neighbours and random ones, with their squared distances."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    squared: NDArray[np.float32]  # as `distance.py` works them out

    def same(self, classes: Ints) -> NDArray[np.bool_]:
        """Return which pairs are of one class."""
        found = np.empty(len(self.first), np.bool_)
        for part in pair_blocks(len(found)):
            found[part] = classes[self.first[part]] == classes[self.second[part]]
        return found


def pair_blocks(pairs: int) -> Iterator[slice]:
    """Yield the places of some pairs after the other: what is worked out of tens of millions of them lies in memory in parts."""
    return (slice(start, start + _PAIRS) for start in range(0, pairs, _PAIRS))


def neighbor_pairs(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> FitPairs:
    """Return all neighbour pairs: what the printed map is fitted on."""
    listed = neighbors.ravel() >= 0
    first = np.repeat(np.arange(len(neighbors), dtype=np.int32), neighbors.shape[1])[listed]
    second = neighbors.ravel()[listed].astype(np.int32)
    return FitPairs(first, second, _squared(vectors, first, second))


def fit_pairs(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], seed: int) -> FitPairs:
    """Return all neighbour pairs and ten random pairs for each item, at most half a million of those.

    Fitted on neighbours alone, every larger distance would get the probability of the farthest neighbour.
    """
    items, k = neighbors.shape
    random = np.random.default_rng(seed)
    count = min(RANDOM_PAIRS * items, MOST_RANDOM)
    a, b = random.integers(items, size=count), random.integers(items, size=count)
    chance, near = int((a != b).sum()), items * k
    first, second = np.empty(near + chance, np.int32), np.empty(near + chance, np.int32)
    first[:near].reshape(items, k)[:] = np.arange(items, dtype=np.int32)[:, None]
    second[:near].reshape(items, k)[:] = neighbors
    first[near:], second[near:] = a[a != b], b[a != b]
    return FitPairs(first, second, _squared(vectors, first, second))


def _squared(vectors: NDArray[np.float32], first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the squared distances of pairs, which are numbers of four bytes before they are widened."""
    out = np.empty(len(first), np.float32)
    for part in pair_blocks(len(first)):
        out[part] = distances(vectors, first[part], second[part])
    return out


def fit_map(squared: Floats | NDArray[np.float32], same: NDArray[np.bool_]) -> PairMap:
    """Return the isotonic map of these pairs."""
    from sklearn.isotonic import isotonic_regression  # takes a second to load, and a replay from a snapshot fits nothing

    low, high = float(squared.min()), float(squared.max())
    scale = BINS / max(high - low, 1e-12)
    count, together = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    for part in pair_blocks(len(squared)):
        bins = np.minimum(((squared[part].astype(np.float64) - low) * scale).astype(np.int64), BINS - 1)
        count += np.bincount(bins, minlength=BINS)
        together += np.bincount(bins[same[part]], minlength=BINS)
    share = together / np.maximum(count, 1)
    used = np.flatnonzero(count)
    fitted = isotonic_regression(share[used], sample_weight=count[used], y_min=0.0, y_max=1.0, increasing=False)
    p = np.clip(np.interp(np.arange(BINS), used, fitted), SURE, 1.0 - SURE)
    return PairMap(low, scale, p, np.log(p / (1.0 - p)))


@njit(**OPTIONS)
def distances(vectors, first, second):
    """Return the squared distances of pairs of items."""
    out = np.empty(len(first))
    for p in range(len(first)):
        out[p] = squared_distance(vectors, first[p], second[p])
    return out


@njit(**OPTIONS)
def between(vectors, mine, others):
    """Return the squared distances (a, b) of two sets of items."""
    out = np.empty((len(mine), len(others)))
    for x in range(len(mine)):
        for y in range(len(others)):
            out[x, y] = squared_distance(vectors, mine[x], others[y])
    return out


@njit(**OPTIONS)
def bin_of(squared, low, scale, bins):
    """Return the bin of a squared distance."""
    at = (squared - low) * scale
    if at <= 0.0:
        return 0
    return min(int(at), bins - 1)


@njit(**OPTIONS)
def likeliest(vectors, neighbors, items, firm, label, same, low, scale, nearest, added, least):
    """Return for each item the label of highest P₊ with the nearest members among its firm neighbours, -1 if none is above
    `least`. Of equal ones the nearest wins."""
    out = np.full(len(items), -1, np.int64)
    count, total = np.zeros(neighbors.shape[1], np.int64), np.zeros(neighbors.shape[1])
    found = np.empty(neighbors.shape[1], np.int64)
    for at in range(len(items)):
        labels = 0
        for near in neighbors[items[at]]:
            if near < 0 or not firm[near]:
                continue
            which = 0
            while which < labels and found[which] != label[near]:
                which += 1
            if which == labels:
                found[which], count[which], total[which] = label[near], 0, 0.0
                labels += 1
            if count[which] < nearest:
                count[which] += 1
                total[which] += same[bin_of(squared_distance(vectors, items[at], near), low, scale, len(same))]
        best = least
        for which in range(labels):
            plus = (added + total[which]) / (2.0 * added + count[which])
            if plus > best:
                best, out[at] = plus, found[which]
    return out


def thinned(members: Ints) -> Ints:
    """Return at most 300 of the members, evenly spread: of a larger cluster every so-manieth is looked at."""
    return members if len(members) <= MOST else members[np.linspace(0, len(members) - 1, MOST).astype(np.int64)]


def merge_probability(
    kind: str,
    vectors: NDArray[np.float32],
    pairs: PairMap,
    clusters: tuple[Ints, Ints],
    wanted: tuple[Ints, Ints],
    central: Ints,
    nearest: int,
    added: float = 1.0,
) -> Floats:
    """Return the probability that each of the wanted pairs of clusters is one, with l = log p/(1-p):

        P  = σ(Σ l) over all pairs of items            P× = σ(Σ l) over each item's nearest members of the other cluster
        P₊ = (a + Σ p) / (2 a + count) over the same   P_c = p of the two central items

    The smaller cluster's items look for their nearest members in the larger one. Equation 4 as printed has a = 0; with a = 1,
    the default, P₊ has one pair of each kind added, as the authors' program has, and small clusters are not believed at once.

    Parameters
    ----------
    clusters : members of all clusters one after the other, each at most 300, and where each cluster begins
    wanted : first and second cluster of each pair
    central : central item of each cluster; only `centre` needs it
    """
    first, second = wanted
    if kind == "centre":
        return pairs.same[pairs.bins(distances(vectors, central[first], central[second]))]
    every, near, total, count = _sums(
        vectors, *clusters, first, second, pairs.low, pairs.scale, pairs.same, pairs.odds, nearest, kind == "all"
    )
    if kind == "plus":
        return np.asarray((added + total) / (2.0 * added + count))
    odds = every if kind == "all" else near
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))


@njit(**OPTIONS)
def _sums(vectors, members, start, first, second, low, scale, same, odds, nearest, all_pairs):
    """Return for each pair the sums of log-odds over all pairs and over the nearest ones, of p over those, and their count."""
    out = np.zeros((4, len(first)))
    close = np.empty(nearest)
    bins = len(odds)
    for p in range(len(first)):
        a, b = first[p], second[p]
        if start[a + 1] - start[a] > start[b + 1] - start[b]:
            a, b = b, a
        for x in range(start[a], start[a + 1]):
            held = 0
            for y in range(start[b], start[b + 1]):
                squared = squared_distance(vectors, members[x], members[y])
                if all_pairs:
                    out[0, p] += odds[bin_of(squared, low, scale, bins)]
                if held < nearest or squared < close[held - 1]:
                    at = min(held, nearest - 1)
                    while at > 0 and close[at - 1] > squared:
                        close[at] = close[at - 1]
                        at -= 1
                    close[at] = squared
                    held = min(held + 1, nearest)
            for t in range(held):
                place = bin_of(close[t], low, scale, bins)
                out[1, p] += odds[place]
                out[2, p] += same[place]
            out[3, p] += held
    return out


def entropy_drop(a: Floats, b: Floats, items: int) -> Floats:
    """Return Δh: how much the entropy of a clustering falls when clusters of these sizes are joined; the gain is ∝ P · Δh.

    Δh = [(a+b) log(a+b) - a log a - b log b] / n

    >>> entropy_drop(np.array([1.0]), np.array([1.0]), 2).round(4).tolist()
    [0.6931]
    """
    drop: Floats = ((a + b) * np.log(a + b) - a * np.log(a) - b * np.log(b)) / items
    return drop


def pseudo_classes(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], classes: int, seed: int) -> NDArray[np.int64]:
    """Return a class for every item: by k-means if the number of classes is given, by the graph if it is 0.

    The paper's k-means wants the true K. Here the classes are blocks of the k-reciprocal neighbour graph: merged up to the level
    at which a logistic model, the same for all collections, says that two blocks are one (`evidence/`, before its first
    question). k-means can be had for comparison. Time and memory as in `evidence/micro.py`.
    """
    if classes:
        return kmeans(vectors, min(classes, len(vectors)), seed=seed).labels
    from cccount_dist.clustering.evidence.micro import make_micro
    from cccount_dist.clustering.evidence.partition import Builder, Evidence

    _, micro = make_micro(vectors, neighbors)
    nothing = np.empty(0, np.int64)
    blocks = Builder(micro).whole(prior(), 0.0, Evidence(nothing, nothing, np.empty(0))).block
    return blocks[micro.label]


def refitted(sample: FitPairs, pseudo: Ints, cluster: Ints, links: list[Link]) -> PairMap:
    """Return the map learned again, with what people said in the place of the pseudo classes where it is known.

    An answer about two central items speaks for their clusters (n,): a pair of items inside a cluster that people joined is the
    same, a pair across two clusters that people found different is different; all others keep their pseudo label.
    O(pairs of the fit).
    """
    label = np.unique(cluster, return_inverse=True)[1].astype(np.int64)
    count = int(label.max()) + 1
    ends = label[np.array([(u, v) for u, v, _ in links], np.int64).reshape(-1, 2)]
    yes = np.array([value == SAME for _, _, value in links], bool)
    joined = np.zeros(count, bool)
    joined[ends[yes & (ends[:, 0] == ends[:, 1]), 0]] = True
    apart = ends[~yes & (ends[:, 0] != ends[:, 1])]
    keys = np.unique(apart.min(axis=1) * count + apart.max(axis=1))
    same = sample.same(pseudo)
    for part in pair_blocks(len(same)):
        first, second = label[sample.first[part]], label[sample.second[part]]
        same[part] |= (first == second) & joined[first]
        same[part] &= ~np.isin(np.minimum(first, second) * count + np.maximum(first, second), keys)
    return fit_map(sample.squared, same)

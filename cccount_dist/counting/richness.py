"""How many clusters there are in all, given how many items of each were drawn: Chao's bound and the size mixture together.

With few matches only K / (1 + CV²) is identified, not the spread CV of the sizes: Chao is low on long tails, the mixture high on
equal sizes. So the interval is the union of both; the estimate is the mixture's. Some milliseconds, O(1) memory.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from cccount_dist.counting.chao import Interval, chao_without_replacement
from cccount_dist.counting.mixture import Posterior, mixture_posteriors

Counts = NDArray[np.int64]
_SHAPE = 4.0  # the number of false splits is known up to a factor: gamma with coefficient of variation 1/2
_CASES, _TAIL = 9, 0.01  # numbers of false splits that are followed; those beyond the tails count with the outermost
LOOKS = 3  # what looking again and again until the interval is narrow costs: as much as so many independent looks
_NONE = 0.01  # fewer expected false splits than this are none


@dataclass(frozen=True, slots=True)
class Richness:
    """Estimate and interval of the number of clusters, and the two that they are made of."""

    estimate: float
    low: float
    high: float
    chao: Interval
    mixture: Interval
    stop: tuple[float, float]  # a wider interval, for whoever stops because of its width


def richness(counts: Counts, items: int, level: float, *, false_splits: float = 0.0, unplaced: int = 0) -> Richness:
    """Return the number of clusters among `items` items.

    Parameters
    ----------
    counts : drawn items of each cluster seen
    false_splits : how many of the clusters seen are expected to be parts of others, because of wrong answers
    unplaced : drawn items that nobody could place; the interval allows for all of them in one cluster seen, or each in its own

    >>> found = richness(np.array([1, 1, 2, 2, 3, 3, 4, 5]), 500, 0.95)
    >>> found.low <= found.estimate <= found.high
    True
    """
    found = _richness(counts, items, level, false_splits)
    if not unplaced:
        return found
    joined = counts.copy()
    joined[int(np.argmax(joined))] += unplaced
    alone = np.concatenate([counts, np.ones(unplaced, np.int64)])
    others = [_richness(case, items, level, false_splits) for case in (joined, alone)]
    low, high = min(found.low, *(o.low for o in others)), max(found.high, *(o.high for o in others))
    stop = min(found.stop[0], *(o.stop[0] for o in others)), max(found.stop[1], *(o.stop[1] for o in others))
    return Richness(found.estimate, low, high, found.chao, found.mixture, stop)


def _richness(counts: Counts, items: int, level: float, false_splits: float) -> Richness:
    if int(counts.sum()) >= items and false_splits < _NONE:
        seen = float(len(counts))
        return Richness(seen, seen, seen, (seen, seen, seen), (seen, seen, seen), (seen, seen))
    cases = split_cases(len(counts), false_splits)
    posteriors = mixture_posteriors(counts, items, cases)
    taken_back = [(weight, without_smallest(counts, number)) for weight, number in cases]
    chao, mixture = _intervals(taken_back, posteriors, items, level)
    wide_chao, wide_mixture = _intervals(taken_back, posteriors, items, 1.0 - (1.0 - level) / LOOKS)
    low, high = min(chao[1], mixture[1]), max(chao[2], mixture[2])
    stop = min(wide_chao[1], wide_mixture[1]), max(wide_chao[2], wide_mixture[2])
    return Richness(min(max(mixture[0], low), high), low, high, chao, mixture, stop)


def _intervals(
    cases: list[tuple[float, Counts]], posteriors: tuple[Posterior, Posterior, Posterior], items: int, level: float
) -> tuple[Interval, Interval]:
    """Chao's interval, over all cases of what was seen, and the mixture's, over two priors, with the third one's estimate."""
    chaos = [chao_without_replacement(case, items, level) for _, case in cases]
    likeliest = int(np.argmax([weight for weight, _ in cases]))
    chao = (chaos[likeliest][0], min(c[1] for c in chaos), max(c[2] for c in chaos))
    tail = (1.0 - level) / 2
    first, second, third = posteriors
    low, high = min(p.quantile(tail) for p in (first, second)), max(p.quantile(1.0 - tail) for p in (first, second))
    return chao, (third.estimate(), low, high)


def split_cases(seen: int, false_splits: float) -> list[tuple[float, int]]:
    """Return weights, and how many of the clusters seen are parts of others: Poisson(Gamma) with the mean that is expected.

    >>> split_cases(5, 0.0), [(round(weight, 3), number) for weight, number in split_cases(5, 0.1)]
    ([(1.0, 0)], [(0.906, 0), (0.094, 1)])
    """
    if false_splits < _NONE:
        return [(1.0, 0)]
    chance = _SHAPE / (_SHAPE + false_splits)
    low, high = _quantile(_TAIL, chance), _quantile(1.0 - _TAIL, chance)
    numbers = np.unique(np.minimum(np.round(np.linspace(low, high, _CASES)), seen - 1))  # all of them, while they are few
    edges = np.concatenate([[-1.0], (numbers[1:] + numbers[:-1]) // 2, [np.inf]])
    return [(float(weight), int(number)) for number, weight in zip(numbers, np.diff(_at_most(edges, chance)), strict=True)]


def _at_most(number: NDArray[np.float64], chance: float) -> NDArray[np.float64]:
    """The negative binomial's distribution function; `scipy.stats` has it, too, and takes a second to load."""
    inside = np.clip(number, 0.0, 1e15)
    return np.where(number < 0.0, 0.0, np.where(number > 1e15, 1.0, betainc(_SHAPE, inside + 1.0, chance)))


def _quantile(share: float, chance: float) -> float:
    """The smallest number that is not exceeded with this probability."""
    below, above = -1.0, 0.0
    while _at_most(np.array(above), chance) < share:
        below, above = above, 2.0 * above + 1.0
    while above - below > 1.0:
        middle = (below + above) // 2.0
        below, above = (middle, above) if _at_most(np.array(middle), chance) < share else (below, middle)
    return above


def without_smallest(counts: Counts, number: int) -> Counts:
    """Return the counts with the smallest clusters given to others, in proportion to their sizes."""
    if number <= 0:
        return counts
    ordered = np.sort(counts)
    moved, kept = ordered[:number], ordered[number:].copy()
    to = np.random.Generator(np.random.PCG64(number)).choice(len(kept), number, p=kept / kept.sum())
    np.add.at(kept, to, moved)
    return kept

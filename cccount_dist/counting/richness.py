"""How many clusters there are in all, given how many items of each were drawn: Chao's bound and the size mixture together.

With few matches only K / (1 + CV²) is identified, not the spread CV of the sizes: Chao is low on long tails, the mixture high on
equal sizes. So the widest interval is the union of both; the estimate is the mixture's. The interval of one posterior believes
that sizes are about equal, unequal or very unequal, each with one third. Its width is nearly all above, so of what may be missed
a tenth lies below; there Chao's low end guards it, too, which holds for sizes that no family of the mixture has. It says what
each belief alone would give. Some milliseconds, O(1) memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from cccount_dist.counting.chao import Interval, chao_without_replacement
from cccount_dist.counting.mixture import Posterior, believed, mixture_posteriors

Counts = NDArray[np.int64]
_SHAPE = 4.0  # the number of false splits is known up to a factor: gamma with coefficient of variation 1/2
_CASES, _TAIL = 9, 0.01  # numbers of false splits that are followed; those beyond the tails count with the outermost
LOOKS = 3  # what looking again and again until the interval is narrow costs: as much as so many independent looks
_NONE = 0.01  # fewer expected false splits than this are none
_BELOW = 0.1  # of what the interval of one posterior may miss


@dataclass(frozen=True, slots=True)
class Richness:
    """Estimate and interval of the number of clusters, and the two that they are made of."""

    estimate: float
    low: float
    high: float
    chao: Interval
    mixture: Interval
    stop: tuple[float, float]  # a wider interval, for whoever stops because of its width
    beliefs: Mapping[str, Interval] = field(default_factory=dict)  # of one posterior: what each belief alone would give

    @property
    def details(self) -> dict[str, float]:
        """What each way says, by its name."""
        ways = {"chao": self.chao, "mixture": self.mixture, **self.beliefs}
        ends = {
            f"{way}{end}": said for way, three in ways.items() for end, said in zip(("", "_low", "_high"), three, strict=True)
        }
        return {"stop_low": self.stop[0], "stop_high": self.stop[1], **ends}


def richness(
    counts: Counts, items: int, level: float, *, false_splits: float = 0.0, unplaced: int = 0, one: bool = False
) -> Richness:
    """Return the number of clusters among `items` items.

    Parameters
    ----------
    counts : drawn items of each cluster seen
    false_splits : how many of the clusters seen are expected to be parts of others, because of wrong answers
    unplaced : drawn items that nobody could place; the interval allows for all of them in one cluster seen, or each in its own
    one : give the interval of one posterior, not the widest of all

    >>> found = richness(np.array([1, 1, 2, 2, 3, 3, 4, 5]), 500, 0.95)
    >>> found.low <= found.estimate <= found.high
    True
    """
    found = _richness(counts, items, level, false_splits, one=one)
    if not unplaced:
        return found
    joined = counts.copy()
    joined[int(np.argmax(joined))] += unplaced
    alone = np.concatenate([counts, np.ones(unplaced, np.int64)])
    others = [_richness(case, items, level, false_splits, one=one) for case in (joined, alone)]
    low, high = min(found.low, *(o.low for o in others)), max(found.high, *(o.high for o in others))
    stop = min(found.stop[0], *(o.stop[0] for o in others)), max(found.stop[1], *(o.stop[1] for o in others))
    return replace(found, low=low, high=high, stop=stop)


def _richness(counts: Counts, items: int, level: float, false_splits: float, *, one: bool) -> Richness:
    if int(counts.sum()) >= items and false_splits < _NONE:
        seen = float(len(counts))
        return Richness(seen, seen, seen, (seen, seen, seen), (seen, seen, seen), (seen, seen))
    cases = split_cases(len(counts), false_splits)
    taken_back = [(weight, without_smallest(counts, number)) for weight, number in cases]
    if one:
        return _of_one(counts, items, level, cases, taken_back)
    posteriors = mixture_posteriors(counts, items, cases)
    chao, mixture = _intervals(taken_back, posteriors, items, level)
    wide_chao, wide_mixture = _intervals(taken_back, posteriors, items, 1.0 - (1.0 - level) / LOOKS)
    low, high = min(chao[1], mixture[1]), max(chao[2], mixture[2])
    stop = min(wide_chao[1], wide_mixture[1]), max(wide_chao[2], wide_mixture[2])
    return Richness(min(max(mixture[0], low), high), low, high, chao, mixture, stop)


def _intervals(
    cases: list[tuple[float, Counts]], posteriors: tuple[Posterior, Posterior, Posterior], items: int, level: float
) -> tuple[Interval, Interval]:
    """Chao's interval, over all cases of what was seen, and the mixture's, over two priors, with the third one's estimate."""
    chao = _chao(cases, items, level)
    tail = (1.0 - level) / 2
    first, second, third = posteriors
    low, high = min(p.quantile(tail) for p in (first, second)), max(p.quantile(1.0 - tail) for p in (first, second))
    return chao, (third.estimate(), low, high)


def _chao(cases: list[tuple[float, Counts]], items: int, level: float) -> Interval:
    chaos = [chao_without_replacement(case, items, level) for _, case in cases]
    likeliest = int(np.argmax([weight for weight, _ in cases]))
    return chaos[likeliest][0], min(c[1] for c in chaos), max(c[2] for c in chaos)


def _of_one(
    counts: Counts, items: int, level: float, cases: list[tuple[float, int]], taken_back: list[tuple[float, Counts]]
) -> Richness:
    """The interval of one posterior, from Chao's low end if that is lower (both ends of Chao's together err twice as often)."""
    beliefs, for_estimate = believed(counts, items, cases)
    estimate = for_estimate.estimate()
    chao = _chao(taken_back, items, level)
    no_pairs = not np.any(counts == 2)  # then no size is known, and Chao's high end is the one that allows for it

    def interval(missed: float) -> tuple[float, float]:
        low = min(_chao(taken_back, items, 1.0 - 2.0 * missed)[1], beliefs.any.quantile(_BELOW * missed))
        high = beliefs.any.quantile(1.0 - (1.0 - _BELOW) * missed)
        return low, max(high, _chao(taken_back, items, 1.0 - missed)[2]) if no_pairs else high

    low, high = interval(1.0 - level)
    alone = {
        "if_equal": beliefs.equal,
        "if_unequal": beliefs.unequal,
        "if_very_unequal": beliefs.very_unequal,
    }
    tail = (1.0 - level) / 2
    said = {name: (one.estimate(), one.quantile(tail), one.quantile(1.0 - tail)) for name, one in alone.items()}
    mixture = estimate, beliefs.any.quantile(tail), beliefs.any.quantile(1.0 - tail)
    estimate = min(max(estimate, low), high)
    return Richness(estimate, low, high, chao, mixture, interval((1.0 - level) / LOOKS), said)


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

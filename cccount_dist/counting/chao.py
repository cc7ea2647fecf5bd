"""Chao's lower bound for the number of clusters, from a uniform sample of items without replacement (Chao and Lin, 2012).

With t of n items drawn, q = t/n, f1 clusters seen once and f2 seen twice, the clusters that were not seen are about
f0 = f1² / (2 f2 t/(t-1) + f1 q/(1-q)). The interval is log-normal in f0, so it never falls below what was seen. f2 = 0 counts
as 1: otherwise a single cluster seen once could stand for a hundred. But then nothing says how large those seen once are, and
they may be single items beside a giant cluster: the upper end allows for that, f0 = U (1-q)/q with U the Poisson limit of f1.
Without any match at all there is no upper end but n.
"""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

Interval = tuple[float, float, float]  # estimate, low, high


def chao_without_replacement(counts: NDArray[np.int64], items: int, level: float) -> Interval:
    """Return estimate, low and high of the number of clusters among `items` items; never above what is possible.

    Parameters
    ----------
    counts : drawn items of each cluster that was seen; their sum is the number of items drawn

    >>> chao_without_replacement(np.array([1, 1, 1, 2, 2, 5]), 100, 0.95)[0]
    7.885714285714286
    """
    seen, drawn = len(counts), int(counts.sum())
    once, twice = int(np.count_nonzero(counts == 1)), max(int(np.count_nonzero(counts == 2)), 1)
    most = float(items - drawn + seen)  # every item that was not drawn a cluster of its own
    if once == 0 or drawn >= items:
        return float(seen), float(seen), float(seen)
    weight = drawn / max(drawn - 1, 1)
    ratio = drawn / (items - drawn)
    unseen = once**2 / (2 * weight * twice + ratio * once)
    variance = (
        unseen + (2 * weight * twice * unseen**2 + once**2 * unseen) ** 2 / once**5 + 4 * weight**2 * twice * (unseen / once) ** 4
    )
    z = NormalDist().inv_cdf(0.5 + level / 2)
    factor = math.exp(z * math.sqrt(math.log1p(variance / unseen**2)))
    high = most if seen == drawn else min(seen + unseen * factor, most)
    if not np.any(counts == 2):
        high = min(max(high, seen + float(gammaincinv(once + 1, 0.5 + level / 2)) / ratio), most)
    return min(seen + unseen, most), min(seen + unseen / factor, most), high

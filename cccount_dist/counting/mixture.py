"""The number of clusters by a posterior over how their sizes are spread: half log-normal, half gamma.

Sizes S are whole numbers from 1 to n; about λ = n / E[S] clusters exist. With t of n items drawn, q = t/n, a cluster shows
count j with probability P(j) = E Binomial(j; S, q), and is not seen with probability p0 = P(0). For D clusters seen,

    log L = D log λ - λ (1 - p0) + Σ log P(n_j),        K = D + Poisson(λ p0)

on a grid of spread and mean size, flat in log K. If F of the clusters seen are parts of others, a share φ = F / (t - D + F) of
the items that should have matched founded clusters: a count c shows as 1 + Binomial(c - 1, 1 - φ), and λ φ E[(c - 1)⁺] more
clusters show a count of 1. No random numbers: quantiles of the mixture of Poisson laws are solved for. The table of sizes takes
about 10 MB and is made once for each n; a posterior takes some milliseconds, some tens with false splits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaln, ndtr, pdtr

from cccount_dist.similarity.threads import one_thread

Floats = NDArray[np.float64]

SPREADS = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05, 1.15, 1.3, 1.5, 1.75, 2.0])
MEANS = 200  # mean sizes on the grid, even in their logarithm
SIZES = 160  # sizes on the grid: every whole number while they are small, then even in their logarithm
# Two priors of the spread for the interval. The first is half-normal, with a share of about equal sizes, which many collections
# have. The second expects unequal sizes: with few matches data cannot tell them apart, and an interval must not depend on which
# one is believed. The third is for the estimate: sizes are about equal, or clearly not.
EQUAL = 0.3  # spreads below are about equal sizes
EQUAL_SHARE, PRIOR_SPREAD = 0.3, 0.8
UNEQUAL_MEAN, UNEQUAL_DEVIATION = 0.7, 0.45
ESTIMATE_SHARE, CLEARLY_MEAN, CLEARLY_DEVIATION = 0.4, 0.95, 0.35
# Beliefs about sizes for the interval of one posterior, with one third each: about equal; unequal, as above; very unequal, as in
# real censuses, in which animals that were seen once stand beside some that were seen hundreds of times.
VERY_MEAN, VERY_DEVIATION = 1.3, 0.5
USUAL_SIZE, USUAL_FACTOR = 12.0, 2.0  # the mean size, loosely: the deviation of its logarithm, so nearly all within 0.2 to 600
_NEGLIGIBLE = 1e-7  # posterior weight of a grid point that is left out
_MOST_LOST = 0.9  # of the items that should have matched, if none did
_SMALL, _FOLLOWED = 12, 48  # with false splits: counts up to the first are followed, each from true counts up to the second


@dataclass(frozen=True, slots=True)
class SizeTable:
    """P(S) for every family, spread and mean of the grid (rows), and what follows from it."""

    sizes: Floats  # (s,)
    weights: Floats  # (rows, s)
    clusters: Floats  # (rows,) λ
    log_priors: tuple[Floats, Floats, Floats]  # (rows,) each
    log_beliefs: tuple[Floats, Floats, Floats, Floats]  # (rows,) each, in the order of `Beliefs`


@lru_cache(maxsize=4)
def size_table(items: int) -> SizeTable:
    """Return the table for a collection of so many items."""
    sizes = np.unique(np.round(np.geomspace(1, items, SIZES))) if items > SIZES else np.arange(1.0, items + 1)
    edges = np.concatenate([(sizes[1:] + sizes[:-1]) / 2, [np.inf]])
    location = np.linspace(-1.0, np.log(items) + 0.5, MEANS)
    with np.errstate(under="ignore"):
        lognormal = [ndtr((np.log(edges) - location[:, None]) / spread) for spread in SPREADS]
        gammas = [gammainc(1 / v**2, edges / (np.exp(location)[:, None] * v**2)) for v in SPREADS]
    cumulative = np.stack(lognormal + gammas)  # (families x spreads, means, s)
    weights = np.diff(cumulative, axis=-1, prepend=0.0) + 1e-14
    weights /= weights.sum(axis=-1, keepdims=True)
    mean = weights @ sizes
    step = np.gradient(SPREADS)
    equal = _shares((SPREADS < EQUAL).astype(np.float64))
    half_normal, unequal, clearly, very = (
        _shares(np.exp(-0.5 * ((SPREADS - middle) / deviation) ** 2) * step)
        for middle, deviation in (
            (0.0, PRIOR_SPREAD),
            (UNEQUAL_MEAN, UNEQUAL_DEVIATION),
            (CLEARLY_MEAN, CLEARLY_DEVIATION),
            (VERY_MEAN, VERY_DEVIATION),
        )
    )
    wide = EQUAL_SHARE * equal + (1 - EQUAL_SHARE) * half_normal
    either = ESTIMATE_SHARE * equal + (1 - ESTIMATE_SHARE) * clearly
    # Flat in log K = log n - log E[S], whatever the steps of the grid are.
    flat = np.log(np.maximum(np.gradient(np.log(mean), axis=1), 1e-12))
    first, second, third = ((np.log(np.concatenate([prior, prior]))[:, None] + flat).ravel() for prior in (wide, unequal, either))
    usual = flat - 0.5 * ((np.log(mean) - np.log(USUAL_SIZE)) / USUAL_FACTOR) ** 2
    alike, different, widely, any_of_them = (
        (np.log(np.concatenate([prior, prior]) + 1e-300)[:, None] + usual).ravel()
        for prior in (equal, unequal, very, (equal + unequal + very) / 3)
    )
    clusters = (items / mean).ravel()
    return SizeTable(
        sizes, weights.reshape(-1, len(sizes)), clusters, (first, second, third), (alike, different, widely, any_of_them)
    )


def _shares(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum())


class Beliefs(NamedTuple):
    """Posteriors if sizes are believed to be about equal, unequal, or very unequal; and if each of these is as likely."""

    equal: "Posterior"
    unequal: "Posterior"
    very_unequal: "Posterior"
    any: "Posterior"


@dataclass(frozen=True, slots=True)
class Posterior:
    """A mixture of D + Poisson(mean) laws."""

    seen: Floats
    mean: Floats
    weight: Floats
    most: float

    def cumulative(self, clusters: float) -> float:
        """Return P(K <= clusters)."""
        if clusters >= self.most:
            return 1.0
        below = np.where(clusters >= self.seen, pdtr(np.maximum(clusters - self.seen, 0.0), self.mean), 0.0)
        return float(self.weight @ below)

    def quantile(self, probability: float) -> float:
        """Return the smallest whole K with P(<= K) at least `probability`, by bisection."""
        low, high = int(self.seen.min()) - 1, int(self.most)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.cumulative(middle) >= probability else (middle, high)
        return float(high)

    def estimate(self) -> float:
        """Return the median under weights 1/K².

        One K makes |K' - K| / K the loss: the relative error. The other makes small numbers likelier beforehand than flat in
        log K: with few matches the posterior has a long tail above, and without it collections of equal sizes are overcounted.
        """
        clusters = np.minimum(self.seen + self.mean, self.most)
        weight = self.weight / clusters**2
        order = np.argsort(clusters, kind="stable")
        reached = np.cumsum(weight[order])
        return float(clusters[order][np.searchsorted(reached, 0.5 * reached[-1])])


class Likelihood:
    """log L of the counts seen, and the mean number λ p0 of clusters not seen, for every row of the table."""

    def __init__(self, table: SizeTable, counts: NDArray[np.int64], items: int) -> None:
        self._table, self._seen = table, len(counts)
        self._matches = int(counts.sum()) - self._seen
        self._share = min(int(counts.sum()) / items, 1 - 1e-9)
        self._values, self._times = np.unique(counts, return_counts=True)
        with one_thread():
            self._missing: Floats = table.weights @ np.exp(table.sizes * np.log1p(-self._share))
        self._drawn: Floats | None = None  # P(c) for small c, for those that show fewer
        self.unseen: Floats = table.clusters * self._missing

    def log(self, false_splits: int = 0) -> Floats:
        """Return log L if so many of the clusters seen are parts of others."""
        spurious: float | Floats = 0.0
        if false_splits == 0:
            shown = self._chances(self._values, self._share)
        else:
            lost = min(false_splits / (self._matches + false_splits), _MOST_LOST)
            shown = self._shown(lost)
            mean = self._table.weights @ self._table.sizes
            spurious = lost * np.maximum(mean * self._share - (1 - self._missing), 0.0)
            if self._values[0] == 1:
                shown[:, 0] += spurious
        clusters = self._table.clusters
        expected = clusters * (1 - self._missing + spurious)
        return np.asarray(self._seen * np.log(clusters) - expected + np.log(shown + 1e-300) @ self._times)

    def _chances(self, values: NDArray[np.int64], share: float) -> Floats:
        """P(count = value) of a cluster, if that share of the items is drawn: (rows, values)."""
        chosen, size = values[:, None].astype(np.float64), self._table.sizes
        rest = np.maximum(size - chosen, 0.0)
        ways = gammaln(size + 1) - gammaln(chosen + 1) - gammaln(rest + 1)
        log_binomial = np.where(size >= chosen, ways + chosen * np.log(share) + rest * np.log1p(-share), -700.0)
        with one_thread():  # so small a product only waits for threads
            return np.asarray(self._table.weights @ np.exp(log_binomial).T)

    def _shown(self, lost: float) -> Floats:
        """P(a cluster shows each value), if each of its items after the first is lost with that probability.

        For large counts it makes no difference whether the first one can be lost, too: the share that is drawn is smaller.
        """
        if self._drawn is None:
            self._drawn = self._chances(np.arange(1, _FOLLOWED + 1), self._share)
        small = self._values <= _SMALL
        counts, shown = np.arange(1.0, _FOLLOWED + 1)[:, None], self._values[small][None, :].astype(np.float64)
        rest = np.maximum(counts - shown, 0.0)
        ways = gammaln(counts) - gammaln(shown) - gammaln(rest + 1)
        kept = np.where(counts >= shown, np.exp(ways + (shown - 1) * np.log1p(-lost) + rest * np.log(lost)), 0.0)
        with one_thread():
            parts = [self._drawn @ kept]
        if not small.all():
            parts.append(self._chances(self._values[~small], self._share * (1.0 - lost)))
        return np.concatenate(parts, axis=1)


Cases = Sequence[tuple[float, int]]  # (weight, how many of the clusters seen are parts of others)


def mixture_posteriors(
    counts: NDArray[np.int64], items: int, cases: Cases = ((1.0, 0),)
) -> tuple[Posterior, Posterior, Posterior]:
    """Return the posterior of the number of clusters under each of the three priors: two for the interval, one for the estimate.

    `counts` are the drawn items of each cluster seen.
    """
    first, second, third = _posteriors(counts, items, cases, size_table(items).log_priors)
    return first, second, third


def believed(counts: NDArray[np.int64], items: int, cases: Cases = ((1.0, 0),)) -> tuple[Beliefs, Posterior]:
    """Return the posterior under each belief about sizes, and the one for the estimate."""
    table = size_table(items)
    equal, unequal, very_unequal, any_of_them, estimate = _posteriors(
        counts, items, cases, (*table.log_beliefs, table.log_priors[2])
    )
    return Beliefs(equal, unequal, very_unequal, any_of_them), estimate


def _posteriors(counts: NDArray[np.int64], items: int, cases: Cases, priors: Sequence[Floats]) -> list[Posterior]:
    likelihood = Likelihood(size_table(items), counts, items)
    logs = [np.log(weight) + likelihood.log(number) for weight, number in cases]
    seen = [float(len(counts) - number) for _, number in cases]
    most = float(items - int(counts.sum()) + len(counts))
    return [_posterior(seen, [log + prior for log in logs], likelihood.unseen, most) for prior in priors]


def _posterior(seen: list[float], logs: list[Floats], unseen: Floats, most: float) -> Posterior:
    weights = np.exp(np.stack(logs) - max(float(log.max()) for log in logs))
    weights /= weights.sum()
    case, row = np.nonzero(weights > _NEGLIGIBLE)
    kept = weights[case, row]
    return Posterior(np.array(seen)[case], unseen[row], kept / kept.sum(), most)

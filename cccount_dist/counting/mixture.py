"""The number of clusters by a posterior over how their sizes are spread: half log-normal, half gamma.

Sizes S are whole numbers from 1 to n; about λ = n / E[S] clusters exist. With t of n items drawn, q = t/n, a cluster shows
count j with probability P(j) = E Binomial(j; S, q), and is not seen with probability p0 = P(0). For D clusters seen,

    log L = D log λ - λ (1 - p0) + Σ log P(n_j),        K = D + Poisson(λ p0)

on a grid of spread and mean size, flat in log K. No random numbers: quantiles of the mixture of Poisson laws are solved for.
The table of sizes takes about 10 MB and is made once for each n; a posterior takes some milliseconds.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, pdtr
from scipy.stats import gamma
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Floats = NDArray[np.float64]

SPREADS = np.array([0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.05, 1.15, 1.3, 1.5, 1.75, 2.0])
MEANS = 200  # mean sizes on the grid, even in their logarithm
SIZES = 160  # sizes on the grid: every whole number while they are small, then even in their logarithm
# Two priors of the spread. The first is half-normal, with a share of about equal sizes, which many collections have. The second
# expects unequal sizes: with few matches data cannot tell them apart, and an interval must not depend on which one is believed.
PRIOR_SPREAD, EQUAL, EQUAL_SHARE = 0.8, 0.3, 0.3
UNEQUAL_MEAN, UNEQUAL_DEVIATION = 0.7, 0.45
_NEGLIGIBLE = 1e-7  # posterior weight of a grid point that is left out


@dataclass(frozen=True, slots=True)
class SizeTable:
    """P(S) for every family, spread and mean of the grid (rows), and what follows from it."""

    sizes: Floats  # (s,)
    weights: Floats  # (rows, s)
    clusters: Floats  # (rows,) λ
    log_priors: tuple[Floats, Floats]  # (rows,) each


@lru_cache(maxsize=4)
def size_table(items: int) -> SizeTable:
    """Return the table for a collection of so many items."""
    sizes = np.unique(np.round(np.geomspace(1, items, SIZES))) if items > SIZES else np.arange(1.0, items + 1)
    edges = np.concatenate([(sizes[1:] + sizes[:-1]) / 2, [np.inf]])
    location = np.linspace(-1.0, np.log(items) + 0.5, MEANS)
    with np.errstate(under="ignore"):
        lognormal = [ndtr((np.log(edges) - location[:, None]) / spread) for spread in SPREADS]
        gammas = [gamma.cdf(edges, 1 / v**2, scale=np.exp(location)[:, None] * v**2) for v in SPREADS]
    cumulative = np.stack(lognormal + gammas)  # (families x spreads, means, s)
    weights = np.diff(cumulative, axis=-1, prepend=0.0) + 1e-14
    weights /= weights.sum(axis=-1, keepdims=True)
    mean = weights @ sizes
    half_normal = np.exp(-0.5 * (SPREADS / PRIOR_SPREAD) ** 2) * np.gradient(SPREADS)
    equal = (SPREADS < EQUAL).astype(np.float64)
    first = (1 - EQUAL_SHARE) * half_normal / half_normal.sum() + EQUAL_SHARE * equal / equal.sum()
    second = np.exp(-0.5 * ((SPREADS - UNEQUAL_MEAN) / UNEQUAL_DEVIATION) ** 2) * np.gradient(SPREADS)
    # Flat in log K = log n - log E[S], whatever the steps of the grid are.
    flat = np.log(np.maximum(np.gradient(np.log(mean), axis=1), 1e-12))
    priors = [(np.log(np.concatenate([prior, prior]))[:, None] + flat).ravel() for prior in (first, second)]
    return SizeTable(sizes, weights.reshape(-1, len(sizes)), (items / mean).ravel(), (priors[0], priors[1]))


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


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

    def relative_median(self) -> float:
        """Return the estimate with the smallest expected relative error |K' - K| / K: the median under weights 1/K."""
        clusters = np.minimum(self.seen + self.mean, self.most)
        weight = self.weight / clusters
        order = np.argsort(clusters, kind="stable")
        reached = np.cumsum(weight[order])
        return float(clusters[order][np.searchsorted(reached, 0.5 * reached[-1])])


def log_likelihood(table: SizeTable, counts: NDArray[np.int64], items: int) -> tuple[Floats, Floats]:
    """Return log L and the mean number λ p0 of clusters not seen, for every row of the table."""
    share = min(int(counts.sum()) / items, 1 - 1e-9)
    values, times = np.unique(counts, return_counts=True)
    chosen, size = values[:, None].astype(np.float64), table.sizes
    rest = np.maximum(size - chosen, 0.0)
    log_binomial = gammaln(size + 1) - gammaln(chosen + 1) - gammaln(rest + 1) + chosen * np.log(share) + rest * np.log1p(-share)
    with _libraries().limit(limits=1, user_api="blas"):  # so small a product only waits for threads
        shown = table.weights @ np.exp(np.where(size >= chosen, log_binomial, -700.0)).T
        unseen = table.weights @ np.exp(size * np.log1p(-share))
    likelihood = len(counts) * np.log(table.clusters) - table.clusters * (1 - unseen) + np.log(shown + 1e-300) @ times
    return likelihood, table.clusters * unseen


def mixture_posteriors(cases: list[tuple[float, NDArray[np.int64]]], items: int) -> tuple[Posterior, Posterior]:
    """Return the posterior of the number of clusters under each of the two priors.

    Parameters
    ----------
    cases : (weight, counts of each cluster seen); more than one where it is not certain what was seen
    """
    table = size_table(items)
    found = [(share, len(counts), *log_likelihood(table, counts, items)) for share, counts in cases]
    most = float(items - int(cases[0][1].sum()) + max(len(counts) for _, counts in cases))
    first, second = (_posterior(found, log_prior, most) for log_prior in table.log_priors)
    return first, second


def _posterior(found: list[tuple[float, int, Floats, Floats]], log_prior: Floats, most: float) -> Posterior:
    parts = []
    for share, seen, likelihood, unseen in found:
        logs = likelihood + log_prior
        weight = np.exp(logs - logs.max())
        weight /= weight.sum()
        keep = weight > _NEGLIGIBLE
        kept = weight[keep] / weight[keep].sum() * share
        parts.append((np.full(len(kept), float(seen)), unseen[keep], kept))
    seen_, mean, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Posterior(seen_, mean, weights / weights.sum(), most)

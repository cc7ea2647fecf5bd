"""How many classes there are, from those that a search found, and from items of a random order.

Sheets are about what seems worth a glance, so the classes that they find are no random sample. But the items of a random order
are; and of each class that these show it is known whether sheets had found it before its first item came. With sizes S spread as
in `mixture.py`, λ classes in all, a share q of the items drawn, and sheets that miss a class of size S with probability exp(-r S)
by now, and exp(-r τ S) by the time τ, in parts of the time so far,

    log L = D log λ - λ (1 - u) + Σ log E[P(n_j | S) (1 - exp(-r τ_j S))] + Σ log E[P(n_j | S) exp(-r τ_j S)]
            + F log E[(1 - q)^S (1 - exp(-r S))],        u = E[(1 - q)^S exp(-r S)],        K = D + Poisson(λ u)

for D classes in all: those drawn, n_j items of each, that sheets had found before, and had not; and F that only sheets found; on
the grid of sizes and of r. Only an item that is in no group may be in a class that nobody has seen: where more items are expected
in such classes than are left, that is ruled out. Time some tenths of a second, memory some tens of MB, for any number of items.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cccount_dist.counting.mixture import Floats, Posterior, size_table
from cccount_dist.counting.richness import LOOKS, split_cases

RATES = np.geomspace(3e-4, 3.0, 13)  # r
TIMES = 6  # times of first items are rounded up to so many
_NEGLIGIBLE = 1e-7

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Searched:
    """What is known of the classes."""

    counts: Counts  # (d,) drawn items of each class that was drawn …
    known: NDArray[np.bool_]  # (d,) … whether sheets had found it before the first of them …
    time: Floats  # (d,) … and when that came, in parts of the time so far
    only: int  # classes that only sheets found
    drawn: int  # items that were drawn
    items: int  # of all
    left: int  # items in no group

    @property
    def seen(self) -> int:
        return len(self.counts) + self.only


@dataclass(frozen=True, slots=True)
class Number:
    """Estimate and interval, and a wider one for whoever stops because of its width."""

    estimate: float
    low: float
    high: float
    stop: tuple[float, float]


def number_of(found: Searched, parts: float, level: float) -> Number:
    """Return the number of classes, where so many groups are expected to be parts of others.

    >>> drawn = np.array([2, 3, 1, 4]), np.array([True, False, False, True]), np.array([0.5, 0.1, 0.4, 0.6])
    >>> found = number_of(Searched(*drawn, 2, 10, 500, 300), 0.0, 0.95)
    >>> found.low <= found.estimate <= found.high
    True
    """
    cases = split_cases(found.seen, parts)
    if not found.left:
        return _of((_exact(found.seen, cases),) * 3, level)
    table = size_table(found.items)
    log, unseen = _likelihood(_without(found, min(round(parts), found.seen - 1)))
    most = float(found.seen + found.left)
    priors = [np.tile(prior, len(RATES)) for prior in table.log_priors]
    return _of(tuple(_posterior(log + prior, unseen, found.seen, cases, most) for prior in priors), level)


def _of(posteriors: tuple[Posterior, ...], level: float) -> Number:
    low, high = _ends(posteriors, level)
    estimate = posteriors[2].estimate()
    return Number(min(max(estimate, low), high), low, high, _ends(posteriors, 1.0 - (1.0 - level) / LOOKS))


def _ends(posteriors: tuple[Posterior, ...], level: float) -> tuple[float, float]:
    tail = (1.0 - level) / 2
    return min(p.quantile(tail) for p in posteriors[:2]), max(p.quantile(1.0 - tail) for p in posteriors[:2])


def _without(found: Searched, parts: int) -> Searched:
    """Leave out so many classes, those of which least was seen: parts are small, and would look like many small classes."""
    only = max(found.only - parts, 0)
    gone = parts - (found.only - only)
    kept = np.sort(np.argsort(found.counts, kind="stable")[gone:])
    return replace(found, only=only, counts=found.counts[kept], known=found.known[kept], time=found.time[kept])


def _likelihood(found: Searched) -> tuple[Floats, Floats]:
    """Return log L, and the mean number of classes that nobody saw, for each r and each row of the table of sizes."""
    table = size_table(found.items)
    size, share = table.sizes, min(found.drawn / found.items, 1 - 1e-9)
    step = np.ceil(np.clip(found.time, 1e-9, 1.0) * TIMES)
    kinds, times = np.unique(np.column_stack([found.counts, step, found.known]), axis=0, return_counts=True)
    values, place = np.unique(kinds[:, 0], return_inverse=True)
    law = _binomial(values, size, share)[place]  # (kinds, sizes)
    at, before = kinds[:, 1] / TIMES, kinds[:, 2] > 0
    none = np.exp(size * np.log1p(-share))
    logs, unseen = [], []
    for rate in RATES:
        missed = np.exp(-rate * at[:, None] * size)
        shown = law * np.where(before[:, None], 1.0 - missed, missed)
        late = np.exp(-rate * size)
        columns = np.vstack([shown, none * (1.0 - late), none * late, none * late * size])
        parts = table.weights @ columns.T
        rest = table.clusters * parts[:, -2]
        log = found.seen * np.log(table.clusters) - (table.clusters - rest) + np.log(parts[:, : len(kinds)] + 1e-300) @ times
        log += found.only * np.log(parts[:, -3] + 1e-300)
        log -= 0.5 * (np.maximum(table.clusters * parts[:, -1] - found.left, 0.0) / np.sqrt(found.left + 1.0)) ** 2
        logs.append(log)
        unseen.append(rest)
    return np.concatenate(logs), np.concatenate(unseen)


def _binomial(values: Floats, size: Floats, share: float) -> Floats:
    """P(a class of each size shows a value): (values, sizes)."""
    chosen = values[:, None]
    rest = np.maximum(size - chosen, 0.0)
    ways = gammaln(size + 1) - gammaln(chosen + 1) - gammaln(rest + 1)
    return np.asarray(np.exp(np.where(size >= chosen, ways + chosen * np.log(share) + rest * np.log1p(-share), -700.0)))


def _exact(seen: int, cases: list[tuple[float, int]]) -> Posterior:
    weights = np.array([weight for weight, _ in cases])
    numbers = np.array([float(seen - number) for _, number in cases])
    return Posterior(numbers, np.zeros(len(cases)), weights / weights.sum(), float(seen))


def _posterior(log: Floats, unseen: Floats, seen: int, cases: list[tuple[float, int]], most: float) -> Posterior:
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    kept = np.flatnonzero(weight > _NEGLIGIBLE)
    shares = np.array([share for share, _ in cases])
    numbers = np.array([float(seen - number) for _, number in cases])
    both = np.outer(shares / shares.sum(), weight[kept])
    return Posterior(np.repeat(numbers, len(kept)), np.tile(unseen[kept], len(cases)), (both / both.sum()).ravel(), most)

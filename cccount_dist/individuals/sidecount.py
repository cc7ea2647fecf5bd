"""How many animals there are behind what their sides show.

Left and right of one animal look like two animals until something joins them. What is certain: at least as many as the side with
the most, at most the sum less those that are joined. Between the two stands an estimate, after the idea of Hiby et al. (2013,
doi 10.1111/2041-210x.12008) that meetings which show both sides tell how sides come about, in a model of our own: an animal is
met at a rate that differs between animals (gamma), and each meeting shows the left side, the right side, or both, independently.
Animals that were met from both sides at once are known whole; of the others left and right groups are known, and the model says
how many of these belong together: M f(l >= 1, r >= 1, b = 0). Its parameters make the numbers of meetings of all groups likely;
the interval comes from simulated collections of the same parameters, fitted again. Cost: milliseconds a fit, no n anywhere.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FEWEST = 5  # animals that were met from both sides at once; fewer say too little about how sides come about
_SIMULATED = 60
_PRIOR = (0.5, 1.0)  # mean and deviation of the log of how even rates are: between much alike and very uneven

Meetings = tuple[int, int, int]  # of one group: those that show left alone, right alone, both


@dataclass(frozen=True, slots=True)
class Animals:
    """The number of animals that pictures show. `estimate` is None where too few were seen from both sides at once."""

    certain_low: int
    certain_high: int
    joined: int  # animals of which both sides are known
    estimate: float | None = None
    low: float | None = None
    high: float | None = None


def animals(meetings: Sequence[Meetings], *, others: int = 0, level: float = 0.95, seed: int = 0) -> Animals:
    """Return how many animals there are, given the meetings of every group; what is joined already is one group.

    `others`: groups that show neither left nor right; each may be another animal, or one of these.
    """
    table = np.array(meetings, np.int64).reshape(-1, 3)
    left, right = (int(((table[:, side] + table[:, 2]) > 0).sum()) for side in (0, 1))
    joined = int((((table[:, 0] > 0) & (table[:, 1] > 0)) | (table[:, 2] > 0)).sum())
    bounds = Animals(max(left, right, others), left + right - joined + others, joined)
    whole, once = table[table[:, 2] > 0], table[table[:, 2] == 0]
    if len(whole) < FEWEST:
        return bounds
    from scipy.special import ndtri  # every step of a campaign imports this module, and few steps get here

    sizes = once[once[:, 0] > 0, 0], once[once[:, 1] > 0, 1]
    named = joined - len(whole)  # joined by a name or by hand: among those that the model joins, and certain
    fitted = _fit(whole, *sizes)
    hidden = _hidden(fitted)
    rng = np.random.default_rng(seed)
    errors = np.array([error for _ in range(_SIMULATED) if (error := _error(fitted, rng)) is not None])
    if not len(errors):
        return bounds
    most = min(len(sizes[0]), len(sizes[1]))
    half = float(ndtri(0.5 + level / 2) * np.sqrt(np.mean(errors**2)))
    total = len(whole) + len(sizes[0]) + len(sizes[1])
    expected, least, largest = (float(np.clip(x, named, most)) for x in (hidden, hidden - half, hidden + half))
    return Animals(bounds.certain_low, bounds.certain_high, joined, total - expected, total - largest, total - least + others)


@dataclass(frozen=True, slots=True)
class _Model:
    animals: float  # that could be met, met or not
    even: float  # shape of the gamma distribution of rates
    rates: NDArray[np.float64]  # (3,) meetings of an average animal: left, right, both

    def never(self, *kinds: int) -> float:
        """Probability that an animal has no meeting of these kinds."""
        return float((self.even / (self.even + self.rates[list(kinds)].sum())) ** self.even)


def _log_met(counts: NDArray[np.int64], rates: NDArray[np.float64], even: float) -> NDArray[np.float64]:
    """Log probability of numbers of meetings (m, kinds) of animals whose rates are these times a gamma of mean 1."""
    from scipy.special import gammaln

    total = counts.sum(axis=1)
    of_kinds = counts @ np.log(rates) - gammaln(counts + 1).sum(axis=1)
    found: NDArray[np.float64] = (
        gammaln(even + total) - gammaln(even) + even * np.log(even) - (even + total) * np.log(even + rates.sum()) + of_kinds
    )
    return found


def _fit(whole: NDArray[np.int64], left: NDArray[np.int64], right: NDArray[np.int64], begin: _Model | None = None) -> _Model:
    """Return the parameters under which the groups are likely: a composite likelihood, for left and right groups may be one."""
    from scipy.optimize import minimize

    met = len(whole) + len(left) + len(right)
    unique = [np.unique(counts, axis=0, return_counts=True) for counts in (whole, left[:, None], right[:, None])]

    def model(log: NDArray[np.float64]) -> _Model:
        made = _Model(1.0, float(np.exp(log[0])), np.exp(log[1:]))
        return _Model(met / max(_expected(made), 1e-12), made.even, made.rates)

    def cost(log: NDArray[np.float64]) -> float:
        now = model(log)
        (both, times), (lefts, of_left), (rights, of_right) = unique
        found = float(times @ _log_met(both, now.rates, now.even))
        for counts, weights, kind in ((lefts, of_left, 0), (rights, of_right, 1)):
            if len(counts):  # of this kind so many, and none of both sides
                pair = np.column_stack([counts, np.zeros(len(counts), np.int64)])
                found += float(weights @ _log_met(pair, now.rates[[kind, 2]], now.even))
        return float(-(found + met * np.log(now.animals)) + 0.5 * ((log[0] - _PRIOR[0]) / _PRIOR[1]) ** 2)

    mean = [max(float(counts.mean()) if len(counts) else 0.1, 0.1) for counts in (left, right, whole[:, 2])]
    start = [1.5, *mean] if begin is None else [begin.even, *begin.rates]
    options: Any = {"ftol": 1e-6} if begin is None else {"ftol": 1e-4}  # beside its likely error a simulated fit may be rough
    found = minimize(cost, np.log(start), method="L-BFGS-B", bounds=[(-2.0, 4.0), *[(-6.0, 6.0)] * 3], options=options)
    return model(found.x)


def _expected(model: _Model) -> float:
    """Groups that an animal is expected to make: one if it was met from both sides at once, else one for each side."""
    unseen = model.never(2)
    return (1.0 - unseen) + (unseen - model.never(0, 2)) + (unseen - model.never(1, 2))


def _hidden(model: _Model) -> float:
    """How many animals have a left and a right group that nothing joins."""
    none = model.never(0, 1, 2)
    return model.animals * max(model.never(2) - model.never(0, 2) - model.never(1, 2) + none, 0.0)


def _error(model: _Model, rng: np.random.Generator) -> float | None:
    """By how much a fit to a simulated collection is wrong about its hidden pairs; None if too few animals are known whole."""
    rates = rng.gamma(model.even, 1.0 / model.even, rng.poisson(model.animals))
    met = rng.poisson(rates[:, None] * model.rates)
    whole, once = met[met[:, 2] > 0], met[met[:, 2] == 0]
    if len(whole) < FEWEST:
        return None
    left, right = (once[once[:, kind] > 0, kind] for kind in (0, 1))
    true = int(((once[:, 0] > 0) & (once[:, 1] > 0)).sum())
    found = min(_hidden(_fit(whole, left, right, model)), float(min(len(left), len(right))))
    return found - true


def meetings_of(encounters: Iterable[Iterable[str | None]]) -> Meetings:
    """Return how many of the meetings of one animal show left, right, or both; each is given as the sides of its pictures.

    >>> meetings_of([["left", "left"], ["left", "right"], [None], ["right"]])
    (1, 1, 1)
    """
    shown = [{"left", "right"} & set(sides) for sides in encounters]
    return shown.count({"left"}), shown.count({"right"}), shown.count({"left", "right"})


__all__ = ["FEWEST", "Animals", "Meetings", "animals", "meetings_of"]

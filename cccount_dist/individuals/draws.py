"""Who the individuals might be instead: draws of the groups that differ where people or looks may have been wrong.

A list of individuals has errors of two kinds. *False matches*: a picture is with an individual that it does not show. A "same"
of a person is wrong with the rate that checks found (a Beta posterior; k independent ones all with its k-th power); a picture
that nobody looked at with what the campaign measured on random pages. It goes to another individual, in proportion to their
pictures, or is somebody new, as often as pictures show somebody who is seen once (Good and Turing). *Missed matches*: two
individuals are one. How many, the campaign's count says; fragments are small, and join large ones, and where a person said
"different" only as often as such an answer is wrong. What people said by hand is never drawn against.

Pure and deterministic. Time and memory of a draw: O(pictures + answers).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cccount_dist.individuals.numbering import Items
from cccount_dist.individuals.roster import Said
from cccount_dist.sampling.types import DIFFERENT, SAME

USUAL_MISS, USUAL_FALSE = 0.03, 0.008  # of a person who was never checked
_WORTH = 100.0  # checks that the usual rates count for
_MOST_ANSWERS = 5  # about one picture that are taken as independent
_TRIES = 50
_Apart = Mapping[tuple[int, int], int]
_FIRM = 1_000_000  # "different" by hand


@dataclass(frozen=True, slots=True)
class Share:
    """A measured number with its 95 % interval."""

    value: float
    low: float
    high: float

    def drawn(self, chance: np.random.Generator) -> float:
        """A value from it: on either side of the middle a half of a normal distribution, as wide as the interval there."""
        step = float(chance.standard_normal())
        return self.value + step * (self.high - self.value if step > 0 else self.value - self.low) / 1.96


@dataclass(frozen=True, slots=True)
class Errors:
    """What a campaign knows of its errors. Rates are (wrong, checked) of single answers; None: not measured."""

    false_same: tuple[float, float] = (0.0, 0.0)
    missed: tuple[float, float] = (0.0, 0.0)
    right: Share | None = None  # share of the pictures in the right group
    count: Share | None = None  # individuals; without an interval low, value and high are one


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: the pictures of each individual, by its place in the list; from `len(list)` on those that are new."""

    groups: Mapping[int, Items]
    false: float  # share of the list's pairs of pictures that are not together here
    missed: float  # share of the pairs that are together here and not in the list


@dataclass(slots=True)
class _Evidence:
    support: Counter[int] = field(default_factory=Counter)  # "same" that hold a picture where it is
    held: set[int] = field(default_factory=set)  # by hand
    apart: Counter[tuple[int, int]] = field(default_factory=Counter)  # "different" between two individuals


def draws(groups: Sequence[Sequence[int]], said: Iterable[Said], errors: Errors, count: int, seed: int = 0) -> list[Drawn]:
    """Return `count` draws; the same for the same seed, and the first of them whatever `count` is."""
    evidence = _evidence(groups, said)
    return [_draw(groups, evidence, errors, np.random.default_rng([seed, number])) for number in range(count)]


def rate(wrong: tuple[float, float], usual: float) -> tuple[float, float]:
    """Return the two numbers of the Beta posterior of a rate of wrong answers.

    >>> rate((0, 0), 0.01)
    (1.0, 99.0)
    """
    return wrong[0] + usual * _WORTH, max(wrong[1] - wrong[0], 0.0) + (1.0 - usual) * _WORTH


def _evidence(groups: Sequence[Sequence[int]], said: Iterable[Said]) -> _Evidence:
    group_of = {item: place for place, group in enumerate(groups) for item in group}
    found = _Evidence()
    for one in said:
        u, v = group_of.get(one.u), group_of.get(one.v)
        if u is None or v is None or one.u == one.v:
            continue
        if u == v and one.value == SAME:
            found.support.update((one.u, one.v))
            if one.by_hand:
                found.held |= {one.u, one.v}
        elif u != v and one.value == DIFFERENT:
            found.apart[min(u, v), max(u, v)] += _FIRM if one.by_hand else 1
    return found


def _draw(groups: Sequence[Sequence[int]], evidence: _Evidence, errors: Errors, chance: np.random.Generator) -> Drawn:
    items = np.array([item for group in groups for item in group], np.int64)
    of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    false = float(chance.beta(*rate(errors.false_same, USUAL_FALSE)))
    miss = float(chance.beta(*rate(errors.missed, USUAL_MISS)))
    wrong = _chance_wrong(items, evidence, errors, false, chance)
    now = _moved(of, wrong, len(groups), evidence.apart, chance)
    now = _joined(now, len(groups), evidence.apart, errors.count, miss, chance)
    lists = {int(place): tuple(sorted(items[now == place].tolist())) for place in np.unique(now)}
    together, before, after = _pairs(of * (int(now.max(initial=0)) + 1) + now), _pairs(of), _pairs(now)
    return Drawn(lists, 1 - together / before if before else 0.0, 1 - together / after if after else 0.0)


def _chance_wrong(
    items: NDArray[np.int64], evidence: _Evidence, errors: Errors, false: float, chance: np.random.Generator
) -> NDArray[np.float64]:
    """How likely each picture is not where it is."""
    support = np.minimum([evidence.support[item] for item in items.tolist()], _MOST_ANSWERS)
    wrong = np.where(support > 0, false ** np.maximum(support, 1), 0.0)
    unseen = support == 0
    if errors.right is not None and unseen.any():
        share = 1.0 - min(max(errors.right.drawn(chance), 0.0), 1.0)
        wrong[unseen] = min(max((share * len(items) - float(wrong.sum())) / int(unseen.sum()), 0.0), 0.95)
    wrong[[item in evidence.held for item in items.tolist()]] = 0.0
    return np.asarray(wrong)


def _moved(
    of: NDArray[np.int64], wrong: NDArray[np.float64], groups: int, apart: _Apart, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Let pictures leave that are wrong: to others in proportion to their pictures, or as somebody new."""
    now, sizes = of.copy(), np.bincount(of, minlength=groups).astype(np.float64)
    unknown = float((sizes == 1).sum()) / len(of)
    never: dict[int, list[int]] = {}  # individuals that somebody said by hand to be another one
    for pair, times in apart.items():
        if times >= _FIRM:
            never.setdefault(pair[0], []).append(pair[1])
            never.setdefault(pair[1], []).append(pair[0])
    for place in np.flatnonzero(chance.random(len(of)) < wrong).tolist():
        others = sizes.copy()
        home = int(of[place])
        others[[home, *never.get(home, ())]] = 0.0
        alone = sizes[home] == 1
        if others.sum() and (alone or chance.random() >= unknown):
            now[place] = int(chance.choice(groups, p=others / others.sum()))
        elif not alone:
            now[place], groups, sizes = groups, groups + 1, np.append(sizes, 0.0)
    return now


def _joined(
    now: NDArray[np.int64], groups: int, apart: _Apart, count: Share | None, miss: float, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Join individuals until there are as many as the count says; `miss`: how often a "different" is wrong."""
    if count is None:
        return now
    wanted = groups - count.value
    if count.high > count.low:
        wanted = groups - count.drawn(chance)
    elif wanted > 0:
        wanted = float(chance.poisson(wanted))
    gone = groups - len(np.unique(now))
    now, parts = now.copy(), {int(place): {int(place)} for place in np.unique(now)}
    for _ in range(round(wanted) - max(gone, 0)):
        for _ in range(_TRIES):
            names, sizes = np.unique(now, return_counts=True)
            if len(names) < 2:
                return now
            small = int(chance.choice(names, p=(1 / sizes) / (1 / sizes).sum()))
            weights = np.where(names == small, 0.0, sizes)
            large = int(chance.choice(names, p=weights / weights.sum()))
            against = sum(_between(apart, one, other) for one in parts[small] for other in parts[large])
            if against < _FIRM and chance.random() < miss**against:
                now[now == small] = large
                parts[large] |= parts.pop(small)
                break
    return now


def _between(apart: _Apart, one: int, other: int) -> int:
    """How many said that two individuals differ."""
    return apart.get((min(one, other), max(one, other)), 0)


def _pairs(labels: NDArray[np.int64]) -> float:
    """How many pairs are together."""
    sizes = np.unique(labels, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())


__all__ = ["USUAL_FALSE", "USUAL_MISS", "Drawn", "Errors", "Share", "draws", "rate"]

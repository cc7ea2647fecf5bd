"""How good the groups are, measured on random pages, each of an item that was drawn from all with equal chance.

The catalogue has an opinion of how likely each label is right. A random page says whether it was, just before the page was asked;
so random pages say by how much that opinion has to be moved: one shift of the log-odds for placed items and one for the others,
each with a posterior on a grid. The share that is right, and precision and recall of pairs, follow for every shift. Pages with
wrong marks are reckoned with by the rates of wrong marks. Time O(n · 256), memory O(n).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from cccount_dist.clustering.catalogue.labels import main_chance, purity, surety
from cccount_dist.clustering.catalogue.pairs import cluster_pairs
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.state import RandomPage, State
from cccount_dist.clustering.quality import Bounds, Quality

LEVEL = 0.95
FEWEST = 5  # random pages before which nothing is said
RECENT = 40  # the last random pages, for the number of groups
SHOWN = 12  # least sure items, and groups
CAREFUL = 10  # sheets after which somebody who marks everything or nothing is noticed
ALL = 0.95  # share of the cells
SHIFTS = np.linspace(-8.0, 8.0, 321)
SPREAD = 2.0  # of the shift, before the first page
DRAWS = 256
CLUMP = 8.0  # wrong items that come together, as pairs see it: they are in few groups
SANE = 0.998  # no label is taken to be surer

Floats = NDArray[np.float64]


def measured(state: State, labels: NDArray[np.int64]) -> tuple[Quality, Bounds | None, str | None]:
    """Return the quality of labels (n,), numbered from 0, the number of groups, and a warning; None where nothing can be said."""
    pages = state.book.random
    pairs = cluster_pairs(state)
    sure = surety(state, pairs)
    least = np.lexsort((np.arange(len(sure)), sure))[:SHOWN]
    doubt = np.bincount(labels, weights=1.0 - sure)
    doubtful = [int(one) for one in np.lexsort((np.arange(len(doubt)), -doubt))[:SHOWN] if doubt[one] > 0.5]
    right = precision = recall = count = None
    if len(pages) >= FEWEST:
        right, precision, recall = _shares(state, labels, sure, purity(state))
        count = _count(state, main_chance(state, pairs))
    least_sure = tuple(int(item) for item in least if sure[item] < SANE)
    return Quality(right, precision, recall, len(pages), LEVEL, least_sure, tuple(doubtful)), count, _warning(state)


# -- shares ----------------------------------------------------------------------------------------------------------------


def shift_posterior(pages: list[RandomPage], rates: SheetRates) -> Floats:
    """Return the posterior (321,) of the shift of the log-odds, by what the pages say."""
    log = -0.5 * np.square(SHIFTS / SPREAD)
    for page in pages:
        chance = shifted(np.array(page.sure), SHIFTS)
        said_right = (1 - rates.miss) * (1 - rates.false) ** page.larger  # of one that is right
        heard = said_right * chance + rates.miss * (1 - chance)
        log += np.log(heard if page.right else 1 - heard)
    found = np.exp(log - log.max())
    return np.asarray(found / found.sum())


def shifted(sure: Floats, by: Floats | float) -> Floats:
    sane = np.clip(sure, 1 - SANE, SANE)
    return np.asarray(1.0 / (1.0 + np.exp(-(np.log(sane / (1 - sane)) + by))))


def _shares(state: State, labels: NDArray[np.int64], sure: Floats, pure: Floats) -> tuple[Bounds, Bounds, Bounds]:
    chance = np.random.default_rng(0)  # the same draws every time: an interval must not tremble
    placed = state.book.clusters.label >= 0
    draws = {}
    for side in (True, False):
        pages = [page for page in state.book.random if page.placed == side]
        weight = shift_posterior(pages, state.fit.rates)
        draws[side] = np.interp((chance.permutation(DRAWS) + 0.5) / DRAWS, np.cumsum(weight), SHIFTS)
    found = np.empty((DRAWS, 3))
    size = np.bincount(labels).astype(np.float64)
    for number in range(DRAWS):
        by = np.where(placed, draws[True][number], draws[False][number])
        expected = 1.0 - np.array(_measures(shifted(sure, by), shifted(pure, by), labels, size))
        wrong = len(labels) * expected[0]  # what comes true differs from what is expected by chance
        apart = chance.poisson(wrong) / wrong, *(chance.poisson(wrong / CLUMP, 2) * CLUMP / wrong)
        found[number] = np.clip(1.0 - expected * np.array(apart), 0.0, 1.0)
    return _bounds(found[:, 0]), _bounds(found[:, 1]), _bounds(found[:, 2])


def _measures(sure: Floats, pure: Floats, labels: NDArray[np.int64], size: Floats) -> tuple[float, float, float]:
    """Right share, and precision and recall of pairs, if labels are right, and groups pure, with these probabilities."""
    good = np.bincount(labels, weights=sure, minlength=len(size))
    together = _both(sure, labels, len(size))
    pairs = float((size * (size - 1)).sum())
    precision = float(_both(pure, labels, len(size)).sum()) / pairs if pairs else 1.0
    right = float(sure.mean())
    lost = 1.0 - right
    apart = float((good * good * (2 * lost + lost * lost)).sum()) if right else 0.0
    recall = float(together.sum()) / max(float(together.sum()) + apart, 1e-12) if together.sum() else 1.0 - lost
    return right, precision, recall


def _both(chance: Floats, labels: NDArray[np.int64], groups: int) -> Floats:
    """Expected ordered pairs of each group of which both items are what they are taken for."""
    total = np.bincount(labels, weights=chance, minlength=groups)
    square = np.bincount(labels, weights=chance * chance, minlength=groups)
    return np.asarray(np.maximum(total * total - square, 0.0))


def _bounds(draws: Floats) -> Bounds:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Bounds(float(draws.mean()), float(low), float(high))


# -- how many ----------------------------------------------------------------------------------------------------------------


def _count(state: State, main: Floats) -> Bounds:
    clusters = state.book.clusters
    live = clusters.live
    size = clusters.size[live]
    recent = state.book.random[-RECENT:]
    new = binomial(sum(page.alone for page in recent), len(recent))[1]
    double = binomial(sum(page.hits > 1 for page in recent), len(recent))[1] / 2
    several = size[size > 1]
    median = float(np.median(several)) if len(several) else 1.0
    left = len(clusters.unplaced)
    low = float(int((size > 2).sum() * (1 - double)))
    high = float(int(len(size) + new * left / median + 1))
    return Bounds(min(max(float(main[live].sum()), low), high), low, high)


def binomial(hits: int, trials: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share.

    >>> [round(end, 3) for end in binomial(9, 10)]
    [0.555, 0.997]
    """
    if not trials:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, trials - hits + 1))
    return low, 1.0 if hits == trials else float(beta.ppf(1 - tail, hits + 1, trials - hits))


def _warning(state: State) -> str | None:
    marked, cells = state.book.marks
    if state.book.glances < CAREFUL or not cells:
        return None
    if marked >= ALL * cells:
        return f"{marked:,} of {cells:,} cells were marked: whoever answers seems to mark everything, and the groups mean nothing"
    if not marked:
        return f"none of {cells:,} cells was marked: whoever answers seems to mark nothing, or no two items are the same"
    return None

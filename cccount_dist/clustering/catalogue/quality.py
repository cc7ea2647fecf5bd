"""How good the groups are, measured on random pages, each of an item that was drawn from all with equal chance.

A page says whether the item was in the right group just before it was asked. Time O(n + pages), memory O(n).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from cccount_dist.clustering.catalogue.labels import surety
from cccount_dist.clustering.catalogue.state import RandomPage, State
from cccount_dist.clustering.quality import Bounds, Quality

LEVEL = 0.95
FEWEST = 5  # random pages before which nothing is said
PLACED, LEFT, RECENT = 60, 20, 40  # the last random pages of placed and of unplaced items, and of both
SHOWN = 12  # least sure items, and groups
CAREFUL = 10  # sheets after which somebody who marks everything or nothing is noticed
ALL, NOTHING = 0.95, 0.0


def measured(state: State, labels: NDArray[np.int64]) -> tuple[Quality | None, Bounds | None, str | None]:
    """Return the quality, the number of groups and a warning; None where nothing can be said."""
    pages = state.book.random
    sure = surety(state)
    least = np.lexsort((np.arange(len(sure)), sure))[:SHOWN]
    least = least[sure[least] < 1.0]
    size = np.bincount(labels)
    doubt = np.bincount(labels, weights=1.0 - sure)
    doubtful = [int(one) for one in np.lexsort((np.arange(len(size)), -doubt))[:SHOWN] if doubt[one] > 0.5]
    enough = len(pages) >= FEWEST
    right = _right(state) if enough else None
    quality = Quality(right, None, None, len(pages), LEVEL, tuple(least.tolist()), tuple(doubtful), None)
    return quality, _count(state) if enough else None, _warning(state)


def _right(state: State) -> Bounds:
    placed = [page for page in state.book.random if page.placed][-PLACED:]
    left = [page for page in state.book.random if not page.placed][-LEFT:]
    share = float((state.book.clusters.label >= 0).mean())
    value = low = high = 0.0
    for weight, pages in ((share, placed), (1 - share, left)):
        right = sum(page.right for page in pages)
        bottom, top = binomial(right, len(pages))
        middle = (right + 0.5) / (len(pages) + 1)
        heard = 1 - state.fit.rates.miss
        bottom, middle, top = (min(1.0, one / heard) for one in (bottom, middle, top))
        value += weight * middle
        low += (weight * (middle - bottom)) ** 2
        high += (weight * (top - middle)) ** 2
    return Bounds(value, max(0.0, value - low**0.5), min(1.0, value + high**0.5))


def _count(state: State) -> Bounds:
    clusters = state.book.clusters
    size = clusters.size[clusters.live]
    recent: list[RandomPage] = state.book.random[-RECENT:]
    new = binomial(sum(page.alone for page in recent), len(recent))[1]
    double = binomial(sum(page.hits > 1 for page in recent), len(recent))[1] / 2
    several = size[size > 1]
    median = float(np.median(several)) if len(several) else 1.0
    left = len(clusters.unplaced)
    return Bounds(float(len(size)), float(int((size > 2).sum() * (1 - double))), float(int(len(size) + new * left / median + 1)))


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
    if marked <= NOTHING * cells:
        return f"none of {cells:,} cells was marked: whoever answers seems to mark nothing, or no two items are the same"
    return None

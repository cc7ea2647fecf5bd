"""What an answer takes a person, learnt from the log of a campaign: seconds of a pair, of a page, of a cell on it and of a click.

A page takes `page + cell · cells + click · clicks` seconds. Until people have answered, the campaign's own numbers hold (9 s a
pair, 30 s a page of 24 cells with 7 clicks); with every answer they count less. Somebody who goes for lunch tells nothing: what
took more than five times as long as is usual counts as that. The fit is a ridge around the first numbers, scaled to how fast
these people are, and no part of it is below nothing. Time and memory: the looks, some thousand at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PAGE, CELL, CLICK = (
    6.0,
    0.8,
    0.7,
)  # seconds, before anything was measured: of a page apart from its cells and clicks, of one of these
FULL_CELLS, FULL_CLICKS = 24, 7  # of a page that takes 30 s by these
_CUT = 5.0  # times the median: longer was no work
_FIRST = 10.0  # looks that the first numbers weigh as much as
_SPREAD = 0.5  # of the time of a page around its mean, as a share of it


class PageLook(NamedTuple):
    """A page that somebody answered: how long it took, how many cells it had, and the clicks on them."""

    seconds: float
    cells: int
    clicks: int


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a person, and how many answers they were learnt from.

    whole_page : of a page as it is in this campaign, with its cells and clicks
    """

    pair: float
    page: float
    cell: float
    click: float
    whole_page: float
    pairs: int = 0
    pages: int = 0

    def of_page(self, cells: int, clicks: float) -> float:
        """What a page with so many cells and clicks takes."""
        return self.page + self.cell * cells + self.click * clicks

    def seconds(self, pairs: int, pages: int) -> float:
        """What so many pairs and pages of this campaign take."""
        return pairs * self.pair + pages * self.whole_page


def learn_costs(
    pairs: Sequence[float], pages: Sequence[PageLook], *, pair_seconds: float = 9.0, page_seconds: float = 30.0
) -> Costs:
    """Return what answers take, from the seconds of pairs and from pages; the last two are what holds without any.

    >>> first = learn_costs([], [])
    >>> first.pair, first.whole_page, round(first.of_page(24, 7), 1)
    (9.0, 30.0, 30.0)
    >>> learn_costs([4.0] * 90, []).pair
    4.5
    """
    pair = _pulled(pairs, pair_seconds)
    first = np.array([PAGE, CELL, CLICK]) * page_seconds / (PAGE + CELL * FULL_CELLS + CLICK * FULL_CLICKS)
    if not pages:
        return _costs(pair, first, page_seconds, len(pairs), 0)
    from scipy.optimize import nnls  # which takes longer to import than all the rest of a command's beginning

    parts = np.array([[1.0, look.cells, look.clicks] for look in pages])
    ratio = np.array([look.seconds for look in pages]) / (parts @ first)
    ratio = np.minimum(ratio, _CUT * np.median(ratio))
    scaled = first * (_FIRST + ratio.sum()) / (_FIRST + len(ratio))
    expected = parts @ scaled
    weight = 1.0 / (_SPREAD * expected)
    # Factors of the three numbers, by least squares: each is 1 as far as one look would say so, and a page as a whole takes what
    # is expected as far as some looks would.
    shares = parts * scaled * weight[:, None]
    rows = np.vstack([shares, np.eye(3) / _SPREAD, _FIRST**0.5 * shares.mean(axis=0)])
    wanted = np.concatenate([ratio * (parts @ first) * weight, np.ones(3) / _SPREAD, [_FIRST**0.5 / _SPREAD]])
    factors, _ = nnls(rows, wanted)
    learnt = factors * scaled
    return _costs(pair, learnt, float((parts @ learnt).mean()), len(pairs), len(pages))


def _costs(pair: float, parts: NDArray[np.float64], whole: float, pairs: int, pages: int) -> Costs:
    page, cell, click = parts.tolist()
    return Costs(pair, page, cell, click, whole, pairs, pages)


def _pulled(seconds: Sequence[float], first: float) -> float:
    """Their mean without lunch breaks, pulled towards the first number as if that had been measured some times."""
    if not seconds:
        return first
    most = _CUT * median(seconds)
    return (_FIRST * first + sum(min(value, most) for value in seconds)) / (_FIRST + len(seconds))


__all__ = ["Costs", "PageLook", "learn_costs"]

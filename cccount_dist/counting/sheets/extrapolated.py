"""From a grouped sample to the number of classes in the collection, with what may be wrong in the sample.

Parts of others go into the likelihood (`mixture.py`); classes that are hidden in groups of others, and items in no group, are
cases: the interval holds that there are none of them, and that there are as many as are expected. Where the sample is the whole
collection nothing is extrapolated: what was found is the number, but for those parts and cases.
"""

import math

import numpy as np

from cccount_dist.clustering.catalogue.state import State
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.richness import Richness, richness
from cccount_dist.counting.sheets.grouped import Grouped

_MANY, _FEW = 2.0, 0.15  # deviations; and fewer than so many expected are none
_PAGES = 64  # of items in no group, that count


def extrapolated(found: Grouped, state: State, items: int, level: float, answers: int) -> CountResult:
    """Return the count among `items` items."""
    hidden = round(found.hidden)
    alone = min(_at_most(found.left * _new_share(state)), found.left)
    cases = [_case(found, items, level, apart, more) for apart, more in {(0, 0), (hidden, 0), (_at_most(found.hidden), alone)}]
    usual = _case(found, items, level, hidden, 0)
    low, high = min(one.low for one in cases), max(one.high for one in cases)
    stop = min(one.stop[0] for one in cases), max(one.stop[1] for one in cases)
    values, times = np.unique(found.counts, return_counts=True)
    placed = int(found.counts.sum())
    details = {
        "items_placed": float(placed),
        "items_set_aside": float(found.left),
        "sample": float(state.items),
        "stop_low": stop[0],
        "stop_high": stop[1],
        "false_splits": found.splits,
        "hidden": found.hidden,
        "clusters_found": max(len(found.counts) - found.splits, 1.0),
        "miss_rate": state.fit.rates.miss,
        "false_same_rate": state.fit.rates.false,
        **dict(zip(("chao", "chao_low", "chao_high"), usual.chao, strict=True)),
        **dict(zip(("mixture", "mixture_low", "mixture_high"), usual.mixture, strict=True)),
    }
    certain = max(float(len(found.counts)) - math.ceil(found.splits), 1.0)
    sizes = dict(zip(values.tolist(), times.tolist(), strict=True))
    return CountResult(min(max(usual.estimate, low), high), low, high, level, placed, answers, certain, details, sizes)


def _case(found: Grouped, items: int, level: float, apart: int, alone: int) -> Richness:
    counts = np.concatenate([found.apart(apart), np.ones(alone, np.int64)])
    if found.items >= items:
        seen = float(len(counts))
        low = max(seen - _at_most(found.splits), 1.0)
        way = (max(seen - round(found.splits), 1.0), low, seen)
        return Richness(*way, way, way, (low, seen))
    return richness(counts, items, level, false_splits=min(found.splits, len(counts) - 1.0))


def _at_most(expected: float) -> int:
    """A number that is hardly exceeded, where so many are expected."""
    return math.ceil(expected + _MANY * math.sqrt(expected) - 1e-9) if expected >= _FEW else 0


def _new_share(state: State) -> float:
    """The share of new classes among items in no group: by the pages of such items, which are asked until all are placed."""
    recent = [one.new for one in state.book.fresh if one.weight >= 1.0][-_PAGES:]
    return (sum(recent) + 0.25) / (len(recent) + 0.5)

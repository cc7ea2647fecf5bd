"""How often a cell is missed and falsely marked: learned from what the sheets say of each other, or given.

Every answered cell is a mark or none, and by now the groups say how likely its item and the anchor are the same: the misses and
false marks that are expected, and a prior worth some hundred cells, give the rates. Time: linear in the cells looked at.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

USUAL_MISS, USUAL_FALSE = 0.03, 0.008
_CELLS_SAME, _CELLS_APART = 60.0, 300.0  # cells that the usual rates count for
_MISS, _FALSE = (0.004, 0.3), (0.001, 0.15)  # so that no answer is beyond doubt, and none worth nothing


@dataclass(frozen=True, slots=True)
class SheetRates:
    """`miss`: not marked though the same; `false`: marked though not."""

    miss: float = USUAL_MISS
    false: float = USUAL_FALSE

    @classmethod
    def of(cls, miss: float, false: float) -> "SheetRates":
        """Return given rates, within what can be reckoned with."""
        return cls(min(max(miss, _MISS[0]), _MISS[1]), min(max(false, _FALSE[0]), _FALSE[1]))

    @property
    def mark(self) -> float:
        """The log-odds that a mark is worth."""
        return math.log((1 - self.miss) / self.false)

    @property
    def no_mark(self) -> float:
        """The log-odds that a cell without a mark is worth."""
        return math.log(self.miss / (1 - self.false))


def learned_rates(same: NDArray[np.float64], marked: NDArray[np.bool_]) -> SheetRates:
    """Return the rates, from how likely it is that each cell (m,) is the same as its anchor, and what was said."""
    missed, seen = float(same[~marked].sum()), float(same.sum())
    false, apart = float((1 - same[marked]).sum()), float((1 - same).sum())
    miss = (USUAL_MISS * _CELLS_SAME + missed) / (_CELLS_SAME + seen)
    wrong = (USUAL_FALSE * _CELLS_APART + false) / (_CELLS_APART + apart)
    return SheetRates.of(miss, wrong)

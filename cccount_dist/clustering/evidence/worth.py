"""How often answers are wrong, and what an answer is worth by that: given, or counted on answers to known pairs (gold).

A "same" is worth log((1 - miss) / false_same), a "different" log(miss / (1 - false_same)) log-odds. Before the first gold answer
both rates are 5 %, as if one answer of twenty had been wrong.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.types import SAME, KnownAnswer

USUAL = 0.05
_SEEN = 20.0  # gold answers that the usual rate counts for
_LEAST, _MOST = 0.01, 0.3  # so that no answer is beyond doubt, and none worth nothing
_MIXED = 0.05  # share of cases in which a right answer about two items is wrong about their blocks


@dataclass(frozen=True, slots=True)
class Rates:
    """`miss`: "different" though the same; `false_same`: "same" though different."""

    miss: float = USUAL
    false_same: float = USUAL

    def evidence(self, same: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the log-odds that answers add to those of their blocks."""
        worth_same, worth_different = _worth(self.miss, self.false_same)
        return np.where(same, worth_same, worth_different)

    def lesson(self, same: NDArray[np.float64], different: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-odds of cases with so many votes, as the model learns them: blocks may be mixed."""
        worth_same, worth_different = _worth(self.miss + _MIXED, self.false_same + _MIXED)
        return same * worth_same + different * worth_different


def _worth(miss: float, false_same: float) -> tuple[float, float]:
    return float(np.log((1 - miss) / false_same)), float(np.log(miss / (1 - false_same)))


class Counted:
    """The rates as they are known by now: those that were given, or the usual ones corrected by gold answers."""

    def __init__(self, given: tuple[float, float] | None = None) -> None:
        self._given = None if given is None else Rates(*map(_sane, given))
        self._seen = [0, 0]  # gold: pairs that are different, and the same
        self._wrong = [0, 0]

    def know(self, answer: KnownAnswer) -> None:
        truth = int(answer.truth == SAME)
        self._seen[truth] += answer.times
        self._wrong[truth] += answer.times * (answer.value != answer.truth)

    @property
    def rates(self) -> Rates:
        if self._given is not None:
            return self._given
        false_same, miss = ((_SEEN * USUAL + w) / (_SEEN + s) for w, s in zip(self._wrong, self._seen, strict=True))
        return Rates(_sane(miss), _sane(false_same))


def _sane(rate: float) -> float:
    return min(max(rate, _LEAST), _MOST)

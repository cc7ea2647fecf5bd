"""The fast way: an item that is hardly in any cluster left to ask about founds one without asking about the rest of them.

All that were asked said "different"; the clusters left have the odds w_j, a new one the odds w0. So the item is in one of those
left with probability r = Σw/(Σw + w0), and skipping them makes r false splits. They are subtracted and widen the interval, as
those of wrong answers do. Some items are asked about to the end: how often their cluster was among the rest, against the
Σr that was expected, corrects what the odds say. Each costs as many questions as there are clusters, and all say about as
much, so there are fewer of them later. Skipping is allowed only while few false splits are expected for each cluster
seen once, so it ends by itself where a count is nearly complete. O(D) for each question.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cccount_dist.counting.placing.state import State

LEAST_MATCHES, LEAST_CLUSTERS = 5, 30  # before: odds rest on too little, and there is little to save
LEAST_BY_PAGES = 120  # clusters where pages are asked: five of them
AUDIT, AUDIT_LATER, LATER = 4, 8, 128  # every so many items are asked about to the end; from an item number on fewer
TOLERATED = 0.12  # expected false splits for each cluster seen once
LIGHT_FLOOR = 0.05  # share of the cluster's size in the probability: audited items are the guard against over-confidence here
MOST_RISK = 0.2  # of one item
_PRIOR = 1.5  # false splits among audited items, as many seen as expected, before the first one


@dataclass(slots=True)
class Shortcut:
    """What was skipped, and what the audited items said about it."""

    on: bool = False
    skipped: int = 0  # clusters that were founded without asking about all others
    risk: float = 0.0  # Σ r over them
    audited_risk: float = 0.0  # Σ r over audited items, at the moment when they would have been skipped
    audited_found: int = 0  # of them, those whose cluster was among the rest

    @property
    def correction(self) -> float:
        """How many times more false splits there are than the odds say."""
        return (_PRIOR + self.audited_found) / (_PRIOR + self.audited_risk)

    @property
    def false_splits(self) -> float:
        return self.risk * self.correction

    def is_audit(self, number: int) -> bool:
        """Whether the item at this place of the random order is asked about to the end."""
        return number % (AUDIT if number < LATER else AUDIT_LATER) == 0

    def allows(self, risk: float, once: int) -> bool:
        """Whether so much risk may be taken for one more item."""
        true_risk = risk * self.correction
        return true_risk < MOST_RISK and self.false_splits + true_risk < TOLERATED * once


class Skip:
    """Whether one item may stop before every cluster was asked about."""

    def __init__(self, state: "State", slot: int) -> None:
        self._state = state
        self._audit = state.shortcut.is_audit(slot)
        self._risk: float | None = None  # of the clusters left, when they could have been skipped
        self._skips = False
        self._odds = np.empty(0)  # of every cluster, as of when the last one came to be known

    def look_again(self) -> None:
        """Forget the odds: the features are others now."""
        self._odds = np.empty(0)

    def allowed(self, features: NDArray[np.float64], left: NDArray[np.int64]) -> bool:
        """Whether the clusters left may be skipped now; `features` are the item's against every cluster."""
        self._skips = False
        state, shortcut = self._state, self._state.shortcut
        least = LEAST_CLUSTERS if state.grid == 1 else LEAST_BY_PAGES
        enough = len(left) + LEAST_CLUSTERS // 2 <= len(features) >= least
        if not len(left) or not shortcut.on or not enough or state.chances.matches < LEAST_MATCHES:
            return False
        if len(self._odds) < len(features):
            chance = state.probabilities(features, 0, LIGHT_FLOOR)
            self._odds = chance / (1.0001 - chance) * state.chances.caution(features)
        odds = float(self._odds[left].sum())
        risk = odds / (odds + state.new_rate)
        may = shortcut.allows(risk, state.clusters.once)
        if self._audit:
            if self._risk is None and may:
                self._risk = risk
            return False
        self._skips, self._risk = may, risk
        return may

    def commit(self, *, matched: bool) -> float:
        """Count what became of the item; return the risk that was taken with a cluster that it founds."""
        shortcut = self._state.shortcut
        if self._risk is None:
            return 0.0
        if self._audit:
            shortcut.audited_risk += self._risk
            shortcut.audited_found += matched
        elif self._skips and not matched:
            shortcut.skipped += 1
            shortcut.risk += self._risk
            return self._risk
        return 0.0

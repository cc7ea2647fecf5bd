"""The fast way: an item that is hardly in any cluster left to ask about founds one without asking about the rest of them.

All that were asked said "different"; the clusters left have the odds w_j, a new one the odds w0. So the item is in one of those
left with probability r = Σw/(Σw + w0), and skipping them makes r false splits. They are subtracted and widen the interval, as
those of wrong answers do. Some items are asked about to the end: how often their cluster was among the rest, against the
Σr that was expected, corrects what the odds say. Each costs as many questions as there are clusters, and all say about as
much, so there are fewer of them later. Skipping is allowed only while few false splits are expected for each cluster
seen once, so it ends by itself where a count is nearly complete. O(D) for each question.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cccount_dist.counting.placing.state import State

LEAST_BY_PAGES = 120  # clusters where pages are asked: five of them
AUDIT, AUDIT_LATER, LATER = 4, 8, 128  # every so many items are asked about to the end; from an item number on fewer
SOME = 2  # members of a cluster that are looked at again
CLOSED = 0.65  # neighbourhoods as closed as this (`similarity/closure.py`) are trusted to tell clusters apart


@dataclass(frozen=True, slots=True)
class Rule:
    """When skipping begins, and how far it goes.

    matches, clusters : before so many odds rest on too little, and there is little to save
    asked, left : clusters that were asked about, and that may be saved, at least
    floor : share of the cluster's size in the probability: audited items are the guard against over-confidence
    tolerated : expected false splits for each cluster seen once
    most_risk : of one item
    prior : false splits among audited items, as many seen as expected, before the first one
    audits : share of all questions that goes to audits; None for a fixed share of the items
    gain : what a question asked again must remove of the doubt about a cluster, at least
    """

    matches: int
    clusters: int
    asked: int
    left: int
    floor: float
    tolerated: float
    most_risk: float
    prior: float
    audits: float | None = None
    gain: float = 0.0

    @property
    def trusting(self) -> bool:
        """Whether it skips so early that risks are looked at again later."""
        return self.audits is not None


CAREFUL = Rule(matches=5, clusters=30, asked=15, left=1, floor=0.05, tolerated=0.12, most_risk=0.2, prior=1.5)
TRUSTING = Rule(
    matches=2, clusters=12, asked=3, left=3, floor=0.005, tolerated=0.15, most_risk=0.2, prior=1.5, audits=0.15, gain=0.02
)


@dataclass(slots=True)
class Shortcut:
    """What was skipped, and what the audited items said about it."""

    on: bool = False
    rule: Rule = CAREFUL
    audits: float = 0.0  # questions that audits took
    founded: list[int] = field(default_factory=list)  # clusters that were founded without asking about all others
    skipped: int = 0  # clusters that were founded without asking about all others
    risk: float = 0.0  # Σ r over them, by what is known now (`look_back`)
    taken: float = 0.0  # the same, by what was known when they were founded
    audited_risk: float = 0.0  # Σ r over audited items, at the moment when they would have been skipped
    audited_found: int = 0  # of them, those whose cluster was among the rest

    @property
    def correction(self) -> float:
        """How many times more false splits there are than the odds say."""
        audited = self.audited_risk * (min(self.risk / self.taken, 1.0) if self.taken > 0.0 else 1.0)
        return (self.rule.prior + self.audited_found) / (self.rule.prior + audited)

    @property
    def false_splits(self) -> float:
        return self.risk * self.correction

    def is_audit(self, number: int, effort: float = 0.0) -> bool:
        """Whether the item at this place of the random order is asked about to the end.

        Decided before anything is known about the item, so that those audited are a random sample.
        """
        if self.rule.audits is not None:
            return self.audits <= self.rule.audits * effort
        return number % (AUDIT if number < LATER else AUDIT_LATER) == 0

    def allows(self, risk: float, once: int) -> bool:
        """Whether so much risk may be taken for one more item."""
        true_risk = risk * self.correction
        return true_risk < self.rule.most_risk and self.false_splits + true_risk < self.rule.tolerated * once


class Skip:
    """Whether one item may stop before every cluster was asked about."""

    def __init__(self, state: "State", slot: int) -> None:
        self._state = state
        self._audit = state.shortcut.is_audit(slot, state.effort)
        self._left = 0  # clusters that only an audit asks about
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
        rule = shortcut.rule
        least = rule.clusters if state.grid == 1 else LEAST_BY_PAGES
        enough = len(left) + rule.asked <= len(features) >= least
        if len(left) < rule.left or not shortcut.on or not enough or state.chances.matches < rule.matches:
            return False
        if len(self._odds) < len(features):
            chance = state.probabilities(features, 0, rule.floor)
            self._odds = chance / (1.0001 - chance) * state.chances.caution(features)
        odds = float(self._odds[left].sum())
        risk = odds / (odds + state.new_rate)
        may = shortcut.allows(risk, state.clusters.once)
        if self._audit:
            if self._risk is None and may:
                self._risk, self._left = risk, len(left)
            return False
        self._skips, self._risk = may, risk
        return may

    def commit(self, *, matched: bool) -> float:
        """Count what became of the item; return the risk that was taken with a cluster that it founds."""
        shortcut = self._state.shortcut
        if self._risk is None:
            return 0.0
        if self._audit:
            shortcut.audits += self._left
            shortcut.audited_risk += self._risk
            shortcut.audited_found += matched
        elif self._skips and not matched:
            shortcut.skipped += 1
            shortcut.risk += self._risk
            shortcut.taken += self._risk
            shortcut.founded.append(len(self._state.clusters))
            return self._risk
        return 0.0


def look_back(state: "State") -> None:
    """Take the risk that was taken from what is known now: of the slope, and of clusters that were compared since.

    Only where the vectors are trusted: its risks are taken while few matches have taught anything. O(S D) for S clusters that
    were founded by skipping.
    """
    clusters, rule, total = state.clusters, state.shortcut.rule, 0.0
    for founded in state.shortcut.founded:
        if clusters.live[founded]:
            odds = np.ones(len(clusters))
            looked_at = clusters.members[founded, : min(int(clusters.held[founded]), SOME)].tolist()
            for slot in looked_at:  # their geometric mean: members that found each other may all look like the same other one
                features, _ = state.looks.against(slot, clusters)
                chance = state.probabilities(features, 0, rule.floor)
                odds *= (chance / (1.0001 - chance) * state.chances.caution(features)) ** (1.0 / len(looked_at))
            older = clusters.live[:founded] & (clusters.apart[founded, :founded] == 0)
            left = float(odds[:founded][older].sum())
            total += left / (left + float(clusters.born[founded]))
    state.shortcut.risk = total

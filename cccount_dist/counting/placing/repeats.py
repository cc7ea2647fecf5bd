"""Errors that come again whenever the same two pictures are shown: noticed by comparing two kinds of repetitions.

Wrong answers that are independent show up alike, whether a confirmation shows the very same pair or other members of the cluster.
Those that repeat show up with other members only: then the same pair agrees with itself too often. For every repetition the odds
say how likely the answer is to differ from the one before; given how many differed in all, the number among the very same pairs
is binomial, with the share of what was expected there. It needs no rate, and odds that are wrong in the same way cancel.
"""

from dataclasses import dataclass

from scipy.special import bdtr

_SUSPICIOUS = 0.01  # probability of so much agreement by chance
_FEWEST = 5.0  # answers that should have differed on the very same pair, before anything is said


@dataclass(slots=True)
class Repeats:
    """Answers that differed from the one before, and how many were expected to: on the very same pair, and on other members."""

    same_differ: int = 0
    same_expected: float = 0.0
    other_differ: int = 0
    other_expected: float = 0.0

    def add(self, *, same_pair: bool, differs: bool, expected: float) -> None:
        if same_pair:
            self.same_differ += differs
            self.same_expected += expected
        else:
            self.other_differ += differs
            self.other_expected += expected

    def join(self, others: "Repeats") -> None:
        self.same_differ += others.same_differ
        self.same_expected += others.same_expected
        self.other_differ += others.other_differ
        self.other_expected += others.other_expected

    @property
    def chance(self) -> float:
        """Probability that so few differ on the very same pair, if errors are independent; 1 while too little is known."""
        if self.same_expected < _FEWEST or self.other_expected <= 0.0:
            return 1.0
        share = self.same_expected / (self.same_expected + self.other_expected)
        return float(bdtr(self.same_differ, self.same_differ + self.other_differ, share))

    @property
    def suspicious(self) -> bool:
        return self.chance < _SUSPICIOUS

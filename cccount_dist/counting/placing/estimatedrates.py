"""How often answers are wrong: given, or estimated on the way from gold, repeated questions and what re-checks find.

`miss`: "different" though the same; `false_same`: "same" though different; `page_miss` and `page_false`: nothing picked though
one is the same, something picked though none is. Priors are pessimistic and light for misses, which cost most; caps prevent a
runaway in which nothing is accepted, everything looks wrong and still less is accepted.
"""

from cccount_dist.sampling.errorrates import GivenRates
from cccount_dist.sampling.types import SAME

_MOST_FALSE, _MOST_MISSED = 0.12, 0.15


class Rates:
    """The rates that are believed now."""

    def __init__(self, given: GivenRates | None) -> None:
        self.given = given
        self.repeats = self.missed = 0  # further answers on accepted pairs, and "different" among them
        self.refuted = self.false = 0  # answers on pairs decided "different", and "same" among them
        self.page_matches = self.page_missed = 0  # pages that held the cluster which was accepted at last, and did not pick it
        self.pages = self.false_picks = 0  # pages on which nothing turned out to be the same
        self.known_same = self.known_missed = 0  # gold: pairs that are the same, and "different" said about them
        self.known_different = self.known_false = 0  # gold: pairs that are different, and "same" said about them
        self.known_on_pages = self.known_page_missed = (
            0  # gold: pages with one that is the same, and those on which it was missed
        )
        self.twice_same = self.twice_different = self.twice_mixed = 0  # pairs that one person answered twice, by what was said

    @property
    def exact(self) -> bool:
        return self.given is not None and not self.given.any

    @property
    def false_same(self) -> float:
        if self.given is not None:
            return self.given.false_same
        _, false = self._wrong_of_two()
        return self._false_same(false, 2.0 * (self.twice_different + false))

    @property
    def miss(self) -> float:
        if self.given is not None:
            return self.given.miss
        missed, _ = self._wrong_of_two()
        return self._miss(self.false_same, missed, 2.0 * (self.twice_same + missed))

    def _false_same(self, wrong: float, answers: float) -> float:
        """The rate from what is known, and from so many wrong among further answers on different pairs."""
        known, trials = self.false + self.known_false, self.refuted + self.known_different
        return min(_MOST_FALSE, (2.0 + known + wrong) / (50.0 + trials + answers))

    def _miss(self, false_same: float, wrong: float, answers: float) -> float:
        known, trials = self.missed + self.known_missed, self.repeats + self.known_same
        return min(_MOST_MISSED, (20.0 * max(0.06, 1.25 * false_same) + known + wrong) / (20.0 + trials + answers))

    def _wrong_of_two(self) -> tuple[float, float]:
        """Pairs that were answered twice and differently have one wrong answer each: misses, and false "same" (expected).

        Such pairs alone cannot tell which of the two it is: that follows from how many pairs are the same among those answered
        alike, and from the rates without them.
        """
        if not self.twice_mixed:
            return 0.0, 0.0
        same = (1.0 + self.twice_same) / (2.0 + self.twice_same + self.twice_different)
        rate = self._false_same(0.0, 0.0)
        missed, false = same * self._miss(rate, 0.0, 0.0), (1.0 - same) * rate
        return self.twice_mixed * missed / (missed + false), self.twice_mixed * false / (missed + false)

    @property
    def page_miss(self) -> float:
        if self.given is not None:
            return max(self.given.page_miss, 1e-4)
        missed, matches = self.page_missed + self.known_page_missed, self.page_matches + self.known_on_pages
        return min(_MOST_MISSED, (20.0 * 0.06 + missed) / (20.0 + matches))

    @property
    def page_false(self) -> float:
        if self.given is not None:
            return max(self.given.page_false, 1e-4)
        return min(_MOST_FALSE, (0.75 + self.false_picks) / (50.0 + self.pages))

    def know(self, truth: float, value: float, *, paged: bool, times: int = 1) -> None:
        """Count an answer to a pair whose truth is known (gold); `times` is -1 for one that was taken back."""
        wrong = times if value != truth else 0
        if paged:  # a page errs as a whole: only what it misses can be told from one pair of it
            if truth == SAME:
                self.known_on_pages += times
                self.known_page_missed += wrong
        elif truth == SAME:
            self.known_same += times
            self.known_missed += wrong
        else:
            self.known_different += times
            self.known_false += wrong

    def know_twice(self, before: float, value: float, times: int = 1) -> None:
        """Count a pair that one person answered twice; `times` is -1 for an answer that was taken back."""
        if before != value:
            self.twice_mixed += times
        elif value == SAME:
            self.twice_same += times
        else:
            self.twice_different += times

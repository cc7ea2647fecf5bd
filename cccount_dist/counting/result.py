"""What every estimator of the number of clusters returns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class CountResult:
    """The number of clusters, with an interval. Never NaN.

    `estimate` is None as long as nothing is known; the interval is then the certain one: from 1 cluster to one for each item.
    """

    estimate: float | None
    low: float
    high: float
    level: float  # of the interval, for example 0.95
    anchors: int  # independent repetitions that the estimate rests on: anchors, or items that were placed
    answers: int  # same or different; unsure answers are not among them
    certain_low: float = 1.0  # clusters that were seen: there are at least so many if the answers are right
    details: Mapping[str, float] = field(default_factory=dict)  # of the method, for the report

    @property
    def disagreement(self) -> str | None:
        """What to warn of: two ways to extrapolate from the same items whose intervals do not meet."""
        found = self.details
        if "mixture_low" not in found or max(found["chao_low"], found["mixture_low"]) <= min(
            found["chao_high"], found["mixture_high"]
        ):
            return None
        return (
            f"Chao's bound says {found['chao_low']:,.1f} to {found['chao_high']:,.1f} and the size mixture "
            f"{found['mixture_low']:,.1f} to {found['mixture_high']:,.1f}: ask more before you rely on either"
        )

    @property
    def relative_width(self) -> float:
        """The interval's width in parts of the estimate; infinite as long as there is no estimate."""
        return (self.high - self.low) / self.estimate if self.estimate else math.inf

    def at_stop(self) -> "CountResult":
        """The result for a campaign that stops because its interval is narrow enough: an interval that pays for the looks.

        Whoever looks again and again stops at a moment when the interval is narrow by chance. The wider interval keeps its level
        also then.
        """
        if "stop_low" not in self.details:
            return self
        return replace(self, low=self.details["stop_low"], high=self.details["stop_high"])

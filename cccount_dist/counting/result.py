"""What every estimator of the number of clusters returns."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

# Ways to count from the same answers whose intervals should meet: their names in `details`, and in words.
_COMPARED = (
    ("chao", "Chao's bound", "mixture", "the size mixture"),
    ("inverse", "inverse sampling from the same items", "mixture", "the size mixture"),
)


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
    sizes: Mapping[int, int] = field(default_factory=dict)  # items placed in a cluster -> clusters seen with so many

    @property
    def warnings(self) -> list[str]:
        """What to know before relying on the number, in plain words."""
        found = self.details
        said = [
            f"{first} says {self._range(a)} and {second} {self._range(b)}: ask more before you rely on either"
            for a, first, b, second in _COMPARED
            if not self._meet(a, b)
        ]
        if found.get("repeating_errors"):
            said.append(
                "people seem to err again and again on the same pairs: of those that were shown once more, "
                f"{found['repeats_same_pair']:,.0f} got another answer, and about {found['repeats_same_pair_expected']:,.0f} "
                "should have. "
                "Let other people answer the confirmations, with other images; the interval does not allow for such errors"
            )
        if new := round(found.get("new_items", 0)):
            said.append(
                "1 item is new and was not looked at yet: the upper end allows for it to show somebody new"
                if new == 1
                else f"{new:,} items are new and were not looked at yet: the upper end allows for each to show somebody new"
            )
        return said

    def _range(self, way: str) -> str:
        """The interval of a way to count, in whole numbers that hold it."""
        low, high = math.floor(self.details[f"{way}_low"]), math.ceil(self.details[f"{way}_high"])
        return f"{low:,} to {high:,}"

    def _meet(self, a: str, b: str) -> bool:
        """Whether the intervals of two ways overlap, as far as both are there."""
        found = self.details
        if f"{a}_low" not in found or f"{b}_low" not in found:
            return True
        return max(found[f"{a}_low"], found[f"{b}_low"]) <= min(found[f"{a}_high"], found[f"{b}_high"])

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


@runtime_checkable
class Placed(Protocol):
    """A count that knows which items it saw together, so that its clusters can be shown and corrected."""

    def partition(self) -> Sequence[Sequence[int]]:
        """Return the clusters that were seen, each with its items."""

"""What each side shows and how many animals are behind it, as campaigns store and tell it. Light to import."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from cccount_dist.campaign.noun import Noun

SIDES_FILE = "sides.json"  # in the results of a campaign


@dataclass(frozen=True, slots=True, kw_only=True)
class OneSide:
    """How many there are that show this side; low and high are the same number where everything is grouped."""

    estimate: float | None
    low: float
    high: float

    def words(self) -> str:
        if self.estimate is None:
            return f"{self.low:,.0f} to {self.high:,.0f}"
        if self.low == self.high:
            return f"{self.estimate:,.0f}"
        return f"{self.estimate:,.0f} ({self.low:,.0f} to {self.high:,.0f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFigures:
    """The count for each side and for animals."""

    of_side: Mapping[str, OneSide]
    least: float  # animals: the side with the most …
    most: float  # … and the sum of the sides, less those of which both sides are known
    joined: int  # animals of which both sides are known
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    grouped: bool = True  # whether all pictures are grouped; otherwise least and most are as sure as the intervals of the sides

    @classmethod
    def read(cls, data: bytes | None) -> Self | None:
        """Return what was stored; None if nothing was."""
        if data is None:
            return None
        found: dict[str, Any] = json.loads(data)
        if not found.get("of_side"):
            return None
        found.pop("stamp", None)
        sides = {name: OneSide(**one) for name, one in found.pop("of_side").items()}
        return cls(of_side=sides, **{name: value for name, value in found.items() if name in cls.__dataclass_fields__})

    def stored(self) -> bytes:
        """The same for the results of a campaign."""
        return json.dumps(asdict(self), indent=1).encode()

    def json(self) -> dict[str, object]:
        """For a program: each side by its name, and `animals`."""
        animals = {name: getattr(self, name) for name in ("least", "most", "joined", "estimate", "low", "high")}
        return {**{name: asdict(one) for name, one in self.of_side.items()}, "animals": animals}

    def words(self, noun: Noun) -> list[str]:
        """What a person is told."""
        sides = ", ".join(f"{name} {one.words()}" for name, one in self.of_side.items())
        sure = "if these groups are right" if self.grouped else "by the intervals of the sides"
        twice = "Pictures of different sides were not compared, so one that was seen from both sides counts twice above."
        lines = [f"By side: {sides}. {twice}"]
        known = f"; both sides are known of {self.joined:,}" if self.joined else ""
        lines.append(f"Both sides taken together: {self.least:,.0f} to {noun.of(round(self.most))} {sure}{known}.")
        if self.estimate is not None and self.low is not None and self.high is not None:
            lines.append(
                f"{noun.about(self.estimate, self.low, self.high)[:1].upper()}"
                f"{noun.about(self.estimate, self.low, self.high)[1:]}, judged by those that were met from both sides at once."
            )
        elif self.grouped:
            lines.append(
                "No estimate between the two: too few were met from both sides at once (`cccount facts cameras` joins the sides "
                "of cameras that stand opposite each other)."
            )
        return lines

    @property
    def brief(self) -> str:
        """In a few words, for a table: the sides, and the animals."""
        animals = f"{self.least:,.0f} to {self.most:,.0f}" if self.estimate is None else f"about {self.estimate:,.0f}"
        sides = ", ".join(f"{name} {one.words()}" for name, one in self.of_side.items())
        return f"{sides}; both sides taken together {animals}"


__all__ = ["SIDES_FILE", "OneSide", "SideFigures"]

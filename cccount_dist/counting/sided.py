"""A count of what each side shows: every side has its estimate and interval, and together they are their sum.

The sum counts an animal that was seen from both sides twice; how many animals that are is worked out from what joins sides
(`individuals/sidecount.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from cccount_dist.counting.corrected import corrected
from cccount_dist.counting.result import CountResult, Placed
from cccount_dist.sampling.methods import Method
from cccount_dist.sampling.sided import Part, Sided
from storage.errors import InputError

SIDE = "side: "  # before the name of a side, in `details`


def check_sided(method: Method) -> None:
    """Raise `InputError` for a method that cannot keep sides apart: those that draw pairs by how similar all items are."""
    if "degrees" in method.needs:
        raise InputError(
            f"{method.name} draws pairs from all pictures, and cannot keep the sides of animals apart: use --method placing or "
            "sheets, or say that pictures of different sides can be compared (--sides together)"
        )


class SidedCount(Sided[CountResult]):
    """The counts of all sides as one sampler."""

    def __init__(self, parts: list[Part[CountResult]], items: int, level: float) -> None:
        super().__init__(parts, items)
        self._level = level

    def result(self) -> CountResult:
        """Return the sum: errors of the sides are independent, so their squares add up. None until every side has an estimate."""
        return self._sum({side: found for side, _, found in self.own()})

    def kept_to(self, links: Sequence[tuple[int, int, float]]) -> CountResult:
        """Return the sum with what people corrected by hand respected, on each side."""
        found: dict[str, CountResult | None] = {}
        for part in self.parts:
            own, sampler = None if part.sampler is None else part.sampler.result(), cast("object", part.sampler)
            if own is not None and isinstance(sampler, Placed):
                own = corrected(own, sampler.partition(), links, len(part.items))
            found[part.side] = own
        return self._sum(found)

    def _sum(self, of_parts: dict[str, CountResult | None]) -> CountResult:
        alone = CountResult(1.0, 1.0, 1.0, self._level, 1, 0)
        of_sides = {side: found if found is not None else alone for side, found in of_parts.items()}
        every = list(of_sides.values())
        details = {f"{SIDE}{side}": float(r.estimate) for side, r in of_sides.items() if r.estimate is not None}
        for side, r in of_sides.items():
            details |= {f"{SIDE}{side}_low": r.low, f"{SIDE}{side}_high": r.high}
            details |= {f"{name} ({side})": value for name, value in r.details.items() if name.startswith(("stop", "items_"))}
        sizes: dict[int, int] = {}
        for size, times in (pair for r in every for pair in r.sizes.items()):
            sizes[size] = sizes.get(size, 0) + times
        certain = sum(r.certain_low for r in every)
        whole = CountResult(
            None, max(1.0, sum(r.low for r in every)), sum(r.high for r in every), self._level, sum(r.anchors for r in every),
            sum(r.answers for r in every), certain, details, sizes,
        )  # fmt: skip
        if any(r.estimate is None for r in every):
            return whole
        estimate = sum(r.estimate or 0.0 for r in every)
        below = math.sqrt(sum(((r.estimate or 0.0) - r.low) ** 2 for r in every))
        above = math.sqrt(sum((r.high - (r.estimate or 0.0)) ** 2 for r in every))
        return replace(whole, estimate=estimate, low=max(estimate - below, 1.0), high=estimate + above)

    def partition(self) -> list[list[int]]:
        """Return the clusters that were seen, side by side; none has pictures of two sides."""
        found: list[list[int]] = []
        for part in self.parts:
            if part.sampler is None:
                found.append(np.asarray(part.items).tolist())
            elif isinstance(part.sampler, Placed):
                found += [list(cluster) for cluster in part.sampler.partition()]
        return found


__all__ = ["SIDE", "SidedCount", "check_sided"]

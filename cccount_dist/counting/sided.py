"""A count of what each side shows: every side has its estimate and interval, and together they are their sum.

The sum counts an animal that was seen from both sides twice; how many animals that are is worked out from what joins sides
(`individuals/sidecount.py`).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.corrected import corrected
from cccount_dist.counting.result import CountResult, Placed
from cccount_dist.options import listed
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.methods import Method, methods_of
from cccount_dist.sampling.sided import Part, Sided
from storage.errors import InputError

_FEW = 64  # pictures of a side up to which it is looked whether all is settled
SIDE = "side: "  # before the name of a side, in `details`


def check_sided(method: Method, campaign: str | None = None) -> None:
    """Raise `InputError` for a method that cannot keep sides apart: those that draw pairs by how similar all items are.

    `campaign`: one that began before pictures had sides.
    """
    if "degrees" in method.needs:
        able = listed([one.name for one in methods_of(method.kind).values() if "degrees" not in one.needs], " or ")
        where = "" if campaign is None else f"campaign {campaign!r} cannot go on: "
        other = "use --method" if campaign is None else "start another campaign with --campaign NAME and --method"
        raise InputError(
            f"{where}{method.name} draws pairs from all pictures, and cannot keep the sides of animals apart: {other} {able}, or "
            "say that pictures of different sides can be compared (--sides together)"
        )


class SidedCount(Sided[CountResult]):
    """The counts of all sides as one sampler."""

    def __init__(self, parts: list[Part[CountResult]], items: int, level: float) -> None:
        super().__init__(parts, items)
        self._level = level

    def result(self) -> CountResult:
        """Return the sum: errors of the sides are independent, so their squares add up. None until every side has an estimate."""
        return self._sum({side: found for side, _, found in self.own()})

    def kept_to(self, known: Constraints, links: Sequence[tuple[int, int, float]] = ()) -> CountResult:
        """Return the sum with all that is known respected, on each side. `links`: what people corrected by hand, if anything.

        A side of few pictures is soon settled, and then its number is that, also where a method has too little for an estimate.
        """
        found: dict[str, CountResult | None] = {}
        for part in self.parts:
            own, sampler = None if part.sampler is None else part.sampler.result(), cast("object", part.sampler)
            if own is not None and links and isinstance(sampler, Placed):
                own = corrected(own, sampler.partition(), links, len(part.items))
            if own is not None and own.estimate is None and (number := _settled(known, part.items)) is not None:
                own = replace(own, estimate=number, low=number, high=number, certain_low=number)
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


def _settled(known: Constraints, items: NDArray[np.int64]) -> float | None:
    """How many clusters these items are, if it is known of every pair and they are few."""
    if len(items) > _FEW or np.any(known.relations(items, items)[~np.eye(len(items), dtype=np.bool_)] < 0):
        return None
    return float(len(np.unique(known.names(items))))


__all__ = ["SIDE", "SidedCount", "check_sided"]

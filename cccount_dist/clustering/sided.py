"""Groups of each side: no group has pictures of two sides."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cccount_dist.clustering.result import Grouping, Previewing, numbered
from cccount_dist.sampling.sided import Sided
from cccount_dist.sampling.types import Question


class SidedGroups(Sided[Grouping]):
    """The grouping samplers of all sides as one."""

    def result(self) -> Grouping:
        """Return the groups of all sides. What a method says of itself (quality, expected classes) is of one side, and left out,
        except for how many classes there are, which add up."""
        labels = np.full(self.items, -1, np.int64)
        own = self.own()
        first, expected, cautions = 0, 0.0, []
        for side, items, found in own:
            if found is None:
                labels[items], first, expected = first, first + 1, expected + 1
                continue
            inside = found.labels[items]
            labels[items] = np.where(inside >= 0, inside + first, -1)
            first += found.clusters
            expected = expected + (float("nan") if found.expected_classes is None else found.expected_classes)
            if found.warning:
                cautions.append(f"{side}: {found.warning}")
        steady = [found.steady_answers for _, _, found in own if found is not None]
        return Grouping(
            numbered(labels),
            warning="; ".join(cautions) or None,
            expected_classes=None if np.isnan(expected) else expected,
            against=tuple(pair for _, _, found in own if found is not None for pair in found.against),
            steady_answers=None if None in steady else min((s for s in steady if s is not None), default=None),
        )

    def preview(self, limit: int) -> Sequence[Question]:
        """Return what each side would ask now, in turns."""
        samplers: list[object] = [part.sampler for part in self.parts]
        ahead = [list(one.preview(limit)) for one in samplers if isinstance(one, Previewing)]
        turns = [question for place in range(limit) for some in ahead for question in some[place : place + 1]]
        return [replace(question, id=-1) for question in turns[:limit]]


__all__ = ["SidedGroups"]

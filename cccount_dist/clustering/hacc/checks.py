"""Questions about the weakest link of a micro-cluster: "different" opens it, so no assumption stands for good.

The value of a check is on the scale of the other questions: the share of checks that failed so far (smoothed), times 1 - J if the
smaller part left its cluster, which is the paper's H2. So checks come up where micro-clusters are large beside their cluster.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.engine import EXCLUDED, pairs_within
from cccount_dist.clustering.hacc.forest import Bytes, Forest, Int64s
from cccount_dist.clustering.hacc.knowledge import Knowledge
from cccount_dist.clustering.hacc.problem import MOST_UNITS


class Checks:
    """The value of checking each unit, in one state of knowledge."""

    def __init__(self, knowledge: Knowledge, forest: Forest, outcomes: tuple[int, int]) -> None:
        failed, answered = outcomes
        self._cluster = forest.labels()
        self._value = np.full(len(knowledge.problem.node), -1.0)
        self._ends = np.empty((len(self._value), 2), np.int64)
        micro = knowledge.micro
        if micro is None or len(self._value) >= MOST_UNITS:
            return
        units: Int64s = np.flatnonzero(knowledge.problem.node >= micro.items)
        join = knowledge.problem.node[units] - micro.items
        self._ends[units] = np.stack((micro.first[micro.link[join]], micro.second[micro.link[join]]), axis=1)
        smaller = micro.size[micro.parts[join]].min(axis=1).astype(np.float64)
        size = np.bincount(self._cluster, weights=knowledge.problem.weight)[self._cluster[units]]
        lost = smaller * (size - smaller) / pairs_within(forest)
        asked = knowledge.problem.beliefs.agreements[units, units] == EXCLUDED  # a question inside a unit marks its diagonal
        self._value[units] = np.where(asked, -1.0, (failed + 1) / (answered + 2) * lost)

    def best(self, taken: Bytes) -> tuple[float, int]:
        """Return the value of the best check in a cluster that is not taken, and its unit; a value below 0 if there is none."""
        value: NDArray[np.float64] = np.where(taken[self._cluster] != 0, -1.0, self._value)
        unit = int(value.argmax())
        return float(value[unit]), unit

    def items_of(self, unit: int) -> tuple[int, int]:
        first, second = self._ends[unit].tolist()
        return first, second

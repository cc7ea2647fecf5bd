"""Nested Monte Carlo, equations 3 and 4: anchors and draws are uniform, Q(u) = 1/n and q_u(v) = 1/(n - 1). O(1) for each draw."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.nested import NestedSampler
from cccount_dist.counting.parameters import ALPHA, RATIO
from cccount_dist.counting.population import Population
from cccount_dist.similarity.draws import uniform_others


class UniformProposal:
    """Every item is as likely as any other."""

    name = "nested-mc"

    def __init__(self, degree: NDArray[np.float64]) -> None:
        self._population = Population(degree)

    @property
    def items(self) -> int:
        return self._population.items

    def anchor(self, uniform: float) -> tuple[int, float]:
        return self._population.item(int(uniform * self.items)), 1.0 / self.items

    def draw(self, u: int, uniform: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        place = uniform_others(uniform[:, 1], self.items, self._population.place(u))
        return self._population.to_items(place), np.full(len(place), 1.0 / (self.items - 1))


def nested_mc(
    degree: NDArray[np.float64], *, seed: int = 0, level: float = 0.95, ratio: float = RATIO, alpha: float = ALPHA
) -> NestedSampler:
    """Return the sampler of nested Monte Carlo. Of the degrees only one thing is used: NaN is an item that is not counted."""
    return NestedSampler(UniformProposal(degree), seed=seed, level=level, ratio=ratio, alpha=alpha)

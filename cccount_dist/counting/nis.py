"""Nested importance sampling (NIS), equations 6 and 7: Q(u) ∝ 1/(1 + degree(u)), q_u(v) ∝ ŝ(u, v) for v ≠ u.

Theorem 1 assumes q_u(v) > 0 everywhere, which a similarity clipped at 0 does not give; so one draw in ten is uniform:
q_u(v) = 0.9 ŝ(u, v)/Σŝ + 0.1/(n - 1). O(n) memory, and O(n d) time for each row of similarity.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.nested import NestedSampler
from cccount_dist.counting.population import Population
from cccount_dist.similarity.draws import WeightedDraws, uniform_others
from cccount_dist.similarity.rows import row_weights
from storage.errors import InputError

UNIFORM_SHARE = 0.1


class ImportanceProposal:
    """Anchors from isolated places, draws from where the similarity is high."""

    name = "nis"

    def __init__(self, vectors: NDArray[np.float32], degree: NDArray[np.float64]) -> None:
        if len(vectors) != len(degree):
            raise InputError(f"there are {len(vectors)} vectors and {len(degree)} degrees: they must be of the same items")
        self._vectors = vectors
        self._population = Population(degree)
        self._outer = WeightedDraws.of(1.0 / (1.0 + self._population.degree))

    @property
    def items(self) -> int:
        return self._population.items

    def anchor(self, uniform: float) -> tuple[int, float]:
        place = self._outer.at(np.array([uniform]))
        return self._population.item(int(place[0])), float(self._outer.probability(place)[0])

    def draw(self, u: int, uniform: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The first random number says which part of the mixture is drawn from, the second where it falls."""
        population = self._population
        near = WeightedDraws.of(population.restrict(row_weights(self._vectors, u)))
        place = uniform_others(uniform[:, 1], population.items, population.place(u))
        if near.total == 0:
            return population.to_items(place), np.full(len(place), 1.0 / (population.items - 1))
        place = np.where(uniform[:, 0] < UNIFORM_SHARE, place, near.at(uniform[:, 1]))
        q = (1.0 - UNIFORM_SHARE) * near.probability(place) + UNIFORM_SHARE / (population.items - 1)
        return population.to_items(place), q


def nis(vectors: NDArray[np.float32], degree: NDArray[np.float64], *, seed: int = 0, level: float = 0.95) -> NestedSampler:
    """Return the sampler of nested importance sampling.

    Parameters
    ----------
    vectors : (n, d) float32, prepared; an array or a memory map
    degree : (n,) float64, sum of the similarity to all other items; NaN for an item without a vector, which is not counted
    """
    return NestedSampler(ImportanceProposal(vectors, degree), seed=seed, level=level)

"""Nested importance sampling (NIS), equations 6 and 7: Q(u) ∝ 1/(1 + degree(u)), q_u(v) ∝ ŝ(u, v) for v ≠ u.

Theorem 1 assumes q_u(v) > 0 everywhere, which a similarity clipped at 0 does not give; so, unless `uniform` says otherwise, one
draw in ten is uniform: q_u(v) = 0.9 ŝ(u, v)/Σŝ + 0.1/(n - 1), except for the softmax. The printed q has `uniform` = 0. A row of
similarity takes O(n d) time, and is never held whole.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.nested import NestedSampler
from cccount_dist.counting.parameters import ALPHA, RATIO, UNIFORM
from cccount_dist.counting.population import Population
from cccount_dist.counting.similarities import Similarity, metric_similarity
from cccount_dist.similarity.draws import WeightedDraws, uniform_others


class ImportanceProposal:
    """Anchors from isolated places, draws from where the similarity is high."""

    name = "nis"

    def __init__(self, similarity: Similarity, uniform: float = UNIFORM) -> None:
        self._similarity = similarity
        self._share = 0.0 if similarity.positive else uniform
        self._population = Population(similarity.degree)
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
        near = self._similarity.draws(u, population)
        place = uniform_others(uniform[:, 1], population.items, population.place(u))
        if near.total == 0:
            return population.to_items(place), np.full(len(place), 1.0 / (population.items - 1))
        place = np.where(uniform[:, 0] < self._share, place, near.at(uniform[:, 1]))
        q = (1.0 - self._share) * near.probability(place) + self._share / (population.items - 1)
        return population.to_items(place), q


def nis(
    vectors: NDArray[np.float32],
    degree: NDArray[np.float64],
    mean_square: float | None = None,
    *,
    seed: int = 0,
    level: float = 0.95,
    similarity: Similarity | None = None,
    ratio: float = RATIO,
    alpha: float = ALPHA,
    uniform: float = UNIFORM,
) -> NestedSampler:
    """Return the sampler of nested importance sampling.

    Parameters
    ----------
    vectors : (n, d) float32, prepared; an array or a memory map
    degree : (n,) float64, sum of the similarity to all other items; NaN for an item without a vector, which is not counted
    mean_square : the Euclidean scale, if that is the metric
    similarity : that of the vectors, unless given (`similarities.py`)
    ratio, alpha : M = ratio · N^((1 - alpha)/alpha)
    uniform : share of the draws that is uniform
    """
    found = metric_similarity(vectors, degree, mean_square) if similarity is None else similarity
    return NestedSampler(ImportanceProposal(found, uniform), seed=seed, level=level, ratio=ratio, alpha=alpha)

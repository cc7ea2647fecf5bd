"""The form that the NIS authors released, which is not the one that they printed: the anchor itself is forced in, once.

    n̄(u) = 1/M · (1/q_u(u) + Σ s(u, v)/q_u(v) over M - 1 free draws, u included),      estimate = mean of 1/(Q(u) n̄(u))

E[n̄] = ((M - 1) · size + 1/q_u(u))/M: too large, so the count starts too low; 1/n̄ of a noisy n̄ pulls it up. The two biases
cross. Theirs are also N : M = 1 : 1 and a variance divided by N. Kept for comparison. Cost as in `nested.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.nested import NestedSampler, Proposal
from cccount_dist.counting.nested_mc import UniformProposal
from cccount_dist.counting.parameters import RELEASED_RATIO
from cccount_dist.counting.population import Population
from cccount_dist.counting.similarities import Similarity
from cccount_dist.similarity.draws import StreamedDraws, WeightedDraws
from cccount_dist.similarity.rows import Items, own_places

FLOOR = 0.01  # of a similarity that can be 0: their softmax never is


class SelfProposal(Proposal, Protocol):
    """A proposal that draws the anchor itself, too."""

    def own(self, u: int) -> float:
        """Return q_u(u)."""


class ReleasedProposal:
    """Q ∝ 1/(1 + degree), and q_u ∝ ŝ over all items, u with ŝ(u, u) = 1."""

    name = "nis-released"

    def __init__(self, similarity: Similarity) -> None:
        self._similarity = similarity
        self._population = Population(similarity.degree)
        self._outer = WeightedDraws.of(1.0 / (1.0 + self._population.degree))
        self._last: tuple[int, StreamedDraws] | None = None  # the row of the anchor at hand is needed twice
        self._own: dict[int, float] = {}  # q_u(u) of the anchors that were drawn from: a row is not computed again for it

    @property
    def items(self) -> int:
        return self._population.items

    def anchor(self, uniform: float) -> tuple[int, float]:
        place = self._outer.at(np.array([uniform]))
        return self._population.item(int(place[0])), float(self._outer.probability(place)[0])

    def draw(self, u: int, uniform: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        near = self._near(u)
        place = near.at(uniform[:, 1])
        return self._population.to_items(place), near.probability(place)

    def own(self, u: int) -> float:
        if u not in self._own:
            self._near(u)
        return self._own[u]

    def _near(self, u: int) -> StreamedDraws:
        if self._last is None or self._last[0] != u:
            near = replace(self._similarity, weights=self._with_own).draws(u, self._population)
            self._own[u] = float(near.probability(np.array([self._population.place(u)]))[0])
            self._last = u, near
        return self._last[1]

    def _with_own(self, u: int, items: Items) -> NDArray[np.floating]:
        weights = self._similarity.weights(u, items)
        if not self._similarity.positive:
            np.maximum(weights, FLOOR, out=weights)
        weights[own_places(u, items, len(self._similarity.degree))] = self._similarity.OWN
        return weights


class ReleasedUniform(UniformProposal):
    """Q = q = 1/n, the anchor itself included."""

    name = "nested-mc-released"

    def draw(self, u: int, uniform: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # noqa: ARG002
        place = np.floor(uniform[:, 1] * self.items).astype(np.int64)
        return self._population.to_items(place), np.full(len(place), 1.0 / self.items)

    def own(self, u: int) -> float:  # noqa: ARG002
        return 1.0 / self.items


class ReleasedSampler(NestedSampler):
    """The sampler. Each anchor has r · N free draws and the forced one, which nobody is asked about."""

    def __init__(self, proposal: SelfProposal, *, seed: int, level: float = 0.95, ratio: int = RELEASED_RATIO) -> None:
        super().__init__(proposal, seed=seed, level=level, ratio=ratio)
        self._self_proposal = proposal

    def _size(self, u: int, hits: float, drawn: int) -> float:
        return (1.0 / self._self_proposal.own(u) + hits) / (1 + drawn)

    def _interval(self, terms: Sequence[float]) -> tuple[float, float, float]:
        count = len(terms)
        mean = math.fsum(terms) / count
        variance = math.fsum((term - mean) ** 2 for term in terms) / count
        half = NormalDist().inv_cdf(0.5 + self._level / 2) * math.sqrt(variance / count)
        return mean, mean - half, mean + half

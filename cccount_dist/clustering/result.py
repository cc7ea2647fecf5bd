"""What every grouping sampler returns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.quality import Bounds, Quality
from cccount_dist.sampling.types import Question


@dataclass(frozen=True, slots=True)
class Grouping:
    """A cluster number for every item, from 0 by first appearance; -1 without a vector, or before a grouping is known."""

    labels: NDArray[np.int64]  # (n,)
    # What the person who pays for the answers should know, for example that the embedding hardly helps.
    warning: str | None = field(default=None, kw_only=True)
    # How many classes there are, small leftovers of larger ones not counted; None if the method does not say.
    expected_classes: float | None = field(default=None, kw_only=True)
    # Pair F score that the labels are expected to have; None if the method does not say.
    expected_quality: float | None = field(default=None, kw_only=True)
    # Sure answers that the labels go against, as pairs of items with what was said: they contradict others. None: none.
    against: tuple[tuple[int, int, float], ...] = field(default=(), kw_only=True)
    # How many of the last answers left the groups as they were; None if the method does not say.
    steady_answers: int | None = field(default=None, kw_only=True)
    # How good the labels are, and how many classes there are, each with its interval; None if the method does not measure it.
    quality: Quality | None = field(default=None, kw_only=True)
    count: Bounds | None = field(default=None, kw_only=True)

    @property
    def clusters(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max(initial=-1)) + 1


@runtime_checkable
class Previewing(Protocol):
    """A sampler that can say what it would ask, without asking it: nothing that it asks later changes by that."""

    def preview(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` questions, the most uncertain first."""


def numbered(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the labels numbered by first appearance; negative ones become -1.

    >>> numbered(np.array([7, 7, -3, 2, 7])).tolist()
    [0, 0, -1, 1, 0]
    """
    known = labels >= 0
    values, first, inverse = np.unique(labels[known], return_index=True, return_inverse=True)
    rank = np.empty(len(values), np.int64)
    rank[np.argsort(first)] = np.arange(len(values))
    out = np.full(len(labels), -1, np.int64)
    out[known] = rank[inverse]
    return out

"""Slow, obvious float64 references for neighbours and degree: whole matrices, no blocks, no thresholds."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.metrics import Metric


@dataclass(frozen=True, slots=True)
class Truth:
    order: NDArray[np.float64]  # (n, n) what decides who is nearer: the similarity, or minus the squared distance
    similarity: NDArray[np.float64]  # (n, n) not clipped for cosine and correlation
    usable: NDArray[np.bool_]

    def degree(self) -> NDArray[np.float64]:
        clipped = np.clip(np.where(self.usable[None, :], self.similarity, 0.0), 0.0, 1.0)
        np.fill_diagonal(clipped, 0.0)
        return np.where(self.usable, clipped.sum(axis=1), np.nan)

    def index(self, k: int) -> NDArray[np.intp]:
        """The k nearest, ties by item number."""
        order = np.where(self.usable[None, :], self.order, -np.inf)
        np.fill_diagonal(order, -np.inf)
        best: NDArray[np.intp] = np.argsort(-order, axis=1, kind="stable")[:, :k]
        best[~self.usable] = -1
        return best


def truth(x: NDArray[np.float32], metric: Metric) -> Truth:
    usable = np.asarray(np.isfinite(x).all(axis=1))
    rows = np.where(usable[:, None], x, 0.0).astype(np.float64)
    if metric == "euclidean":
        squared = np.stack([np.square(rows - row).sum(axis=1) for row in rows])
        count = int(usable.sum())
        mean = squared[np.ix_(usable, usable)].sum() / (count * (count - 1))
        similarity = np.maximum(0.0, 1.0 - squared / mean) if mean > 0 else np.ones_like(squared)
        return Truth(-squared, similarity, usable)
    if metric == "correlation":
        constant = np.ptp(rows, axis=1) == 0
        rows -= rows.mean(axis=1, keepdims=True)
        rows[constant] = 0.0
    length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
    unit = rows / np.where(length > 0, length, 1.0)
    similarity = unit @ unit.T
    return Truth(similarity, similarity, usable)


def clustered(items: int, dimensions: int, seed: int = 0) -> NDArray[np.float32]:
    """Vectors like embeddings: clusters of very different sizes around random centres, rows in random order."""
    rng = np.random.default_rng(seed)
    clusters = max(2, items // 40)
    weight = 1.0 / np.arange(1, clusters + 1) ** 0.8
    label = rng.choice(clusters, items, p=weight / weight.sum())
    centre = rng.standard_normal((clusters, dimensions))
    x = centre[label] + 0.6 * rng.standard_normal((items, dimensions)) + 0.2
    return x.astype(np.float32)

"""Spectral clustering written down slowly: Laplacians by definition, eq. (7) as a sum, the best pair by looking at all."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.spectral.graph import RatedGraph
from cccount_dist.clustering.spectral.ratings import UNKNOWN

Floats = NDArray[np.float64]


def random_weights(seed: int, items: int, density: float = 0.5, groups: int = 2) -> Floats:
    """A symmetric matrix of weights whose graph is connected; items of one group are more alike."""
    random = np.random.default_rng(seed)
    group = np.arange(items) % groups
    weight = np.where(group[:, None] == group, 0.5, 0.05) + 0.4 * random.random((items, items))
    known = np.triu(random.random((items, items)) < density, 1)
    known[np.arange(items - 1), np.arange(1, items)] = True
    return np.where(known, weight, 0.0) + np.where(known, weight, 0.0).T


def laplacian(weight: Floats) -> Floats:
    return np.diag(weight.sum(axis=1)) - weight


def graph_of(weight: Floats, deviation: float = 0.0) -> RatedGraph:
    graph = RatedGraph(len(weight))
    first, second = np.nonzero(np.triu(weight, 1))
    graph.add(first, second)
    for u, v in zip(first.tolist(), second.tolist(), strict=True):
        graph.set(u, v, float(weight[u, v]), deviation)
    return graph


def changes(weight: Floats, clusters: int = 2) -> NDArray[np.float64]:
    """(n, n, n, K - 1) the change of every entry of v2 … vK with the weight of every pair, without turns inside the block."""
    values, vectors = np.linalg.eigh(laplacian(weight))
    items = len(weight)
    out = np.zeros((items, items, items, clusters - 1))
    for i, j in combinations(range(items), 2):
        for p in range(1, clusters):
            for q in range(clusters, items):
                size = (vectors[i, p] - vectors[j, p]) * (vectors[i, q] - vectors[j, q]) / (values[p] - values[q])
                out[i, j, :, p - 1] += size * vectors[:, q]
        out[j, i] = out[i, j]
    return out


def best_score(graph: RatedGraph, places: Floats, sensitivities: Floats) -> tuple[float, dict[tuple[int, int], float]]:
    """The largest score, and the score of every pair."""
    scores = {}
    for i, j in combinations(range(graph.items), 2):
        place = graph.starts[i] + np.searchsorted(graph.columns[graph.starts[i] : graph.starts[i + 1]], j)
        deviation = float(graph.deviation[place]) if graph.has(i, j) else UNKNOWN
        scores[i, j] = deviation * abs(float(((places[i] - places[j]) * (sensitivities[i] - sensitivities[j])).sum()))
    return max(scores.values()), scores


def guessed(weight: Floats, rank: int, rounds: int = 20, ridge: float = 2.0) -> Floats:
    """What a matrix of low rank says about every pair, item by item."""
    items, known = len(weight), weight > 0.0
    mean = weight[known].mean()
    above = np.where(known, weight - mean, 0.0)
    values, vectors = np.linalg.eigh(above)
    largest = np.argsort(-np.abs(values))[:rank]
    signs = np.sign(values[largest])
    factors = vectors[:, largest] * np.sqrt(np.abs(values[largest]) * items * (items - 1) / known.sum())
    deviation = np.sqrt(np.square(above[known]).mean())
    for _ in range(rounds):
        solved = np.zeros_like(factors)
        for item in range(items):
            others = (factors * signs)[known[item]]
            solved[item] = np.linalg.solve(
                others.T @ others + ridge * deviation * np.eye(rank), others.T @ above[item][known[item]]
            )
        factors = (factors + solved) / 2
    return np.asarray(mean + factors * signs @ factors.T)


def squared_misfit(x: Floats, h: Floats, weight: Floats, ridge: float = 0.03, ridge_apart: float = 0.3) -> float:
    """How far places are from the ratings above 0, with the ridges, pair by pair."""
    total = ridge * float(np.square(x - x.mean(axis=0)).sum()) + ridge_apart * float(np.square(h - h.mean()).sum())
    for i, j in combinations(range(len(weight)), 2):
        if weight[i, j] > 0.0:
            total += float(np.exp(-np.square(x[i] - x[j]).sum() - h[i] - h[j]) - weight[i, j]) ** 2
    return total


def classical_scaling(far: Floats, dimensions: int) -> Floats:
    """(n, q) places whose inner products are nearest to those that the distances (n, n) stand for."""
    centring = np.eye(len(far)) - 1.0 / len(far)
    values, vectors = np.linalg.eigh(-0.5 * centring @ np.square(far) @ centring)
    return np.asarray(vectors[:, ::-1][:, :dimensions] * np.sqrt(values[::-1][:dimensions]))


def kernel_of_places(seed: int, items: int, groups: int = 2, dimensions: int = 3) -> tuple[Floats, NDArray[np.int64]]:
    """Similarities that fall off with the distance of places, and the group of every item."""
    random = np.random.default_rng(seed)
    truth = np.arange(items) % groups
    x = 0.4 * random.standard_normal((items, dimensions)) + 1.2 * np.eye(groups, dimensions)[truth]
    h = 0.1 * random.random(items)
    return np.asarray(np.exp(-np.square(x[:, None] - x).sum(axis=2) - h[:, None] - h)), truth


def some_of(similarity: Floats, seed: int, density: float) -> Floats:
    """A part of the similarities, with a path through all items; 0 elsewhere."""
    items = len(similarity)
    known = np.triu(np.random.default_rng(seed).random((items, items)) < density, 1)
    known[np.arange(items - 1), np.arange(1, items)] = True
    return np.where(known | known.T, similarity, 0.0)

"""What the benchmarks of ratings work on: similarities with known groups, and errors.

Similarities are w = exp(-d² / median d²) of features scaled to 0 … 1: a Gaussian kernel as in the paper, which names neither its
widths nor its classes. One rule for all sets, so that none has a width of its own.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine

from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.graph import RatedGraph
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.spectral_sampler import SpectralSampler
from cccount_dist.clustering.spectral.spectrum import Spectrum, spectrum
from cccount_dist.sampling.types import Answer

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Rate = Callable[[int, int], float]
Sets = dict[str, tuple[Floats, Labels]]
ENOUGH = 0.05
FILLINGS: tuple[Missing, ...] = ("zero", "either")


def kernel(features: Floats) -> Floats:
    span = np.ptp(features, axis=0)
    scaled = (features - features.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    lengths = np.square(scaled).sum(axis=1)
    squares = np.maximum(lengths[:, None] + lengths - 2.0 * scaled @ scaled.T, 0.0)
    return np.asarray(np.exp(-squares / np.median(squares[np.triu_indices(len(squares), 1)])))


def some_classes(features: Floats, target: Labels, classes: Sequence[int], most: int = 50) -> tuple[Floats, Labels]:
    """The first items of some classes, numbered from 0."""
    rows = np.concatenate([np.flatnonzero(target == one)[:most] for one in classes])
    return kernel(features[rows]), np.searchsorted(classes, target[rows])


def gaussians(separation: float, items: int = 200, seed: int = 5) -> tuple[Floats, Labels]:
    truth = (np.arange(items) >= items // 2).astype(np.int64)
    apart = separation * np.stack([truth, 0 * truth], axis=1)
    return kernel(np.random.default_rng(seed).standard_normal((items, 2)) + apart), truth


def waveforms(items: int = 100, seed: int = 5) -> tuple[Floats, Labels]:
    """Classes 1 and 2 of Breiman's waveforms: random mixtures of two of three triangles, with noise."""
    random, truth, at = np.random.default_rng(seed), np.arange(items) % 2, np.arange(1, 22)
    low, left, right = (np.maximum(6.0 - np.abs(at - centre), 0.0) for centre in (11, 7, 15))
    share = random.random((items, 1))
    other = np.where(truth[:, None] == 0, left, right)
    return kernel(share * low + (1.0 - share) * other + random.standard_normal((items, 21))), truth


def data_sets() -> Sets:
    iris, wine, digits = load_iris(), load_wine(), load_digits()
    found: Sets = {"two Gaussians, 6 deviations apart": gaussians(6.0)}
    for one, other in ((0, 1), (0, 2), (1, 2)):
        found[f"iris {one}/{other}"] = some_classes(iris.data, iris.target, (one, other))
    for one, other in ((0, 1), (0, 2), (1, 2)):
        found[f"wine {one}/{other}"] = some_classes(wine.data, wine.target, (one, other), 60)
    for one, other in ((0, 1), (2, 7), (3, 8), (4, 9)):
        found[f"digits {one}/{other}"] = some_classes(digits.data, digits.target, (one, other))
    return found


def all_known(similarity: Floats, clusters: int = 2) -> Spectrum:
    found = spectrum(graph_of(similarity), clusters)
    assert found is not None
    return found


def complete(similarity: Floats, clusters: int = 2) -> Labels:
    """The spectral clustering of all similarities."""
    return place(all_known(similarity, clusters).block, None).labels


def graph_of(similarity: Floats, known: NDArray[np.bool_] | None = None) -> RatedGraph:
    """The graph of the pairs that are known, all at once; only what lies above the diagonal of `known` counts."""
    graph = RatedGraph(len(similarity))
    upper = np.triu(np.ones_like(similarity, np.bool_) if known is None else known, 1)
    weight = np.where(upper | upper.T, similarity, 0.0)
    square = np.diag(weight.sum(axis=1)) - weight
    kept = upper | upper.T | np.eye(len(similarity), dtype=np.bool_)
    rows, columns = np.nonzero(kept)
    graph.starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    graph.columns, graph.values, graph.is_rated = columns.astype(np.int32), square[rows, columns], rows != columns
    graph.deviation = np.zeros(len(rows))
    graph._square = square if graph._square is not None else None
    return graph


def error(found: Labels, wanted: Labels) -> float:
    """Share of items in the wrong one of two groups; one half before there are groups."""
    if found.min() < 0:
        return 0.5
    wrong = float(np.mean((found > 0) != (wanted > 0)))
    return min(wrong, 1.0 - wrong)


def ask_until(sampler: SpectralSampler, rate: Rate, count: int) -> None:
    """Go on until so many questions were asked in all."""
    while sampler.asked < count and (questions := sampler.ask(1)):
        sampler.tell([Answer(q.id, q.u, q.v, rate(q.u, q.v)) for q in questions])


def exact(similarity: Floats) -> Rate:
    return lambda u, v: float(similarity[u, v])


def share_to(enough: float, shares: Sequence[float], errors: Floats) -> str:
    """The first share of all similarities at which the error is small enough."""
    reached = next((share for share, value in zip(shares, errors, strict=True) if value <= enough), None)
    return f"> {100 * shares[-1]:g}%" if reached is None else f"{100 * reached:g}%"

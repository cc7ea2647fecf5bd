"""The graph with a guess in place of every similarity that nobody rated: what the ratings of the other pairs say.

Two ways to guess are fitted: a matrix of low rank (`lowrank.py`), which needs few ratings and bears noise, and places whose
similarity falls off with their distance (`shepard.py`), which come much nearer once every item has some ten exact ratings.
Ratings that are held out say how far each of them is off, and a guess is

    share · places + (1 - share) · low rank,    share = max(0, 1 - (squared error of places / squared error of low rank)²)

It is used for pairs without a rating only, so that with all pairs rated it is the paper's graph. Nothing is n × n: the Laplacian
is that of the sparse rest, rating minus guess, and of U s Uᵀ. Time and memory: those of the two fits, for every part that is held
out and for the result.
"""

from collections.abc import Callable

import numpy as np

from cccount_dist.clustering.spectral.graph import Floats, Rated, RatedGraph
from cccount_dist.clustering.spectral.lowrank import low_rank
from cccount_dist.clustering.spectral.shepard import places
from cccount_dist.similarity.threads import one_thread

_PARTS = 3  # each third is held out once
_MORE_DIMENSIONS = 6  # than groups, for places: K groups alone take K - 1


class FilledGraph(RatedGraph):
    """L of a graph whose pairs without a rating have guessed weights. It may have negative weights and eigenvalues.

    A mean in all guesses adds the same to every eigenvalue but that of the constant vector: it is left out.
    """

    def __init__(self, graph: RatedGraph, values: Floats, factors: Floats, signs: Floats) -> None:
        self.items, self.starts, self.columns = graph.items, graph.starts, graph.columns
        self.deviation, self.is_rated, self._square = graph.deviation, graph.is_rated, None
        self.values = values  # of the rest: rating minus guess
        self.factors, self.signs = factors, signs  # (n, r), (r,)

    def dense(self) -> Floats:
        square = -(self.factors * self.signs) @ self.factors.T
        square[np.diag_indices_from(square)] += self._sums()
        return np.asarray(self.laplacian().toarray() + square)

    def operator(self) -> Callable[[Floats], Floats]:
        rest, sums, signed = super().operator(), self._sums(), self.factors * self.signs
        return lambda x: np.asarray(rest(x) + (sums * x.T).T - signed @ (self.factors.T @ x))

    def bound(self) -> float:
        return super().bound() + float(np.abs(self._sums()).max() + np.square(self.factors).sum())

    def _sums(self) -> Floats:
        """The row sums of U s Uᵀ."""
        return np.asarray(self.factors * self.signs @ self.factors.sum(axis=0))


def filled(graph: RatedGraph, clusters: int) -> FilledGraph:
    """Return the graph with guesses; a weight that is expected of a pair (a prior) is added to its guess."""
    with one_thread():
        share = share_of_places(graph.rated(), clusters)
    return filled_with(graph, clusters, share)


def filled_with(graph: RatedGraph, clusters: int, share: float) -> FilledGraph:
    """Return the graph with guesses of which this share is that of places."""
    rated = graph.rated()
    with one_thread():
        flat = low_rank(rated, clusters + 1)
        factors, signs = flat.factors * np.sqrt(1.0 - share), flat.signs
        rows = np.repeat(np.arange(graph.items), np.diff(graph.starts))
        pairs = rows[graph.is_rated], graph.columns[graph.is_rated].astype(np.int64)
        guesses = (1.0 - share) * flat.at(*pairs)
        if share > 0.0:
            found = places(rated, clusters + _MORE_DIMENSIONS)
            more = found.factors() * np.sqrt(share)
            factors, signs = np.hstack([factors, more]), np.concatenate([signs, np.ones(more.shape[1])])
            guesses += share * found.at(*pairs)
    values = graph.values.copy()
    values[graph.is_rated] += guesses
    diagonal = rows == graph.columns
    values[diagonal] = 0.0
    values[diagonal] = -np.bincount(rows, values, graph.items)
    return FilledGraph(graph, values, factors, signs)


def share_of_places(rated: Rated, clusters: int) -> float:
    """Return how much of a guess is that of places, from 0 to 1, by the squared errors of both on ratings held out."""
    part = np.random.default_rng(0).permutation(len(rated.weights)) % _PARTS
    flat = near = 0.0
    for one in range(_PARTS):
        kept, out = rated.only(part != one), rated.only(part == one)
        if len(kept.weights) == 0 or len(out.weights) == 0:
            return 0.0
        flat += float(np.square(low_rank(kept, clusters + 1).at(out.first, out.second) - out.weights).sum())
        near += float(np.square(places(kept, clusters + _MORE_DIMENSIONS).at(out.first, out.second) - out.weights).sum())
        if near >= flat:  # most often after the first part: while ratings are few or noisy, it ends here
            return 0.0
    return 1.0 - (near / flat) ** 2

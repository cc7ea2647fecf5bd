"""The graph with a guess in place of every similarity that nobody rated: what a matrix of low rank, fitted to the ratings, says.

    w_ij ≈ mean + Σ_r s_r u_i(r) u_j(r),   fitted by ridge regressions of each item's ratings on the others' u, in turn

The guess is used for pairs without a rating only, so that with all pairs rated it is the paper's graph. Nothing is n × n: the
Laplacian is that of the sparse rest, rating minus guess, and of U s Uᵀ. Time O(rounds (pairs r² + n r³)), memory O(pairs + n r²).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from cccount_dist.clustering.spectral.graph import DENSE, Floats, RatedGraph, one_thread

_ROUNDS = 20
_RIDGE = 2.0  # deviations of the ratings: what few ratings say about an item counts less


class FilledGraph(RatedGraph):
    """L of a graph whose pairs without a rating have guessed weights. It may have negative weights and eigenvalues.

    The mean in place of all guesses adds the same to every eigenvalue but that of the constant vector: it is left out.
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
        return super().bound() + 2.0 * float(np.square(self.factors).sum())

    def _sums(self) -> Floats:
        """The row sums of U s Uᵀ."""
        return np.asarray(self.factors * self.signs @ self.factors.sum(axis=0))


def filled(graph: RatedGraph, rank: int) -> FilledGraph:
    """Return the graph with guesses of this rank; a weight that is expected of a pair (a prior) is added to its guess."""
    rows = np.repeat(np.arange(graph.items), np.diff(graph.starts))
    known = graph.is_rated
    mean = -float(graph.values[known].mean()) if known.any() else 0.0
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[known], minlength=graph.items))])
    above = csr_array((-graph.values[known] - mean, graph.columns[known], starts), shape=(graph.items, graph.items))
    with one_thread().limit(limits=1, user_api="blas"):
        factors, signs = _fit(above, min(rank, graph.items - 1))
    columns = graph.columns
    values = graph.values + np.where(known, mean + np.einsum("er,er->e", factors[rows] * signs, factors[columns]), 0.0)
    diagonal = rows == columns
    values[diagonal] = 0.0
    values[diagonal] = -np.bincount(rows, values, graph.items)
    return FilledGraph(graph, values, factors, signs)


def _fit(above: csr_array, rank: int) -> tuple[Floats, NDArray[np.float64]]:
    """Return U (n, r) and s (r,) for the ratings above their mean."""
    items = above.shape[0]
    deviation = float(np.sqrt(np.square(above.data).mean())) if above.nnz else 0.0
    if deviation == 0.0 or rank < 1:
        return np.zeros((items, max(rank, 0))), np.ones(max(rank, 0))
    values, vectors = _largest_pairs(above, rank)
    signs = np.where(values < 0.0, -1.0, 1.0)
    factors = vectors * np.sqrt(np.abs(values) * (items * (items - 1) / above.nnz))
    pattern = csr_array((np.ones(above.nnz), above.indices, above.indptr), shape=above.shape)
    ridge = _RIDGE * deviation * np.eye(rank)
    for _ in range(_ROUNDS):
        squares = np.asarray(pattern @ (factors[:, :, None] * factors[:, None, :]).reshape(items, -1))
        matrices = squares.reshape(items, rank, rank) * np.outer(signs, signs) + ridge
        solved = np.linalg.solve(matrices, (above @ (factors * signs))[:, :, None])[:, :, 0]
        factors = (factors + solved) / 2.0  # half a step: whole ones go to and fro, for both sides of a pair move
    return factors, signs


def _largest_pairs(above: csr_array, rank: int) -> tuple[Floats, Floats]:
    """The eigenpairs with the largest |value|, the largest first."""
    items = above.shape[0]
    if items > max(DENSE, 4 * rank):
        operator: LinearOperator[np.float64] = LinearOperator(above.shape, matvec=lambda x: above @ x.ravel(), dtype=np.float64)
        try:
            start = np.random.default_rng(0).standard_normal(items)
            values, vectors = eigsh(operator, rank, which="LM", v0=start, tol=1e-6, maxiter=300)
        except ArpackError:
            return np.zeros(rank), np.zeros((items, rank))
    else:
        values, vectors = np.linalg.eigh(above.toarray())
    order = np.argsort(-np.abs(values), kind="stable")[:rank]
    return values[order], vectors[:, order]

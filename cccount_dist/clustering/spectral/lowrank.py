"""What a matrix of low rank, fitted to the ratings of some pairs, says about the others.

    w_ij ≈ mean + Σ_r s_r u_i(r) u_j(r),   fitted by ridge regressions of each item's ratings on the others' u, in turn

Time O(rounds (pairs r² + n r³)), memory O(pairs + n r²).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from cccount_dist.clustering.spectral.graph import DENSE, Floats, Rated

_ROUNDS = 20
_RIDGE = 2.0  # deviations of the ratings: what few ratings say about an item counts less
_TIE = 1e-9  # of the largest |value|: what differs by less is equally large


@dataclass(frozen=True, slots=True)
class LowRank:
    """A guess for every pair: mean + (U s Uᵀ)_ij."""

    mean: float
    factors: Floats  # (n, r)
    signs: Floats  # (r,)

    def at(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return the guesses of some pairs."""
        return np.asarray(self.mean + np.einsum("er,er->e", self.factors[first] * self.signs, self.factors[second]))


def low_rank(rated: Rated, rank: int) -> LowRank:
    """Return the matrix of this rank that was fitted to the ratings; their mean, if they are all the same."""
    items, rank = rated.items, max(0, min(rank, rated.items - 1))
    mean = float(rated.weights.mean()) if len(rated.weights) else 0.0
    ends = np.concatenate([rated.first, rated.second]), np.concatenate([rated.second, rated.first])
    above = csr_array((np.tile(rated.weights - mean, 2), ends), shape=(items, items))
    deviation = float(np.sqrt(np.square(above.data).mean())) if above.nnz else 0.0
    if deviation == 0.0 or rank < 1:
        return LowRank(mean, np.zeros((items, rank)), np.ones(rank))
    return LowRank(mean, *_fit(above, rank, deviation))


def _fit(above: csr_array, rank: int, deviation: float) -> tuple[Floats, Floats]:
    """Return U (n, r) and s (r,) for the ratings above their mean."""
    items = above.shape[0]
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
    order = _by_size(values)[:rank]
    return values[order], vectors[:, order]


def _by_size(values: Floats) -> NDArray[np.int64]:
    """Return the order with the largest |value| first; of equally large ones the negative come first.

    Few ratings make a graph that is nearly a tree. Its eigenvalues are pairs of x and -x, and the cut after the last one that is
    wanted may go through such a pair: were their last digits to decide, another processor would find other groups.
    The negative, because that is what the workspaces of 0.1.0 were given.

    >>> _by_size(np.array([-3.0, -1.0, 1.0, 3.0 - 1e-12])).tolist()
    [0, 3, 1, 2]
    """
    size = np.abs(values)
    order = np.argsort(-size, kind="stable")
    falls = np.diff(size[order], prepend=size.max(initial=0.0)) < -_TIE * size.max(initial=0.0)
    level = np.empty(len(values), np.int64)
    level[order] = np.cumsum(falls)
    return np.lexsort((values > 0.0, level))

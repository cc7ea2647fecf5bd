"""Vectors whose Euclidean distances are given ones, so that every method works on them: constant shift embedding.

Distances that points in some space have come back as they are, and the vectors are as short as that space allows. Of others,
which no points have, every squared distance is made larger by the smallest constant with which points have them (Lingoes 1971;
Roth, Laub, Kawanabe and Buhmann 2003): their order stays as it was, and so do the best groups by squared distances. The constant
comes from the smallest eigenvalue of the centred matrix, the vectors from a Cholesky decomposition with pivots: O(n³ / 3) time
for n vectors of up to n - 1 dimensions, and up to 20 n² bytes; the given matrix is used up.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh, lapack
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from storage.errors import ComputeError

Floats = NDArray[np.float64]
# In units of the mean squared distance: what rounding to float32 leaves of a distance, and what is left out of the vectors.
_NOISE, _LEFT_OUT = 1e-4, 1e-6
_FEW = 500  # items up to which all eigenvalues are computed
_LONGEST = 1 - 1e-6  # of the longest vector, so that none is longer than 1 after rounding to float32


@dataclass(frozen=True, slots=True)
class Placed:
    """The vectors (n, d), centred, the longest of length 1.

    shift : by how much every squared distance became larger, as a share of the mean squared distance
    """

    vectors: NDArray[np.float32]
    shift: float


def place(square: Floats) -> Placed:
    """Return vectors of items of these distances (n, n): symmetric, 0 on the diagonal, not all 0. The array is used up.

    >>> placed = place(np.array([[0, 3, 4], [3, 0, 5], [4, 5, 0]], np.float64))
    >>> placed.vectors.shape, placed.shift
    ((3, 2), 0.0)
    >>> [np.isfinite(place(np.array([[0, far], [far, 0]])).vectors).all().item() for far in (1e-320, 1e308)]
    [True, True]
    """
    items = len(square)
    np.ldexp(square, -np.frexp(square.max())[1], out=square)  # exact: a power of two, so that no square is endless or nothing
    np.square(square, out=square)
    square /= square.sum() / (items * (items - 1))
    rows = square.mean(axis=1)
    square -= rows
    square -= rows[:, None]
    square += rows.mean()
    square *= -0.5
    least = _least_eigenvalue(square)
    shift = -least if least < -_NOISE else 0.0
    square.flat[:: items + 1] += shift
    # The matrix is symmetric: read by columns, as LAPACK does, it is the same, and nothing is copied.
    lower, order, dimensions, wrong = lapack.dpstrf(square.T, tol=_LEFT_OUT, lower=1, overwrite_a=1)
    if wrong < 0 or not dimensions:
        raise ComputeError("the distances could not be made vectors: the decomposition failed")
    found = np.empty((items, dimensions))
    found[order - 1] = np.tril(lower[:, :dimensions])
    found -= found.mean(axis=0)
    found *= _LONGEST / np.sqrt(np.square(found).sum(axis=1).max())
    return Placed(found.astype(np.float32), 2 * shift)


def _least_eigenvalue(centred: Floats) -> float:
    items = len(centred)
    if items <= _FEW:
        return float(eigvalsh(centred, subset_by_index=[0, 0])[0])
    # Turned around, the eigenvalue is the largest, and is found to a share of the mean squared distance.
    turned = LinearOperator((items, items), matvec=lambda x: x - centred @ x, dtype=np.float64)
    begin = np.random.default_rng(0).standard_normal(items)
    try:
        (found,) = eigsh(turned, 1, which="LA", v0=begin, tol=1e-6, return_eigenvectors=False)
    except ArpackNoConvergence:
        found = 1.0 - eigvalsh(centred, subset_by_index=[0, 0])[0]
    return float(1.0 - found)


__all__ = ["Placed", "place"]

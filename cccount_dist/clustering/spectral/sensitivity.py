"""How the place of one item changes with the similarity of any pair: the paper's eq. (7), by one linear solve for each vector.

    dv_p(k)/dw_ij = (v_p(i) - v_p(j)) (g_p(i) - g_p(j)),   g_p = Σ_q v_q v_q(k) / (λp - λq) = -(L - λp)⁺ (e_k outside the block)

The sum is over the vectors q outside the block v2 … vK: what happens inside it only turns the items' places, and does not move
them against each other. So only λ(K+1) - λp is divided by, never the difference of two eigenvalues of the block; for two groups
it is eq. (7) itself. L - λp is positive definite there: dense by Cholesky, sparse by conjugate gradients.
"""

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from cccount_dist.clustering.spectral.graph import DENSE, Floats, Ints, RatedGraph
from cccount_dist.clustering.spectral.spectrum import Spectrum
from cccount_dist.similarity.threads import one_thread

_ACCURACY = 1e-9  # of the residual, beside the right-hand side
_MOST_ROUNDS = 5_000


def sensitivity(graph: RatedGraph, found: Spectrum, item: int) -> Floats | None:
    """Return g (n, K - 1) for the item; None if the gap is too small to resolve it."""
    block = found.block
    target = -(block @ block[item]) - 1.0 / graph.items
    target[item] += 1.0
    with one_thread():
        solve = _by_cholesky if graph.items <= DENSE else _by_gradients
        columns = [solve(graph, found, place, target) for place in range(block.shape[1])]
    solved = [column for column in columns if column is not None]
    return -np.stack(solved, axis=1) if len(solved) == len(columns) else None


def _by_cholesky(graph: RatedGraph, found: Spectrum, place: int, target: Floats) -> Floats | None:
    """Solve with the constant vector and the block lifted above all others, which makes the matrix positive definite."""
    matrix, value, block = graph.dense(), found.values[place], found.block
    level = graph.bound()
    matrix[np.diag_indices_from(matrix)] -= value
    matrix += (value + level) / graph.items
    matrix += (block * (level + value - found.values[:-1])) @ block.T
    try:
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return _outside(cho_solve(factor, target, check_finite=False), block)


def _by_gradients(graph: RatedGraph, found: Spectrum, place: int, target: Floats) -> Floats | None:
    value, block = float(found.values[place]), np.ascontiguousarray(found.block)
    if found.inverse is None:
        solved, enough = _gradients(graph.starts, graph.columns, graph.values, value, block, target, 1.0 / graph.degrees())
        return solved if enough else None
    # The factors of L + δI, which a tree-like graph has, leave little to do: conjugate gradients with them.
    laplacian, inverse = graph.laplacian(), found.inverse
    solved, residual = np.zeros(graph.items), target.copy()
    direction = improved = _outside(inverse(residual), block)
    product = float(residual @ improved)
    for _ in range(_MOST_ROUNDS):
        moved = _outside(laplacian @ direction - value * direction, block)
        curvature = float(direction @ moved)
        if curvature <= 0.0:
            return None
        step = product / curvature
        solved += step * direction
        residual -= step * moved
        if np.sqrt(residual @ residual) <= _ACCURACY * np.sqrt(target @ target):
            return _outside(solved, block)
        improved = _outside(inverse(residual), block)
        previous, product = product, float(residual @ improved)
        direction = improved + (product / previous) * direction
    return None


def _outside(x: Floats, block: Floats) -> Floats:
    x = x - x.mean()
    return x - block @ (block.T @ x)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _project(x: Floats, block: Floats) -> None:
    items, vectors = block.shape
    total = 0.0
    for item in range(items):
        total += x[item]
    total /= items
    for item in range(items):
        x[item] -= total
    for place in range(vectors):
        dot = 0.0
        for item in range(items):
            dot += block[item, place] * x[item]
        for item in range(items):
            x[item] -= dot * block[item, place]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _gradients(
    starts: Ints, columns: Ints, values: Floats, value: float, block: Floats, target: Floats, scale: Floats
) -> tuple[Floats, bool]:
    """Solve (L - value) x = target outside the block, with the degrees as preconditioner."""
    items = len(target)
    solved, residual = np.zeros(items), target.copy()
    improved = residual * scale
    _project(improved, block)
    direction, moved = improved.copy(), np.empty(items)
    product, wanted = _dot(residual, improved), _ACCURACY * _ACCURACY * _dot(target, target)
    for _ in range(_MOST_ROUNDS):
        for row in range(items):
            total = -value * direction[row]
            for entry in range(starts[row], starts[row + 1]):
                total += values[entry] * direction[columns[entry]]
            moved[row] = total
        _project(moved, block)
        curvature = _dot(direction, moved)
        if curvature <= 0.0:
            return solved, False
        step = product / curvature
        for item in range(items):
            solved[item] += step * direction[item]
            residual[item] -= step * moved[item]
        if _dot(residual, residual) <= wanted:
            return solved, True
        for item in range(items):
            improved[item] = residual[item] * scale[item]
        _project(improved, block)
        previous, product = product, _dot(residual, improved)
        for item in range(items):
            direction[item] = improved[item] + product / previous * direction[item]
    return solved, False


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for item in range(len(x)):
        total += x[item] * y[item]
    return total


def all_changes(graph: RatedGraph) -> Floats:
    """Return |dv2/dw_ij| (n, n), the length of the change of the whole second eigenvector: what S&T asks by.

    |dv2/dw_ij|² = (v2(i) - v2(j))² (B_ii + B_jj - 2 B_ij), B = ((L - λ2)⁺)². Time O(n³), memory O(n²).
    """
    with one_thread():
        values, vectors = np.linalg.eigh(graph.dense())
        scaled = vectors[:, 2:] / (values[2:] - values[1])
        spread = scaled @ scaled.T
    own = np.diag(spread)
    squares: NDArray[np.float64] = np.maximum(own[:, None] + own - 2.0 * spread, 0.0)
    second = vectors[:, 1]
    return np.asarray(np.abs(second[:, None] - second) * np.sqrt(squares))

"""The smallest eigenvalues of L above 0, and their eigenvectors: dense by LAPACK up to DENSE items, beyond that by Lanczos.

Lanczos starts at the eigenvectors from before; the constant vector is lifted out of the way. A graph that is little more than a
tree has tiny eigenvalues, on which Lanczos is slow: there L + δI is factorised, which a tree fills little, and Lanczos runs on
its inverse. Every sparse result is checked by its residual |L v - λ v|; if that fails it is dense, up to MOST_DENSE items.
Time O(n³) dense, O(iterations · (n + pairs)) sparse; memory 8 n² bytes dense, O(n + pairs) sparse.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError, eigh
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import ArpackError, LinearOperator, SuperLU, eigsh, splu

from cccount_dist.clustering.spectral.graph import DENSE, Floats, RatedGraph
from cccount_dist.similarity.threads import one_thread

MOST_DENSE = 5_000
TREE_LIKE = 1.5  # pairs for each item, up to which the factors of L stay sparse
_TOLERANCE = 1e-6  # of λ(K+1); the vectors before it are then better by far, for they converge first
_RESIDUAL = 1e-5  # of λK
_ROUNDING = 1e-12
_SMALL_GAP = 1e-8


@dataclass(frozen=True, slots=True)
class Spectrum:
    """λ2 ≤ … ≤ λ(K+1) and their vectors. The first K - 1 vectors place the items; λ(K+1) says how well they are determined."""

    values: Floats  # (K,)
    vectors: Floats  # (n, K)
    inverse: Callable[[Floats], Floats] | None = None  # x -> (L + δI)⁻¹ x, where it was factorised

    @property
    def block(self) -> Floats:
        """(n, K - 1) the vectors that place the items."""
        return self.vectors[:, :-1]

    @property
    def gap(self) -> float:
        """λ(K+1) - λK beside the larger of them: 0 if the grouping vectors are not determined."""
        size = float(np.abs(self.values[-2:]).max())
        return float(self.values[-1] - self.values[-2]) / size if size > 0.0 else 0.0

    @property
    def is_determined(self) -> bool:
        """Whether the space of the block is unique. If not, LAPACK's choice of vectors would mean nothing."""
        return self.gap > _SMALL_GAP


def spectrum(graph: RatedGraph, count: int, warm: Floats | None = None) -> Spectrum | None:
    """Return the `count` smallest eigenpairs of a connected graph beside the constant one; None if they cannot be resolved.

    `warm` (n, any) are vectors to start from. The result is a function of the graph's content and of `warm`.
    """
    with one_thread():
        if graph.items <= max(DENSE, 4 * count):
            return _dense(graph, count)
        near_tree = type(graph) is RatedGraph and np.count_nonzero(graph.values < 0.0) < 2 * TREE_LIKE * graph.items
        found = _near_tree(graph, count) if near_tree else _lanczos(graph, count, warm)
        if found is not None and _residual(graph, found) <= max(_RESIDUAL * abs(found.values[-2]), _ROUNDING * graph.bound()):
            return found
        return _dense(graph, count) if graph.items <= MOST_DENSE else None


def _dense(graph: RatedGraph, count: int) -> Spectrum | None:
    try:
        matrix = graph.dense() + graph.bound() / graph.items  # the constant vector goes to the other end
        values, vectors = eigh(matrix, subset_by_index=[0, count - 1], driver="evr", overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    return Spectrum(values, with_signs(vectors))


def _lanczos(graph: RatedGraph, count: int, warm: Floats | None) -> Spectrum | None:
    times, lift = graph.operator(), graph.bound()

    def product(x: Floats) -> Floats:
        x = x.ravel()
        return np.asarray(times(x) + lift * x.mean())

    return _arpack(product, graph.items, count, warm, which="SA")


def _near_tree(graph: RatedGraph, count: int) -> Spectrum | None:
    shift = 1e-6 * graph.bound() / graph.items
    matrix = csc_array(graph.laplacian() + shift * eye_array(graph.items))
    matrix.eliminate_zeros()  # questions that wait for their answer
    factors: SuperLU = splu(matrix, permc_spec="MMD_AT_PLUS_A")

    def inverse(x: Floats) -> Floats:
        return np.asarray(factors.solve(x - x.mean()))

    def product(x: Floats) -> Floats:
        solved = inverse(x.ravel())
        return np.asarray(solved - solved.mean())

    found = _arpack(product, graph.items, count, None, which="LA")
    if found is None:
        return None
    values = 1.0 / found.values[::-1] - shift
    return Spectrum(values, with_signs(found.vectors[:, ::-1]), inverse)


def _arpack(
    product: Callable[[Floats], Floats], items: int, count: int, warm: Floats | None, which: Literal["SA", "LA"]
) -> Spectrum | None:
    # A little of everything, so that no eigenvector is missed because the start is orthogonal to it.
    start = np.random.default_rng(0).standard_normal(items)
    if warm is not None:
        start = warm.sum(axis=1) + 1e-6 / np.sqrt(items) * start
    operator: LinearOperator[np.float64] = LinearOperator((items, items), matvec=product, dtype=np.float64)
    try:
        values, vectors = eigsh(operator, count, which=which, v0=start, ncv=max(40, 3 * count), tol=_TOLERANCE, maxiter=3000)
    except ArpackError:
        return None
    order = np.argsort(values, kind="stable")
    return Spectrum(values[order], with_signs(vectors[:, order]))


def with_signs(vectors: Floats) -> Floats:
    """Return the vectors with the sign that makes the largest entry positive; of equally large ones the first counts."""
    size = np.abs(vectors)
    largest = np.argmax(size >= size.max(axis=0) * (1.0 - 1e-6), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0.0, 1.0, signs)


def _residual(graph: RatedGraph, found: Spectrum) -> float:
    return float(np.abs(graph.operator()(found.vectors) - found.vectors * found.values).max())

"""Items as places in a space where similarity falls off with the distance (Shepard, Science 1987), fitted to some ratings.

    w_ij ≈ exp(-(|x_i - x_j|² + h_i + h_j)),   least squares with ridges on x and on h around its mean

h is what sets an item apart from all others alike (the specificity of Winsberg and Carroll, Psychometrika 1989): it stands for
the many dimensions that few ratings cannot show. As a matrix this has full rank, with n (q + 1) numbers only. The ridge on x is
one on the trace of x xᵀ, so dimensions that the ratings do not need stay empty, and q is an upper bound. Found by L-BFGS from
classical scaling of the shortest paths between landmarks and all items; anew each time, so that a result depends on the ratings
and not on when results were read. Time O(rounds pairs q + landmarks pairs log n), memory O(pairs + n (q + landmarks)).
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from cccount_dist.clustering.spectral.graph import Floats, Rated

_ROUNDS = 200
_MEMORY = 10  # steps that L-BFGS remembers
_RIDGE, _RIDGE_APART = 0.03, 0.3  # on x and on h, beside squared errors of similarities from 0 to 1
_LANDMARKS = 200
_NEAREST, _FARTHEST = 0.98, 0.02  # similarities that have a distance to start from: 1 and 0 have none
_CLOSE = 1e-4  # how far the factors may be from the guesses
_COLUMNS = 400  # of the factors at most


@dataclass(frozen=True, slots=True)
class Places:
    """A guess for every pair: exp(-(|x_i - x_j|² + h_i + h_j))."""

    x: Floats  # (n, q)
    h: Floats  # (n,)

    def at(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
        """Return the guesses of some pairs."""
        far = np.square(self.x[first] - self.x[second]).sum(axis=1)
        return np.asarray(np.exp(-(far + self.h[first] + self.h[second])))

    def factors(self) -> Floats:
        """Return F (n, columns) with F Fᵀ near all guesses, by a Cholesky factorisation that takes the worst item next.

        The guesses are positive definite, so no pair is off by more than the worst item. Time O(n columns²).
        """
        items = len(self.x)
        left = np.exp(-2.0 * self.h)
        enough = _CLOSE * float(left.max())
        found = np.zeros((min(_COLUMNS, items), items))
        for column in range(len(found)):
            worst = int(left.argmax())
            if left[worst] <= enough:
                return np.ascontiguousarray(found[:column].T)
            guesses = self.at(np.arange(items), np.full(items, worst))
            found[column] = (guesses - found[:column, worst] @ found[:column]) / np.sqrt(left[worst])
            left = np.maximum(left - np.square(found[column]), 0.0)
            left[worst] = 0.0
        return np.ascontiguousarray(found.T)


def places(rated: Rated, dimensions: int) -> Places:
    """Return the places that were fitted to the ratings."""
    items, q = rated.items, min(dimensions, rated.items - 1)
    start = np.concatenate([first_places(rated, q).ravel(), np.zeros(items)])
    best = minimize(misfit, start, (rated, q), "L-BFGS-B", jac=True, options={"maxiter": _ROUNDS, "maxcor": _MEMORY}).x
    return Places(best[: items * q].reshape(items, q), best[items * q :])


def misfit(z: Floats, rated: Rated, q: int) -> tuple[float, Floats]:
    """Return the squared errors with their ridges, and the gradient; z is x and h in one."""
    x, h = z[: rated.items * q].reshape(rated.items, q), z[rated.items * q :]
    around_x, around_h = x - x.mean(axis=0), h - h.mean()
    by_x, by_h = 2.0 * _RIDGE * around_x, 2.0 * _RIDGE_APART * around_h
    errors = _squared_errors(x, h, rated.first, rated.second, rated.weights, by_x, by_h)
    ridges = _RIDGE * np.square(around_x).sum() + _RIDGE_APART * np.square(around_h).sum()
    return float(errors + ridges), np.concatenate([by_x.ravel(), by_h])


@njit(cache=True)
def _squared_errors(
    x: Floats, h: Floats, first: NDArray[np.int64], second: NDArray[np.int64], weights: Floats, by_x: Floats, by_h: Floats
) -> float:
    """Return the sum of squared errors, and add its gradient to `by_x` and `by_h`."""
    total = 0.0
    for pair in range(len(weights)):
        i, j = first[pair], second[pair]
        exponent = h[i] + h[j]
        for r in range(x.shape[1]):
            exponent += (x[i, r] - x[j, r]) ** 2
        guess = np.exp(-exponent)
        error = guess - weights[pair]
        total += error * error
        slope = -2.0 * error * guess  # by the exponent
        by_h[i] += slope
        by_h[j] += slope
        for r in range(x.shape[1]):
            change = 2.0 * slope * (x[i, r] - x[j, r])
            by_x[i, r] += change
            by_x[j, r] -= change
    return total


def first_places(rated: Rated, dimensions: int) -> Floats:
    """Return (n, q) places by classical scaling of landmarks, the others put where their distances from those say.

    Distances are shortest paths of √(-log w); with all items as landmarks it is classical scaling itself. Parts that are not
    connected are as far apart as the farthest items that are.
    """
    items = rated.items
    lengths = np.sqrt(-np.log(np.clip(rated.weights, _FARTHEST, _NEAREST)))
    paths = csr_array((lengths, (rated.first, rated.second)), shape=(items, items))
    landmarks = np.unique(np.linspace(0, items - 1, min(items, _LANDMARKS)).round().astype(np.int64))
    far = dijkstra(paths, directed=False, indices=landmarks)
    squares = np.square(np.minimum(far, far[np.isfinite(far)].max()))
    own = squares[:, landmarks]
    middle = own.mean(axis=0)
    products = -0.5 * (own - middle - middle[:, None] + middle.mean())
    values, vectors = np.linalg.eigh(products)
    largest = np.argsort(-values, kind="stable")[:dimensions]
    scale = np.sqrt(np.maximum(values[largest], 1e-6))
    return np.asarray(0.5 * (middle[:, None] - squares).T @ (vectors[:, largest] / scale))

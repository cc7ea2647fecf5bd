"""What mutual near neighbours differ by, and the map that makes it count equally in all directions.

Such neighbours differ mostly by what does not matter (pose, light, pen): the mean of d dᵀ / 2 over these pairs, shrunk towards a
multiple of the identity, is L Lᵀ, and x becomes L⁻¹ (x - centre): within-class covariance normalisation, with neighbours in the
place of classes. At most 100,000 pairs are looked at: O(n) for finding them, O(pairs · d²) for the map, O(d²) memory.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.threads import one_thread

MUTUAL = 5  # neighbours among which mutual ones are looked for
SHRINK = 0.1  # share of the mean variance that is added in every direction
_MOST_PAIRS = 100_000
_ROWS = 8192


def whitening(vectors: NDArray[np.float32], neighbors: NDArray[np.int32], shrink: float = SHRINK) -> NDArray[np.float64] | None:
    """Return the matrix (d, d) that a centred row is multiplied with from the right; None if all mutual neighbours are equal.

    Parameters
    ----------
    vectors : (n, d)
    neighbors : (n, k), most similar first; -1 where a list is shorter
    shrink : share of the mean variance that is added in every direction
    """
    scatter = mutual_scatter(vectors, neighbors)
    with one_thread():  # sums in the same order whatever the number of cores
        mean = float(np.trace(scatter)) / len(scatter)
        if mean <= 0.0:
            return None
        root = np.linalg.cholesky(scatter + shrink * mean * np.eye(len(scatter)))
        return np.asarray(np.linalg.inv(root).T)


def mutual_scatter(vectors: NDArray[np.float32], neighbors: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the mean (d, d) of d dᵀ / 2 over mutual near neighbours."""
    first, second = _mutual_pairs(neighbors, min(MUTUAL, neighbors.shape[1]))
    with one_thread():
        return _scatter(vectors, first, second)


def mutual_share(neighbors: NDArray[np.int32]) -> float:
    """Return which share of the near neighbours is mutual; 0 if there are none."""
    k = min(MUTUAL, neighbors.shape[1])
    listed = int(np.count_nonzero(neighbors[:, :k] >= 0))
    return 2.0 * len(_mutual_pairs(neighbors, k)[0]) / listed if listed else 0.0


@numba.njit(cache=True, nogil=True, boundscheck=False, error_model="numpy")
def _mutual_pairs(neighbors, k):
    """Return the pairs i < j of which each is among the other's first k."""
    items = len(neighbors)
    first, second = np.empty(items * k, np.int32), np.empty(items * k, np.int32)
    count = 0
    for i in range(items):
        for t in range(k):
            j = neighbors[i, t]
            if j > i:
                for s in range(k):
                    if neighbors[j, s] == i:
                        first[count], second[count] = i, j
                        count += 1
                        break
    return first[:count], second[:count]


def _scatter(vectors: NDArray[np.float32], first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float64]:
    step = -(-len(first) // _MOST_PAIRS) if len(first) else 1
    first, second = first[::step], second[::step]
    total = np.zeros((vectors.shape[1],) * 2)
    for start in range(0, len(first), _ROWS):
        apart = vectors[first[start : start + _ROWS]].astype(np.float64) - vectors[second[start : start + _ROWS]]
        total += apart.T @ apart
    return total / (2 * max(len(first), 1))

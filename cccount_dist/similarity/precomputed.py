"""Rows for items of which only pair scores are known: a matcher's, or of any program that compares two pictures.

An item's row is its row of scores, with itself at the largest score, projected onto random directions (Johnson and
Lindenstrauss): the cosine of two rows is nearly that of their scores, so two items are alike if they have a high score or high
scores with the same others. An item without any score has a direction of its own. Time O(m d) for m scores, memory O(m + n d).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from storage.errors import InputError

DIRECTIONS = 128
_SEED = 20


def rows_of_scores(scores: Any) -> NDArray[np.float32]:
    """Return rows (n, d) for scores (n, n), of which most may be missing; what is missing counts as 0.

    Parameters
    ----------
    scores : sparse or an array; finite, 0 or more, larger for what is more alike. Scores in one direction count for both, of
        two the larger one; the diagonal does not count

    >>> rows = rows_of_scores(np.array([[0, 9, 0], [0, 0, 0], [0, 0, 0]]))
    >>> (rows[:2] @ rows[0] > 0.5).tolist(), bool(abs(rows[2] @ rows[0]) < 0.3)
    ([True, True], True)
    """
    try:
        matrix: Any = scores if sparse.issparse(scores) else np.asarray(scores, np.float64)
        given: Any = sparse.csr_matrix(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"pair scores must be a square matrix of numbers, sparse or an array: {error}") from error
    if given.shape[0] != given.shape[1]:
        raise InputError(f"pair scores must be a square matrix, one row and one column for each item, not of shape {given.shape}")
    if given.shape[0] < 2:
        raise InputError(f"pair scores of at least 2 items are needed, not of {given.shape[0]}")
    if not np.isfinite(given.data).all() or (given.data < 0).any():
        raise InputError("pair scores must be finite and 0 or more, larger for what is more alike: distances are not scores")
    both = given.maximum(given.T).tocsr()
    both.setdiag(0.0)
    largest = float(both.data.max(initial=0.0))
    directions = np.random.default_rng(_SEED).standard_normal((both.shape[0], DIRECTIONS))
    rows = directions + (both / largest) @ directions if largest > 0.0 else directions
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)

"""A second score of near pairs, from local matches (`localmatches.py`), and neighbour lists in the order of both.

Different pictures have up to four matches by chance; what is beyond counts by its logarithm. The score is 0 for pictures without
texture, and for pairs that were not compared. What it is worth differs from collection to collection (two animals before one
camera share a background), so samplers take it as one more feature, whose weight begins at 0 and is learned from answers.
Memory: 12 bytes for each pair with a score, in both directions; time O(n m) for m compared neighbours.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

CHANCE, ENOUGH = 4, 30  # matches that different pictures have by chance; more than so many say nothing more
WEIGHT = 0.15  # of a score beside the similarity, for lists: chosen on 4 collections (docs/evidence/embedding.md)
_ROWS = 65_536  # that are put in order at once

Lists = NDArray[np.int32]
Counts = NDArray[np.int16]


def local_score(matches: Counts) -> NDArray[np.float64]:
    """Return the scores of numbers of matches; -1 (not compared) scores nothing.

    >>> local_score(np.array([-1, 0, 4, 5, 10, 300], np.int16)).round(2)
    array([0.  , 0.  , 0.  , 0.69, 1.95, 3.3 ])
    """
    return np.log1p(np.clip(matches.astype(np.float64), CHANCE, ENOUGH) - CHANCE)


class LocalScores:
    """The scores of all pairs that were compared and have more matches than by chance.

    Parameters
    ----------
    neighbors : (n, k), most similar first; -1 where a list is shorter
    matches : (n, m) with the first m of them; -1 where there is none
    """

    __unsaved__: ClassVar = ("_rows",)

    def __init__(self, neighbors: Lists, matches: Counts) -> None:
        self._neighbors, self._matches = neighbors, matches
        self._rows: sparse.csr_matrix | None = None

    @property
    def rows(self) -> sparse.csr_matrix:
        """(n, n) scores, the same in both directions; made when they are wanted."""
        if self._rows is None:
            self._rows = self._made()
        return self._rows

    def _made(self) -> sparse.csr_matrix:
        first, place = np.nonzero(self._matches > CHANCE)
        second = np.asarray(self._neighbors)[first, place]
        score = local_score(np.asarray(self._matches)[first, place])
        shape = (len(self._neighbors),) * 2
        found = sparse.csr_matrix((score, (first, second)), shape=shape)
        both: sparse.csr_matrix = found.maximum(found.T).tocsr()
        both.sort_indices()
        return both

    def of(self, item: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the items that one has a score with, in their order, and the scores."""
        rows = self.rows
        start, stop = rows.indptr[item : item + 2]
        return rows.indices[start:stop], rows.data[start:stop]


def reordered(neighbors: Lists, similarity: NDArray[np.float32], matches: Counts) -> Lists:
    """Return the lists (n, k) with those first that are similar and match; as they are where nothing matches."""
    found = np.empty(neighbors.shape, np.int32)
    for start in range(0, len(found), _ROWS):
        some = slice(start, start + _ROWS)
        lists = np.asarray(neighbors[some])
        score = np.where(lists >= 0, np.asarray(similarity[some], np.float64), -np.inf)
        score[:, : matches.shape[1]] += WEIGHT * local_score(np.asarray(matches[some]))
        found[some] = np.take_along_axis(lists, np.argsort(-score, axis=1, kind="stable"), axis=1)
    return found


__all__ = ["LocalScores", "local_score", "reordered"]

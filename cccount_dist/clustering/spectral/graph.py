"""The similarities that were rated, as the Laplacian L = D - W of a sparse graph, zero where nothing is known (eq. 3).

Rows are kept sorted and hold the diagonal. A pair gets its entries when it is first asked; an answer then changes four numbers in
place, and each diagonal is summed anew, so that nothing drifts. Memory O(n + pairs asked); a new pair moves O(pairs) bytes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
DENSE = 300  # items up to which L is kept as a square matrix, too


@dataclass(frozen=True, slots=True)
class Rated:
    """The pairs that were rated, each once, and their weights."""

    items: int
    first: NDArray[np.int64]  # (m,)
    second: NDArray[np.int64]  # (m,) larger than first
    weights: Floats  # (m,)

    def only(self, chosen: NDArray[np.bool_]) -> "Rated":
        """Return some of the pairs, of the same items."""
        return Rated(self.items, self.first[chosen], self.second[chosen], self.weights[chosen])


class RatedGraph:
    """L of n items, and for every pair of it how uncertain its weight is.

    Attributes
    ----------
    starts, columns : (n + 1,) and (entries,), rows and columns of L as in a CSR matrix
    values : (entries,) of L: minus the weight, and the sum of the weights on the diagonal
    deviation : (entries,) of the weight; 0 for a pair that is not to be asked (again), and on the diagonal
    is_rated : (entries,) whether somebody rated the pair; if not, its weight is a prior or 0
    """

    def __init__(self, items: int) -> None:
        self.items = items
        self.starts = np.arange(items + 1, dtype=np.int32)
        self.columns = np.arange(items, dtype=np.int32)
        self.values: Floats = np.zeros(items)
        self.deviation: Floats = np.zeros(items)
        self.is_rated: NDArray[np.bool_] = np.zeros(items, np.bool_)
        self._square: Floats | None = np.zeros((items, items)) if items <= DENSE else None

    def add(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Make entries of weight 0 for pairs that have none yet."""
        rows, columns = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
        places = np.array([self._place(int(row), int(column)) for row, column in zip(rows, columns, strict=True)])
        self.columns = np.insert(self.columns, places, columns.astype(np.int32))
        self.values = np.insert(self.values, places, 0.0)
        self.deviation = np.insert(self.deviation, places, 0.0)
        self.is_rated = np.insert(self.is_rated, places, False)
        self.starts[1:] += np.cumsum(np.bincount(rows, minlength=self.items)).astype(np.int32)

    def has(self, u: int, v: int) -> bool:
        """Whether the pair has an entry."""
        place = self._place(u, v)
        return place < self.starts[u + 1] and bool(self.columns[place] == v)

    def set(self, u: int, v: int, weight: float, deviation: float, *, rated: bool = True) -> None:
        """Change the weight of a pair that has an entry."""
        for row, column in ((u, v), (v, u)):
            place = self._place(row, column)
            self.values[place], self.deviation[place], self.is_rated[place] = -weight, deviation, rated
            diagonal = self._place(row, row)
            self.values[diagonal] = 0.0
            self.values[diagonal] = -self.values[self.starts[row] : self.starts[row + 1]].sum()
            if self._square is not None:
                self._square[row, column], self._square[row, row] = -weight, self.values[diagonal]

    def close(self, u: int, v: int) -> None:
        """Say that the pair is not to be asked (again)."""
        self.deviation[self._place(u, v)] = self.deviation[self._place(v, u)] = 0.0

    def laplacian(self) -> csr_array:
        """Return L; it shares the memory of this graph."""
        return csr_array((self.values, self.columns, self.starts), shape=(self.items, self.items))

    def dense(self) -> Floats:
        """Return L as a square matrix of its own."""
        return np.asarray(self.laplacian().toarray()) if self._square is None else self._square.copy()

    def rated(self) -> Rated:
        """Return the pairs that were rated."""
        rows = np.repeat(np.arange(self.items), np.diff(self.starts))
        upper = self.is_rated & (rows < self.columns)
        return Rated(self.items, rows[upper], self.columns[upper].astype(np.int64), -self.values[upper])

    def operator(self) -> Callable[[Floats], Floats]:
        """Return x -> L x for x of (n,) or (n, any)."""
        matrix = self.laplacian()
        return lambda x: np.asarray(matrix @ x)

    def bound(self) -> float:
        """Return a bound of the largest |eigenvalue|: the largest sum of a row's absolute values."""
        return float(np.add.reduceat(np.abs(self.values), self.starts[:-1]).max())

    def degrees(self) -> Floats:
        """Return the diagonal of L: the sum of the weights of every item."""
        return np.asarray(self.laplacian().diagonal())

    def components(self, also: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None) -> tuple[int, Ints]:
        """Return how many connected parts there are, and the part of every item; `also` are pairs that are taken as connected."""
        rows = np.repeat(np.arange(self.items), np.diff(self.starts))
        linked = self.values < 0.0
        first, second = rows[linked], self.columns[linked]
        if also is not None:
            first, second = np.concatenate([first, also[0]]), np.concatenate([second, also[1]])
        edges = csr_array((np.ones(len(first)), (first, second)), shape=(self.items, self.items))
        count, part = connected_components(edges, directed=False)
        return int(count), part

    def _place(self, row: int, column: int) -> int:
        start, end = self.starts[row], self.starts[row + 1]
        return int(start + np.searchsorted(self.columns[start:end], column))

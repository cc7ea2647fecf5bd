"""How likely it is that an item belongs to a cluster: logistic regression on how alike they look, refitted as answers come.

It learns from what was decided, never from single answers, which may be wrong. It only orders questions (and, with wrong
answers, says which of them to ask again): the count does not rest on it. O(rows · 16) for a step of a fit, 20,000 rows at most.
"""

import numba
import numpy as np
from numpy.typing import NDArray

# Share of the cluster's size in the probability, a guard against over-confidence: before and after so many matches.
FLOOR, TAUGHT_FLOOR, TAUGHT = 0.3, 0.1, 20
_START, _START_SPACES = (-4.0, 0.5), 2.0  # of the constant and the log of the size; shared by the similarities
_ROWS = 20_000
_MOST_VARIANCE = 4.0  # of a score
_RIDGE, _RIDGE_CONSTANT, _STEPS, _LONGEST = 0.5, 0.01, 4, 2.0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _curvature(
    rows: NDArray[np.float64], same: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gradient and information of the log likelihood, summed in the order of the rows."""
    size = rows.shape[1]
    gradient, information = np.zeros(size), np.zeros((size, size))
    for row in range(len(rows)):
        score = 0.0
        for a in range(size):
            score += rows[row, a] * weights[a]
        chance = 1.0 / (1.0 + np.exp(-min(30.0, max(-30.0, score))))
        rest = (1.0 if same[row] else 0.0) - chance
        for a in range(size):
            gradient[a] += rest * rows[row, a]
            for b in range(size):
                information[a, b] += chance * (1.0 - chance) * rows[row, a] * rows[row, b]
    return gradient, information


class Chances:
    """The regression and the comparisons that it was fitted on. The last `further` features count for nothing at first."""

    def __init__(self, features: int, further: int = 0) -> None:
        similarities = features - len(_START) - further
        self.weights = np.array(_START + (_START_SPACES / similarities,) * similarities + (0.0,) * further)
        self._rows = np.empty((1024, features))
        self._same = np.empty(1024, np.bool_)
        self._count = 0
        self._covariance: NDArray[np.float64] = np.zeros((features, features))  # of the weights
        self.matches = 0

    @property
    def floor(self) -> float:
        return FLOOR if self.matches < TAUGHT else TAUGHT_FLOOR

    def logistic(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the fitted probability for rows of features, rounded a little so that the last bit decides nothing."""
        score = np.zeros(len(features))
        for column in range(len(self.weights)):
            score += features[:, column] * self.weights[column]
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(np.rint(score * 2**20) / 2**20, -30.0, 30.0))))

    def caution(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how many times larger small odds are than the fitted ones, on average over what the weights may be.

        With few matches the slope is hardly known, and where odds are small most of their mean comes from slopes that are less
        steep than the fitted one: for weights that are normal about it, E exp(score) = exp(score + variance / 2).
        """
        variance = np.einsum("ij,jk,ik->i", features, self._covariance, features)
        return np.asarray(np.exp(0.5 * np.minimum(np.rint(variance * 2**20) / 2**20, _MOST_VARIANCE)))

    def learn(self, features: NDArray[np.float64], match: int | None) -> None:
        """Take in the comparisons of one item: all different, but for the row `match`."""
        stop = self._count + len(features)
        if stop > _ROWS:  # only the latest count
            keep = max(0, _ROWS // 2 - len(features))
            start = self._count - keep
            self._rows[:keep], self._same[:keep] = self._rows[start : self._count].copy(), self._same[start : self._count].copy()
            self._count, stop = keep, keep + len(features)
        while stop > len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
            self._same = np.concatenate([self._same, np.empty_like(self._same)])
        self._rows[self._count : stop] = features
        self._same[self._count : stop] = False
        if match is not None:
            self._same[self._count + match] = True
            self.matches += 1
        self._count = stop

    def fit(self) -> None:
        """Newton's steps from the present weights; each coordinate moves by at most 2 in a step."""
        ridge = np.full(len(self.weights), _RIDGE)
        ridge[0] = 0.0
        for _ in range(_STEPS):
            gradient, information = _curvature(self._rows[: self._count], self._same[: self._count], self.weights)
            damping = ridge.copy()
            damping[0] = _RIDGE_CONSTANT
            step = np.linalg.solve(information + np.diag(damping), gradient - ridge * self.weights)
            self.weights = self.weights + np.clip(step, -_LONGEST, _LONGEST)
        self._covariance = np.asarray(np.linalg.inv(information + np.diag(damping)), np.float64)

"""Scores of pairs in the place of vectors: what the rows are, that they guide the questions, and what is refused."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from cccount_dist import ClusterCounter
from cccount_dist.similarity.precomputed import rows_of_scores
from storage.errors import InputError

LABELS = np.repeat(np.arange(30), 8)


def scores(found: float = 0.7, wrong: float = 0.01) -> sparse.csr_array:
    """A matcher that finds most pairs of a class, and few others; each pair once, in one direction."""
    random = np.random.default_rng(2)
    same = LABELS[:, None] == LABELS[None, :]
    there = random.random(same.shape) < np.where(same, found, wrong)
    value = np.where(same, random.uniform(20, 60, same.shape), random.uniform(0, 30, same.shape))
    return sparse.csr_array(np.triu(np.where(there, value, 0.0), 1))


def same(u: int, v: int) -> bool:
    return bool(LABELS[u] == LABELS[v])


def test_rows_are_alike_as_scores_are() -> None:
    given = scores()
    rows = rows_of_scores(given)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(len(LABELS)), rel=1e-5)
    dense = given.toarray()
    both = np.maximum(dense, dense.T)
    own = both / both.max() + np.eye(len(both))
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    assert np.abs(rows @ rows.T - own @ own.T).max() < 6.0 / np.sqrt(rows.shape[1])
    assert np.abs(rows @ rows.T - own @ own.T).mean() < 1.0 / np.sqrt(rows.shape[1])


def test_direction_diagonal_and_scale_do_not_count() -> None:
    given = scores()
    other = (given * 3.0).T + sparse.diags_array(np.arange(1.0, len(LABELS) + 1))
    np.testing.assert_allclose(rows_of_scores(other), rows_of_scores(given), atol=1e-6)
    np.testing.assert_allclose(rows_of_scores(given.toarray()), rows_of_scores(given), atol=1e-6)


def test_a_count_by_scores_needs_fewer_answers_than_one_that_knows_nothing() -> None:
    nothing = sparse.csr_array((len(LABELS), len(LABELS)))
    guided = ClusterCounter(metric="precomputed", budget=600).fit(scores(), oracle=same)
    blind = ClusterCounter(metric="precomputed", budget=600).fit(nothing, oracle=same)
    assert guided.interval_[0] <= 30 <= guided.interval_[1]
    assert guided.interval_[1] - guided.interval_[0] < blind.interval_[1] - blind.interval_[0]
    assert guided.n_features_in_ == len(LABELS)


class Pages:
    """Somebody who looks at whole pages."""

    def __init__(self) -> None:
        self.pages: list[list[int]] = []

    def __call__(self, u: int, v: int) -> bool:
        return same(u, v)

    def page(self, u: int, vs: list[int]) -> list[bool]:
        self.pages.append(vs)
        return [same(u, v) for v in vs]


@pytest.mark.parametrize("matrix", [True, False])
def test_pages_go_to_an_oracle_that_has_them(matrix: bool) -> None:
    random = np.random.default_rng(1)
    vectors: NDArray[np.float32] = (np.eye(30)[LABELS] + 0.3 * random.standard_normal((len(LABELS), 30))).astype(np.float32)
    oracle = Pages()
    counter = ClusterCounter(metric="precomputed" if matrix else "cosine", budget=400, parameters={"grid": 12})
    counter.fit(scores() if matrix else vectors, oracle=oracle)
    assert counter.n_glances_ == len(oracle.pages) > 10
    assert max(len(page) for page in oracle.pages) <= 12
    assert counter.interval_[0] <= 30 <= counter.interval_[1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones((3, 4)), "one row and one column for each item, not of shape"),
        (np.ones((1, 1)), "at least 2 items"),
        (np.array([[0.0, -1.0], [0.0, 0.0]]), "distances are not scores"),
        (np.array([[0.0, np.nan], [0.0, 0.0]]), "finite and 0 or more"),
        (np.array([["a", "b"], ["c", "d"]]), "square matrix of numbers"),
    ],
)
def test_what_is_no_matrix_of_scores_is_refused(given: NDArray[np.generic], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterCounter(metric="precomputed").fit(given, oracle=same)

"""What the metrics mean, and what rows are made into."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cccount_dist.similarity.metrics import METRICS, Metric, check_metric, euclidean_scale, prepare, usable
from storage.errors import InputError
from tests.cccount_dist.reference import truth

_MATRICES = hnp.arrays(
    np.float32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12), elements=st.floats(-1e6, 1e6, width=32)
)


@given(_MATRICES)
@settings(max_examples=100, deadline=None)
def test_dot_products_of_prepared_rows_are_the_similarities(x: np.ndarray) -> None:
    for metric in ("cosine", "correlation"):
        rows = prepare(x, metric).astype(np.float64)
        assert np.allclose(rows @ rows.T, truth(x, metric).similarity, atol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_a_row_is_prepared_the_same_in_any_block(metric: Metric) -> None:
    x = np.random.default_rng(0).standard_normal((97, 33)).astype(np.float32)
    whole = prepare(x, metric)
    pieces = np.concatenate([prepare(x[start : start + 10], metric) for start in range(0, 97, 10)])
    assert whole.tobytes() == pieces.tobytes()


def test_zero_and_constant_rows_stay_zero() -> None:
    x = np.array([[0, 0, 0], [0.1, 0.1, 0.1], [1e-30, 0, 0]], np.float32)
    assert not prepare(x, "cosine")[0].any()
    assert np.allclose(np.linalg.norm(prepare(x, "cosine")[1:], axis=1), 1)
    assert not prepare(x, "correlation")[:2].any()


def test_rows_without_a_vector_stay_nan() -> None:
    x = np.array([[np.nan, 1.0], [1.0, 2.0]], np.float32)
    assert np.isnan(prepare(x, "cosine")[0]).all()
    assert usable(x).tolist() == [False, True]


def test_euclidean_similarity_of_centred_unit_rows_is_nearly_their_cosine() -> None:
    x = np.random.default_rng(1).standard_normal((500, 40))
    x -= x.mean(axis=0)
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    scale = euclidean_scale(lambda: [x])
    difference = truth(x, "euclidean").similarity - np.maximum(0, truth(x, "cosine").similarity)
    assert np.isclose(scale.mean_square, 2.0, atol=0.01)
    assert np.abs(difference).max() < 0.01


def test_the_euclidean_scale_is_the_mean_over_all_pairs_and_ignores_rows_without_a_vector() -> None:
    x = (1000 + np.random.default_rng(2).standard_normal((60, 5))).astype(np.float32)
    x[7] = np.nan
    rows = np.delete(x, 7, axis=0).astype(np.float64)
    squared = np.square(rows[:, None] - rows[None, :]).sum(axis=2)
    scale = euclidean_scale(lambda: [x[:20], x[20:]])
    assert np.isclose(scale.mean_square, squared.sum() / (59 * 58), rtol=1e-12)


def test_equal_items_have_similarity_one_although_the_mean_is_rounded() -> None:
    x = np.full((1000, 7), 0.1, np.float32)
    scale = euclidean_scale(lambda: [x])
    assert scale.mean_square == 0.0
    assert scale.similarity(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]


def test_an_unknown_metric_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(InputError, match="no metric 'manhattan': use one of cosine, correlation, euclidean"):
        check_metric("manhattan")

"""The parts of the approximate engine: centres, near lists, degrees by regression."""

import numpy as np
import pytest

from cccount_dist.similarity.blocks import make_block, scores_of
from cccount_dist.similarity.coarse import centres_for, learn_centres, near_centres
from cccount_dist.similarity.degrees import SAMPLE, Reference, estimate_degrees
from cccount_dist.similarity.metrics import METRICS, Metric, euclidean_scale, prepare
from tests.cccount_dist.reference import clustered, truth


def test_near_centres_are_the_nearest_in_order() -> None:
    x, centres = clustered(500, 12, 1), clustered(70, 12, 2)
    distance = np.square(x[:, None].astype(np.float64) - centres[None]).sum(axis=2)
    near = near_centres(x, centres, 9)
    assert np.array_equal(near, np.argsort(distance, axis=1)[:, :9])
    assert np.array_equal(near_centres(x, centres, 1)[:, 0], near[:, 0])


def test_centres_spread_over_the_collection_and_are_the_same_every_time(capfd: pytest.CaptureFixture[str]) -> None:
    x = clustered(4000, 10)
    x = x[np.random.default_rng(0).permutation(len(x))]
    first, again = (learn_centres(x, centres_for(4000), 1) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    nearest = near_centres(x, first, 1)[:, 0]
    spread = np.square(x - first[nearest]).sum()
    assert spread < 0.5 * np.square(x - x.mean(axis=0)).sum()
    assert len(np.unique(nearest)) > 0.9 * len(first)
    learn_centres(x[:20], 2, 1)  # faiss would like more, and says so where nobody asked
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("metric", METRICS)
def test_degrees_by_regression_are_within_their_error(metric: Metric) -> None:
    items = 6000
    x = clustered(items, 24)
    meaning = scores_of(metric, 24, euclidean_scale(lambda: [x]) if metric == "euclidean" else None)
    block = make_block(prepare(x, metric), items, meaning)
    sampled = np.sort(np.random.default_rng(2).permutation(items)[:SAMPLE])
    wide = block.right.astype(np.float64)
    reference = Reference(sampled, block.right[sampled], wide.sum(axis=0), wide.T @ wide, items)
    rows = np.arange(0, items, 20)
    found = estimate_degrees(rows, block.left[rows], block.right[rows], reference, meaning)
    rest = np.array([_degree(x, int(item), metric, meaning.scale.mean_square if meaning.scale else None) for item in rows])
    error = found / rest - 1
    assert np.sqrt(np.mean(error**2)) < 0.02
    assert abs(error.mean()) < 0.005


def _degree(x: np.ndarray, item: int, metric: Metric, mean_square: float | None) -> float:
    if mean_square is not None:
        similarity = 1 - np.square(x.astype(np.float64) - x[item]).sum(axis=1) / mean_square
    else:
        rows = prepare(x, metric).astype(np.float64)
        similarity = rows @ rows[item]
    similarity[item] = 0
    return float(np.clip(similarity, 0, 1).sum())


def test_degrees_of_equal_items_are_exact() -> None:
    x = prepare(np.full((300, 5), 2.0, np.float32), "cosine")
    wide = x.astype(np.float64)
    reference = Reference(np.arange(100), x[:100], wide.sum(axis=0), wide.T @ wide, 300)
    found = estimate_degrees(np.arange(300), x, x, reference, scores_of("cosine", 5))
    assert np.allclose(found, truth(np.full((300, 5), 2.0, np.float32), "cosine").degree(), rtol=1e-6)

"""Unique entity estimation: the correction against simulated losses, and the whole on clusters of a few items."""

import numpy as np
import pytest

from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.counting.baselines.entities import corrected_components, unique_entities
from tests.cccount_dist.samplers import blobs


@pytest.mark.parametrize("rate", [0.6, 0.8, 1.0])
def test_the_correction_is_unbiased_where_pairs_are_lost_at_random(rate: float) -> None:
    random = np.random.default_rng(3)
    true, runs, found = np.array([60, 40, 30]), 400, []
    for _ in range(runs):
        components = np.zeros(8, np.int64)
        components[1] = true[0]
        kept = random.random(true[1]) < rate
        components[1:3] += 2 * np.count_nonzero(~kept), np.count_nonzero(kept)
        edges = (random.random((true[2], 3)) < rate).sum(axis=1)  # two of the three pairs keep a cluster of three together
        components[3] += np.count_nonzero(edges >= 2)
        components[2] += np.count_nonzero(edges == 1)
        components[1] += np.count_nonzero(edges == 1) + 3 * np.count_nonzero(edges == 0)
        found.append(corrected_components(components, rate))
    assert np.mean(found) == pytest.approx(130, abs=4 * np.std(found) / np.sqrt(runs) + 1e-9)


def test_clusters_of_a_few_items_are_counted_within_the_budget() -> None:
    random = np.random.default_rng(0)
    vectors, labels = blobs(tuple(random.choice([1, 2, 3], 100, p=[0.5, 0.3, 0.2]).tolist()), dimensions=16, noise=0.2)
    found = []
    for seed in range(6):
        asker = Asker(lambda u, v: bool(labels[u] == labels[v]), 600)
        found.append(unique_entities(vectors, asker, seed))
        assert asker.asked <= 600
    assert np.mean(found) == pytest.approx(100, rel=0.1)


def test_with_all_pairs_nothing_is_estimated_and_items_without_a_vector_are_left_out() -> None:
    vectors, labels = blobs((4, 3, 2, 1), noise=0.5)
    vectors = np.concatenate([vectors, np.full((1, vectors.shape[1]), np.nan, np.float32)])
    asker = Asker(lambda u, v: bool(labels[u] == labels[v]), 45)
    assert unique_entities(vectors, asker) == 4.0


def test_equal_vectors_end_at_the_budget() -> None:
    asker = Asker(lambda u, v: u % 3 == v % 3, 50)
    assert 1.0 <= unique_entities(np.ones((60, 4), np.float32), asker) <= 60.0
    assert asker.asked <= 50

"""The baselines of subclustering: where classes lie far apart, every one of them finds clean images of each."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.similarity.metrics import prepare
from cccount_dist.subclustering.baselines import all_distances, bregman_bubbles, from_medoids, k_medoids, normalised_cut
from cccount_dist.subclustering.scores import subcluster_scores
from storage.errors import InputError

LABELS = np.repeat(np.arange(4), 15)
VECTORS = prepare((np.eye(4, 6)[LABELS] * 10 + np.random.default_rng(0).normal(0, 0.1, (60, 6))).astype(np.float32), "cosine")
Members = NDArray[np.int64]


def medoids(seed: int) -> Members:
    pytest.importorskip("kmedoids", reason="the extra `benchmarks` is not installed")
    found = k_medoids(all_distances(VECTORS), 4, seed=seed)
    return from_medoids(VECTORS, found, found.medoids, 5)


def bubbles(seed: int) -> Members:
    return bregman_bubbles(VECTORS, 4, 5, seed=seed)


def cut(seed: int) -> Members:
    return normalised_cut(VECTORS, 4, 5, neighbors=20, seed=seed)


@pytest.mark.parametrize("baseline", [medoids, bubbles, cut])
def test_some_start_finds_every_class_and_only_clean_subclusters(baseline: Callable[[int], Members]) -> None:
    found = [baseline(seed) for seed in range(5)]
    assert all(members.shape == (4, 5) for members in found)
    assert max(subcluster_scores(LABELS, members).sjc for members in found) == 1.0


def test_more_items_than_a_matrix_can_hold_are_refused() -> None:
    with pytest.raises(InputError, match="too many for all distances"):
        all_distances(np.zeros((20_001, 1), np.float32))


def test_a_neighbour_graph_in_parts_is_cut_without_a_warning() -> None:
    apart = np.concatenate([VECTORS[:40], VECTORS[:40] + 100.0])
    members = normalised_cut(apart, 2, 5, neighbors=3)
    assert members.shape == (2, 5)

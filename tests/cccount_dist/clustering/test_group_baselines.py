"""The baselines run, keep to the budget, ask nothing twice, and find easy groups."""

import numpy as np
import pytest

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed
from cccount_dist.clustering.baselines.byname import BASELINES
from cccount_dist.clustering.baselines.np3 import _repaired
from tests.cccount_dist.samplers import blobs


@pytest.mark.parametrize("name", BASELINES)
def test_easy_groups_are_found_within_the_budget(name: str) -> None:
    vectors, labels = blobs((30, 20, 15), noise=0.3)
    asked: list[tuple[int, int]] = []

    def oracle(u: int, v: int) -> bool:
        asked.append((min(u, v), max(u, v)))
        return bool(labels[u] == labels[v])

    found = BASELINES[name](vectors, 3, Asker(oracle, 30), 0)
    assert found.shape == labels.shape
    assert len(asked) <= 30
    assert len(set(asked)) == len(asked)
    assert ari(labels, found) > 0.4
    again = BASELINES[name](vectors, 3, Asker(oracle, 30), 0)
    assert np.array_equal(found, again)


def test_what_follows_is_free_and_the_budget_ends_it() -> None:
    asker = Asker(lambda u, v: u // 3 == v // 3, budget=2)
    assert asker(0, 1)
    assert not asker(1, 3)
    assert not asker(0, 3)
    must, cannot = asker.links()
    assert must.tolist() == [[0, 1]]
    assert cannot.tolist() == [[1, 3]]
    with pytest.raises(BudgetUsed):
        asker(0, 8)


def test_np3_keeps_to_every_answer_and_groups_better_with_more_of_them() -> None:
    vectors, labels = blobs((16,) * 20, dimensions=16, noise=0.5)
    scores = []
    for budget in (0, 60, 240):
        asker = Asker(lambda u, v: bool(labels[u] == labels[v]), budget)
        found = BASELINES["np3"](vectors, 20, asker, 0)
        must, cannot = asker.links()
        assert (found[must[:, 0]] == found[must[:, 1]]).all()
        assert (found[cannot[:, 0]] != found[cannot[:, 1]]).all()
        scores.append(ari(labels, found))
    assert scores[0] < scores[1] < scores[2]


def test_np3_splits_by_colours_and_the_rest_joins_what_it_is_like() -> None:
    vectors = np.array([[1, 0], [1, 0.02], [1, 0.04], [1, 0.3], [1, 0.32], [-1, 0]], np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = (vectors @ vectors.T).astype(np.float64)
    asker = Asker(lambda u, v: False, 1)
    asker(0, 4)
    found = _repaired(np.array([0, 0, 0, 0, 0, 1]), similarity, asker)
    assert len(set(found.tolist())) == 3
    assert found[0] == found[1] == found[2] != found[3] == found[4]

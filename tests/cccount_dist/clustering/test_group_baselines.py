"""The baselines run, keep to the budget, ask nothing twice, and find easy groups."""

import numpy as np
import pytest

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed
from cccount_dist.clustering.baselines.byname import BASELINES
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

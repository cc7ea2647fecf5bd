"""Agreement with labels: accuracy against every permutation, missing labels, and what is refused."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from cccount_dist.clustering.agreement import accuracy, ari, nmi
from storage.errors import InputError

_PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


@settings(max_examples=60, deadline=None)
@given(_PAIRS)
def test_accuracy_is_the_best_over_all_permutations(pairs: list[tuple[int, int]]) -> None:
    labels, found = np.array(pairs).T
    best = max(np.mean(labels == np.array(permutation)[found]) for permutation in permutations(range(4)))
    assert accuracy(labels, found) == pytest.approx(best)
    assert accuracy(found, labels) == pytest.approx(best)


@settings(max_examples=30, deadline=None)
@given(_PAIRS)
def test_items_without_a_label_are_left_out(pairs: list[tuple[int, int]]) -> None:
    labels, found = np.array(pairs).T
    more_labels, more_found = np.append(labels, [-1, -1]), np.append(found, [0, 9])
    assert nmi(more_labels, more_found) == pytest.approx(normalized_mutual_info_score(labels, found), abs=1e-12)
    assert ari(more_labels, more_found) == pytest.approx(adjusted_rand_score(labels, found), abs=1e-12)
    assert accuracy(more_labels, more_found) == accuracy(labels, found)


def test_more_clusters_than_labels_cost_what_has_no_partner() -> None:
    assert accuracy(np.zeros(10, int), np.arange(10)) == 0.1
    assert accuracy(np.arange(10), np.zeros(10, int)) == 0.1


def test_partitions_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match=r"shapes \(3,\) and \(2,\)"):
        accuracy(np.zeros(3, int), np.zeros(2, int))
    with pytest.raises(InputError, match="no item has a label"):
        nmi(np.full(3, -1), np.zeros(3, int))

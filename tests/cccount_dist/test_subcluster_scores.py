"""SJC: 1 for perfect subclusters, the paper's example, nothing depends on order or on the names of the classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cccount_dist.subclustering.scores import subcluster_scores
from storage.errors import InputError


def test_perfect_subclusters_have_sjc_one() -> None:
    labels = np.repeat(np.arange(5), 8)
    scores = subcluster_scores(labels, np.arange(40).reshape(5, 8)[:, :6])
    assert (scores.sjc, scores.coverage, scores.purity) == (1.0, 1.0, 1.0)


def test_the_examples_of_the_paper() -> None:
    labels = np.repeat([0, 1], 10)
    six_of_ten = np.array([[0, 1, 2, 3, 4, 5, 10, 11, 12, 13]])
    assert subcluster_scores(labels, six_of_ten).sjc == pytest.approx(15 / 45 / 2)
    five_of_ten = np.array([[0, 1, 2, 3, 4, 10, 11, 12, 13, 14]])
    assert subcluster_scores(labels, five_of_ten).sjc == 0.0
    classes = np.repeat(np.arange(200), 11)
    members = np.arange(2200).reshape(200, 11)[:, :10].copy()
    members[120:, 9] = members[119, 9] + 1  # eighty subclusters with one mistake each
    assert subcluster_scores(classes, members).sjc == pytest.approx(0.92)


def test_two_subclusters_of_one_class_count_once_and_empty_places_count_as_wrong() -> None:
    labels = np.repeat([0, 1], 8)
    twice = subcluster_scores(labels, np.array([[0, 1, 2, 3], [4, 5, 6, 7]]))
    assert (twice.sjc, twice.coverage, twice.purity) == (0.5, 0.5, 1.0)
    holes = subcluster_scores(labels, np.array([[0, 1, 2, -1], [8, 9, -1, -1]]))
    assert holes.sjc == pytest.approx(3 / 6 / 2)
    assert holes.coverage == 0.5


def test_a_single_image_has_no_pairs_so_coverage_counts() -> None:
    assert subcluster_scores(np.array([0, 0, 1, -1]), np.array([[0], [1], [3]])).sjc == 0.5


@given(st.integers(0, 2**30), st.integers(1, 6), st.integers(1, 5))
def test_order_and_names_do_not_matter(seed: int, classes: int, size: int) -> None:
    random = np.random.default_rng(seed)
    labels = random.integers(-1, classes, 40)
    labels[0] = 0
    members = random.permutation(40)[: 5 * size].reshape(5, size)
    scores = subcluster_scores(labels, members)
    assert 0.0 <= scores.sjc <= scores.coverage <= 1.0
    names = np.append(random.permutation(classes), -1)
    shuffled = random.permuted(members, axis=1)[random.permutation(5)]
    again = subcluster_scores(names[labels], shuffled)
    assert again.sjc == pytest.approx(scores.sjc)
    assert again.coverage == pytest.approx(scores.coverage)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        subcluster_scores(np.array([-1, -1]), np.array([[0]]))

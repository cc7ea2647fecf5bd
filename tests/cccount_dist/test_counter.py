"""ClusterCounter: scikit-learn's conventions, what it counts, and what it refuses."""

import math
import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import cccount_dist
from cccount_dist import ClusterCounter
from cccount_dist.similarity.metrics import Metric
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

X, LABELS = blobs((40, 30, 20, 10), noise=0.3)


def same(u: int, v: int) -> bool:
    return bool(LABELS[u] == LABELS[v])


def test_it_follows_scikit_learns_conventions() -> None:
    counter = ClusterCounter(method="nis", budget=99, random_state=3)
    assert counter.get_params() == {
        "method": "nis",
        "budget": 99,
        "level": 0.95,
        "wrong_answers": "none",
        "metric": "cosine",
        "random_state": 3,
        "parameters": None,
        "preset": None,
        "map": "none",
    }
    assert clone(counter).set_params(budget=7).budget == 7
    assert "budget=99" in repr(counter)
    with pytest.raises(NotFittedError):
        check_is_fitted(counter)
    assert counter.fit(X, LABELS, oracle=same) is counter
    check_is_fitted(counter)
    assert counter.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("method", ["auto", "nis", "nested-mc"])
@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_it_counts_with_the_budget_that_it_was_given(method: str, metric: Metric) -> None:
    calls: list[tuple[int, int]] = []

    def oracle(u: int, v: int) -> bool:
        calls.append((u, v))
        return same(u, v)

    counter = ClusterCounter(method, budget=80, metric=metric).fit(X, oracle=oracle)
    assert counter.n_questions_ == len(calls) == 80
    assert counter.n_inferred_ > 0 or method == "auto"  # placing never asks what follows from answers
    low, high = counter.interval_
    assert low <= counter.n_clusters_ <= high
    assert all(type(u) is int and type(v) is int for u, v in calls)


def test_the_same_random_state_asks_the_same_questions() -> None:
    def asked(random_state: int | np.random.RandomState | None) -> list[tuple[int, int]]:
        pairs: list[tuple[int, int]] = []
        ClusterCounter(budget=60, random_state=random_state).fit(X, oracle=lambda u, v: pairs.append((u, v)))
        return pairs

    assert asked(5) == asked(5) != asked(6)
    assert asked(np.random.RandomState(5)) == asked(np.random.RandomState(5))
    assert asked(None) != asked(None)


def test_answers_that_settle_every_pair_give_the_exact_count() -> None:
    counter = ClusterCounter(budget=100_000).fit(X, oracle=same)
    assert (counter.n_clusters_, counter.interval_) == (4.0, (4.0, 4.0))
    assert counter.n_questions_ < 100 * 99 / 2


def test_a_budget_of_0_gives_the_certain_interval_and_asks_nothing() -> None:
    counter = ClusterCounter(budget=0).fit(X, oracle=lambda _u, _v: pytest.fail("nothing may be asked"))
    assert math.isnan(counter.n_clusters_)
    assert (counter.interval_, counter.n_questions_) == ((1.0, 100.0), 0)


def test_an_oracle_that_is_always_unsure_gives_the_certain_interval() -> None:
    counter = ClusterCounter(budget=50).fit(X, oracle=lambda _u, _v: None)
    assert math.isnan(counter.n_clusters_)
    assert (counter.interval_, counter.n_questions_) == ((1.0, 100.0), 50)


@pytest.mark.parametrize("items", [np.zeros((2, 1)), np.ones((30, 3)), np.zeros((30, 3)), [[1, 2], [3, 4], [5, 6]]])
def test_two_items_duplicates_and_zero_vectors_are_counted(items: ArrayLike) -> None:
    counter = ClusterCounter(budget=100).fit(items, oracle=lambda _u, _v: True)
    assert (counter.n_clusters_, counter.interval_) == (1.0, (1.0, 1.0))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros(5), "two dimensions"),
        (np.zeros((1, 5)), r"at least 2 items and 1 feature, not the shape \(1, 5\)"),
        (np.zeros((5, 0)), "1 feature"),
        ([["a", "b"], ["c", "d"]], "array of numbers"),
        ([[1, 2], [3]], "array of numbers"),
        (np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 0.0]]), r"row 1 of X .* \(2 such rows\)"),
        (np.array([[1e300, 2.0], [0.0, 1.0]]), "row 0 of X"),
    ],
)
def test_features_that_cannot_be_used_are_refused_by_name(features: ArrayLike, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterCounter().fit(features, oracle=same)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": -1}, "budget .* not -1"),
        ({"budget": 2.5}, "budget"),
        ({"budget": True}, "budget"),
        ({"method": "magic"}, "'magic' is not known: use one of auto, placing, nis"),
        ({"level": 95}, "level"),
        ({"metric": "hamming"}, "hamming"),
        ({"random_state": -1}, "-1"),
        ({"wrong_answers": "some"}, "none, estimate, or two rates"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused_by_name(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ClusterCounter(**parameters).fit(X, oracle=same)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["placing", "nis", "inverse", "pckmeans-explore"])
@pytest.mark.parametrize("shift", [0.0, 5.0])  # far from the origin all cosines are nearly 1
def test_a_euclidean_count_works_wherever_the_origin_is(method: str, shift: float) -> None:
    counter = ClusterCounter(method, budget=150, metric="euclidean").fit(X + np.float32(shift), oracle=same)
    assert counter.interval_[0] <= 4 <= counter.interval_[1]


def test_the_package_is_light_until_the_counter_is_used() -> None:
    code = "import sys, cccount_dist; assert not {'sklearn', 'numba', 'scipy'} & set(sys.modules); cccount_dist.ClusterCounter"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="Nothing"):
        cccount_dist.Nothing  # noqa: B018


def test_an_oracle_that_errs_is_asked_again_about_what_it_said() -> None:
    calls: dict[tuple[int, int], int] = {}

    def oracle(u: int, v: int) -> bool:
        calls[u, v] = calls.get((u, v), 0) + 1
        return same(u, v)

    counter = ClusterCounter("placing", budget=200, wrong_answers="estimate").fit(X, oracle=oracle)
    assert max(calls.values()) > 1
    assert counter.n_inferred_ == 0
    assert counter.interval_[0] <= counter.n_clusters_ <= counter.interval_[1]

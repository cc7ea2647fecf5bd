"""PairwiseClusterer: scikit-learn's conventions, what it groups, and what it refuses."""

import numpy as np
import pytest
from sklearn.base import clone

from cccount_dist import PairwiseClusterer
from cccount_dist.clustering.agreement import ari
from cccount_dist.similarity.metrics import Metric
from cccount_dist.similarity.views import join_views
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

X, LABELS = blobs((40, 30, 20, 10), dimensions=12, noise=0.3)


def same(u: int, v: int) -> bool:
    return bool(LABELS[u] == LABELS[v])


def test_it_follows_scikit_learns_conventions() -> None:
    clusterer = PairwiseClusterer(budget=9)
    assert clusterer.get_params() == {
        "method": "auto", "n_clusters": None, "budget": 9, "metric": "cosine", "k": 50, "random_state": 0, "parameters": None,
        "preset": None, "map": "none",
    }  # fmt: skip
    assert clone(clusterer).set_params(k=7).k == 7
    assert clusterer.fit(X, oracle=same) is clusterer
    assert clusterer.labels_.shape == (100,)
    assert clusterer.n_features_in_ == 12
    assert clusterer.fit_predict(X, oracle=same).tolist() == clusterer.labels_.tolist()


@pytest.mark.parametrize("metric", ["cosine", "correlation", "euclidean"])
def test_it_groups_with_the_budget_that_it_was_given(metric: Metric) -> None:
    calls: list[tuple[int, int]] = []

    def oracle(u: int, v: int) -> bool:
        calls.append((u, v))
        return same(u, v)

    clusterer = PairwiseClusterer("evidence", budget=40, metric=metric).fit(X, oracle=oracle)
    assert clusterer.n_questions_ == len(calls) <= 40
    assert all(type(u) is int and type(v) is int for u, v in calls)
    assert clusterer.n_clusters_ == clusterer.labels_.max() + 1
    assert ari(LABELS, clusterer.labels_) == 1.0


def test_a_budget_of_0_asks_nothing() -> None:
    clusterer = PairwiseClusterer(budget=0).fit(X, oracle=lambda _u, _v: pytest.fail("nothing may be asked"))
    assert clusterer.n_questions_ == 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "nonsense"}, "grouping method 'nonsense' is not known"),
        ({"n_clusters": 0}, "n_clusters must be a whole number, 1 or more, not 0"),
        ({"k": 1.5}, "k must be a whole number, 1 or more, not 1.5"),
        ({"budget": -1}, "budget must be a whole number"),
        ({"metric": "manhattan"}, "there is no metric 'manhattan'"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairwiseClusterer().set_params(**parameters).fit(X, oracle=same)


def test_views_are_joined_column_by_column() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(5, 3, (50, 4)), random.normal(-1, 100, (50, 2))
    joined = join_views([a, b])
    assert joined.shape == (50, 6)
    assert np.allclose(np.square(joined[:, :4]).sum(axis=1), 1.0, atol=1e-5)
    assert np.allclose(join_views([10 * a + 3, b]), joined, atol=1e-4)
    a[7, 2] = np.nan
    assert np.isnan(join_views([a, b])[7]).all()
    with pytest.raises(InputError, match="have 50, 49 rows"):
        join_views([a, b[:49]])


@pytest.mark.parametrize("method", ["auto", "evidence", "apc"])
def test_a_number_of_clusters_is_refused_by_methods_that_find_it(method: str) -> None:
    with pytest.raises(InputError, match="finds the number of clusters itself"):
        PairwiseClusterer(method, n_clusters=3, budget=5).fit(X, oracle=same)


def test_parameters_reach_the_method() -> None:
    fitted = PairwiseClusterer("apc", budget=300, parameters={"stop": 0.02}).fit(X, oracle=same)
    assert fitted.n_questions_ < 100
    with pytest.raises(InputError, match="apc has no parameter 'speed'"):
        PairwiseClusterer("apc", parameters={"speed": 1}).fit(X, oracle=same)
    with pytest.raises(InputError, match="stop is 2"):
        PairwiseClusterer("evidence", parameters={"stop": 2}).fit(X, oracle=same)
    assert 20 <= PairwiseClusterer("evidence", budget=300, parameters={"steady": 20}).fit(X, oracle=same).n_questions_ < 150
    for wrong in (-1, 2.5, True, "long"):
        with pytest.raises(InputError, match=f"steady is {wrong!r}: it must be a number of answers"):
            PairwiseClusterer("evidence", parameters={"steady": wrong}).fit(X, oracle=same)
    with pytest.raises(InputError, match="it takes stop, steady, wrong_answers and open"):
        PairwiseClusterer("evidence", parameters={"speed": 1}).fit(X, oracle=same)
    with pytest.raises(InputError, match=r"wrong answers are none, estimate, or two rates"):
        PairwiseClusterer("evidence", parameters={"wrong_answers": "few"}).fit(X, oracle=same)

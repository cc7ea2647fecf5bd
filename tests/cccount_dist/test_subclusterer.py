"""`Subclusterer` keeps scikit-learn's conventions, and the baselines can be had from Python."""

import numpy as np
import pytest
from sklearn.base import clone

from cccount_dist import Subclusterer
from cccount_dist.estimators.baselines import count_baselines, group_baseline, subcluster_baseline
from cccount_dist.subclustering.clarans import alternating, clarans
from cccount_dist.subclustering.distances import distances_from
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

X, Y = blobs((14, 12, 10, 9), noise=0.5)


def oracle(u: int, v: int) -> bool:
    return bool(Y[u] == Y[v])


@pytest.mark.parametrize("preset", [None, "paper", "paper-threshold"])
def test_a_fit_finds_clean_images_of_every_class_and_is_repeatable(preset: str | None) -> None:
    made = Subclusterer(n_clusters=4, size=4, budget=80, preset=preset)
    found = made.fit(X, oracle=oracle)
    assert found is made
    assert found.subclusters_.shape == (4, 4)
    assert len({int(Y[row[0]]) for row in found.subclusters_}) == 4
    for row in found.subclusters_:
        assert len(np.unique(Y[row[row >= 0]])) == 1
    assert found.n_questions_ <= 80
    assert found.n_features_in_ == X.shape[1]
    assert (found.labels_ >= 0).sum() == (found.subclusters_ >= 0).sum()
    again = clone(made).fit(X, oracle=oracle)
    assert np.array_equal(again.subclusters_, found.subclusters_)


def test_without_a_budget_nobody_is_asked() -> None:
    found = Subclusterer(n_clusters=4, size=3, budget=0).fit(X)
    assert found.n_questions_ == 0
    with pytest.raises(InputError, match="nobody can be asked: give an oracle"):
        Subclusterer(n_clusters=4).fit(X)


@pytest.mark.parametrize(("made", "message"), [
    (Subclusterer(n_clusters=0), "n_clusters must be a whole number"),
    (Subclusterer(n_clusters=4, metric="euclidean"), "cosine or correlation"),
    (Subclusterer(n_clusters=99), "n_clusters is 99|clusters is 99"),
    (Subclusterer(n_clusters=4, parameters={"wings": 2}), "has no parameter 'wings'"),
])  # fmt: skip
def test_what_cannot_be_used_is_refused(made: Subclusterer, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made.fit(X, oracle=oracle)


def test_baselines_can_be_had_from_python() -> None:
    assert set(count_baselines(X, k=10)) == {"mean-shift", "connected components", "k-means, elbow"}
    found = group_baseline("random-s", X, n_clusters=4, budget=30, oracle=oracle)
    assert found.labels.shape == (len(X),)
    assert found.questions == 30
    assert subcluster_baseline("clarans", X, n_clusters=4, size=3).shape == (4, 3)
    with pytest.raises(InputError, match="there is no baseline 'magic': use one of random-p, random-s"):
        group_baseline("magic", X, n_clusters=4, budget=30, oracle=oracle)


def test_clarans_ends_where_no_tried_swap_helps_and_its_loss_is_the_sum_of_distances() -> None:
    distances = distances_from(X, np.arange(len(X)))
    for found in (clarans(distances, 4, searches=3, neighbors=2000), alternating(distances, 4)):
        assert found.loss == pytest.approx(float(distances[found.medoids].min(axis=0).sum()), rel=1e-5)
    best = clarans(distances, 4, searches=3, neighbors=2000)
    for k in range(4):
        for r in range(len(X)):
            other = best.medoids.copy()
            other[k] = r
            assert distances[other].min(axis=0).sum() >= best.loss - 1e-3

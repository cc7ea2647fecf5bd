"""scikit-learn's own checks of estimators. Ours need somebody who answers: here it is a rule on the vectors themselves."""

from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from cccount_dist import ClusterCounter, PairwiseClusterer, Subclusterer


def same_sign(X: Any) -> Any:
    """Answers that follow from X: the same if the first column is on the same side of its mean."""
    try:
        column = np.asarray(X, dtype=float)[:, 0] if np.size(X) and not np.iscomplexobj(X) else np.zeros(2)
    except (TypeError, ValueError, IndexError):
        return lambda _u, _v: True  # X is refused before anybody is asked
    side = column > column.mean()
    return lambda u, v: bool(side[u] == side[v])


class AskedCounter(ClusterCounter):
    def fit(self, X: Any, y: object = None) -> Self:  # type: ignore[override]
        return super().fit(X, oracle=same_sign(X))


class AskedClusterer(PairwiseClusterer):
    def fit(self, X: Any, y: object = None) -> Self:  # type: ignore[override]
        return super().fit(X, oracle=same_sign(X))


EXCEPTIONS: dict[str, dict[str, str]] = {}


def allowed(estimator: BaseEstimator) -> dict[str, str]:
    return EXCEPTIONS.get(type(estimator).__name__, {})


@parametrize_with_checks(  # type: ignore[untyped-decorator, unused-ignore]
    [
        AskedCounter(budget=10),
        AskedClusterer(method="hacc", n_clusters=2, budget=10),
        Subclusterer(n_clusters=2, size=2, budget=0),
    ],
    expected_failed_checks=allowed,
)
def test_scikit_learns_checks_hold(estimator: BaseEstimator, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("estimator", [ClusterCounter(), PairwiseClusterer()])
def test_who_fits_without_somebody_who_answers_is_told_so(estimator: Any) -> None:
    with pytest.raises(TypeError, match="oracle"):
        estimator.fit(np.eye(4))

"""Checks of what a caller gives to the scikit-learn style classes; each refusal names the value that was wrong."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from storage.errors import InputError


def checked_features(X: ArrayLike) -> NDArray[np.float32]:
    """Return X as (n, d) float32, at least 2 x 1 and finite."""
    try:
        with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is refused below
            features = np.asarray(X, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"X must be an array of numbers: {error}") from error
    if features.ndim != 2:
        raise InputError(f"X must have two dimensions, items and features, not the shape {features.shape}")
    if len(features) < 2 or features.shape[1] < 1:
        raise InputError(f"X must have at least 2 items and 1 feature, not the shape {features.shape}")
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"row {row} of X has a value that is not finite ({len(features) - int(finite.sum())} such rows): remove them"
        )
    return features


def feature_names(X: object) -> NDArray[np.object_] | None:
    """Return the names of X's columns, as scikit-learn does: None unless it is a data frame whose names are all texts."""
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def remember_features(estimator: object, X: object, features: NDArray[np.float32] | None) -> None:
    """Set `n_features_in_`, and `feature_names_in_` where X has names; an earlier fit's names are forgotten."""
    vars(estimator)["n_features_in_"] = 0 if features is None else features.shape[1]
    vars(estimator).pop("feature_names_in_", None)
    if (names := feature_names(X)) is not None:
        vars(estimator)["feature_names_in_"] = names


def checked_budget(budget: object) -> int:
    """Return the budget as a whole number, 0 or more."""
    if isinstance(budget, bool) or not isinstance(budget, int | np.integer) or budget < 0:
        raise InputError(f"budget must be a whole number of questions, 0 or more, not {budget!r}")
    return int(budget)


def checked_seed(random_state: int | np.random.RandomState | None) -> int:
    """Return a seed by scikit-learn's rules: a number as it is, otherwise a draw."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

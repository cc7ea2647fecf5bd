"""Checks of what a caller gives to the scikit-learn style classes; each refusal names the value that was wrong."""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from storage.errors import InputError


class FeaturesError(InputError, ValueError):
    """X cannot be used: one of our errors, and a ValueError, as scikit-learn's pipelines and searches expect."""


class FeaturesTypeError(FeaturesError, TypeError):
    """X is made of something else than numbers."""


def checked_features(X: ArrayLike) -> NDArray[np.float32]:
    """Return X as (n, d) float32, at least 2 x 1 and finite."""
    if issparse(X):
        raise FeaturesTypeError("X is sparse, and sparse data are not supported: give X.toarray()")
    try:
        is_complex = np.iscomplexobj(X)
        with np.errstate(over="ignore"), warnings.catch_warnings():  # too large for float32 becomes infinite: refused below
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # refused below, too
            features = np.asarray(X, dtype=np.float32)
    except TypeError as error:
        raise FeaturesTypeError(f"X must be an array of numbers: {error}") from error
    except ValueError as error:
        raise FeaturesError(f"X must be an array of numbers: {error}") from error
    if is_complex:
        raise FeaturesError("X holds complex numbers. Complex data not supported: give real ones")
    if features.ndim != 2:
        raise FeaturesError(
            f"X must have two dimensions, items and features, not the shape {features.shape}. Reshape your data: "
            "X.reshape(-1, 1) is many items with one feature"
        )
    if features.shape[1] < 1:
        raise FeaturesError(
            f"X has 0 feature(s) (shape={features.shape}) while a minimum of 1 is required: give at least 1 feature"
        )
    if len(features) < 2:
        raise FeaturesError(f"X must have at least 2 items and 1 feature, not the shape {features.shape}: 1 sample is too few")
    finite = np.isfinite(features).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise FeaturesError(
            f"row {row} of X has a value that is not finite, NaN or infinity ({len(features) - int(finite.sum())} such rows): "
            "remove them"
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

"""`Subclusterer`: active subclustering in memory, by scikit-learn's conventions, without workspace, Dask or Prefect."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from cccount_dist.campaign.pythonwords import speaks_python
from cccount_dist.embedding.fitting import mapped
from cccount_dist.estimators.arguments import checked_budget, checked_features, checked_seed, remember_features
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.methods import Start, find_method
from cccount_dist.sampling.oracles import FunctionOracle
from cccount_dist.similarity.metrics import Metric, check_metric, prepare
from cccount_dist.subclustering.methods import DEFAULT, KIND, SubclusterInputs
from cccount_dist.subclustering.passive import draw_candidates
from cccount_dist.subclustering.result import Subclusters
from storage.errors import InputError
from storage.settings import Scalar

_NAMES = {"clusters": "n_clusters"}  # options that are called otherwise here


class Subclusterer(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Find a few clean items of each class from answers to "are these two items the same?".

    Memory O(n d + K R) for a restricted set of R = 25 K items; time O(R n d), then O(K R) for each swap.

    Parameters
    ----------
    n_clusters : how many classes there are
    size : items of each class
    budget : the largest number of questions that the oracle is asked; 0: what the vectors alone give
    metric : `cosine` or `correlation`
    map : `auto`: X goes through a map of the collection, where it helps (as `cccount embed --map auto`); `none`: as it is
    random_state : of the restricted set and the first centroids; the same number gives the same questions
    method : `active`, or a name of `cccount methods`
    preset : a named setting of the method, such as `paper`, the algorithm as printed; `parameters` win over it
    parameters : further ones of the method, by name, such as {"weight": 2.0}

    Attributes
    ----------
    subclusters_ : (K, size) int64, items; the first of each row is its centroid, -1 where nothing was found
    checked_ : (K, size) bool, whether the answers say that the item is the same as its centroid
    labels_ : (n,) int64, the subcluster of each item, -1 for items in none
    n_clusters_ : how many subclusters there are; those whose class another one has already are left out
    n_questions_ : answers that the oracle gave
    n_inferred_ : answers that followed from others, for free
    n_features_in_ : columns of X
    feature_names_in_ : their names, where X is a data frame with names

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> found = Subclusterer(n_clusters=3, size=5, budget=40).fit(X, oracle=lambda u, v: y[u] == y[v])
    >>> found.subclusters_.shape, sorted({int(y[row[0]]) for row in found.subclusters_})
    ((3, 5), [0, 1, 2])
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        size: int = 10,
        budget: int = 1000,
        metric: Metric = "cosine",
        map: str = "none",  # noqa: A002 (as the option of `cccount embed` is called)
        random_state: int | np.random.RandomState | None = 0,
        method: str = DEFAULT,
        preset: str | None = None,
        parameters: Mapping[str, Scalar] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.size = size
        self.budget = budget
        self.metric = metric
        self.map = map
        self.random_state = random_state
        self.method = method
        self.preset = preset
        self.parameters = parameters

    @speaks_python(_NAMES)
    def fit(self, X: ArrayLike, y: object = None, *, oracle: Callable[[int, int], object] | None = None) -> Self:  # noqa: ARG002
        """Find the subclusters.

        Parameters
        ----------
        X : (n, d) array of numbers, one row for each item
        y : ignored, as in every unsupervised estimator
        oracle : `oracle(u, v)` returns True (same), False (different) or None (unsure); called once for each question asked. It
            may be left out if the budget is 0

        Raises
        ------
        InputError
            If X, a parameter or an answer cannot be used; the message names it.
        """
        method = find_method(KIND, self.method, "subclustering method")
        budget = checked_budget(self.budget)
        if oracle is None and budget:
            raise InputError("nobody can be asked: give an oracle, or budget=0 for what the vectors alone say")
        clusters = _at_least_one(self.n_clusters, "n_clusters")
        features = checked_features(X)
        metric = check_metric(self.metric)
        if metric == "euclidean":
            raise InputError("metric is euclidean: subclusters are found with cosine or correlation")
        vectors = prepare(mapped(features, self.map), metric)
        said: dict[str, Scalar] = {"size": _at_least_one(self.size, "size"), **(self.parameters or {})}
        given = method.frozen(method.preset(self.preset, said) | said, Start(simulated=True))
        inputs = SubclusterInputs(clusters, checked_seed(self.random_state), partial(draw_candidates, vectors))
        sampler = method.build(inputs, method.read(given))
        tally = drive(sampler, FunctionOracle(oracle or _nobody), budget=budget, batch=1)
        result: Subclusters = sampler.result()
        self.subclusters_: NDArray[np.int64] = result.members[~result.surplus]
        self.checked_: NDArray[np.bool_] = result.checked[~result.surplus]
        self.labels_: NDArray[np.int64] = _labels(self.subclusters_, len(features))
        self.n_clusters_: int = result.count
        self.n_questions_: int = tally.questions
        self.n_inferred_: int = tally.inferred
        self.n_features_in_: int
        remember_features(self, X, features)
        return self


def _nobody(u: int, v: int) -> None:
    raise AssertionError(f"({u}, {v}) was asked without a budget")


def _labels(members: NDArray[np.int64], items: int) -> NDArray[np.int64]:
    labels = np.full(items, -1, np.int64)
    for number in range(len(members) - 1, -1, -1):  # an item that the printed form has in two is of the first
        labels[members[number][members[number] >= 0]] = number
    return labels


def _at_least_one(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, 1 or more, not {value!r}")
    return int(value)

"""`PairwiseClusterer`: the grouping samplers in memory, by scikit-learn's conventions, without workspace, Dask or Prefect."""

from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin

from cccount_dist.campaign.pythonwords import in_python, speaks_python
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, grouping_methods, make_grouper, without_vectors
from cccount_dist.clustering.quality import Quality
from cccount_dist.embedding.fitting import mapped
from cccount_dist.estimators.arguments import checked_budget, checked_features, checked_seed, remember_features
from cccount_dist.room import Size
from cccount_dist.sampling.drive import PAGE_COST, PAIR_SECONDS, drive
from cccount_dist.sampling.oracles import FunctionOracle
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import Metric, check_metric, prepare
from storage.errors import InputError
from storage.settings import Scalar

_NAMES = {"clusters": "n_clusters"}  # options that are called otherwise here


class PairwiseClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Group items from answers to "are these two items the same?".

    Memory O(n (d + k)) and about 3 KB an item for method `evidence`. Time O(n² d / 2) for the neighbours. Methods that ask for
    ratings (`iu-red` and its kin) need neither X nor neighbours.

    Parameters
    ----------
    method : `auto` (evidence) or a name of `cccount methods`
    n_clusters : how many clusters there are, for methods that can use it; None: not told
    budget : the largest number of questions that the oracle is asked
    metric : `cosine`, `correlation` or `euclidean`
    k : neighbours of each item; fewer in a small collection
    map : `auto`: vectors go through a map of the collection, fitted without labels, if it helps (docs/explanation/embedding.md);
        `none`
    random_state : for methods that draw; the same number gives the same questions
    preset : a named setting of the method, such as `paper`, the algorithm as printed; `parameters` win over it
    parameters : further ones of the method, by name, such as {"repeats": 1} for `iu-red`: see docs/explanation/

    Attributes
    ----------
    labels_ : (n,) int64, clusters numbered 0, 1, 2, … by first appearance
    n_clusters_ : int, how many clusters `labels_` has
    n_questions_ : answers that the oracle gave
    n_glances_ : sheets that the oracle answered, for methods that show several items at once (`catalogue`)
    human_seconds_ : what all of it would take a person, at 9 s a pair and 30 s a sheet
    n_inferred_ : answers that followed from others, for free
    quality_ : `Quality`: how good the labels are, with intervals; None for methods that do not measure it
    warning_ : what a reader should know before using the groups; None if there is nothing
    n_features_in_ : columns of X; 0 without X
    feature_names_in_ : their names, where X is a data frame with names

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> clusterer = PairwiseClusterer(budget=30).fit(X, oracle=lambda u, v: y[u] == y[v])
    >>> clusterer.n_questions_, [int((clusterer.labels_ == label).sum()) for label in range(3)]  # of 178, 182 and 177
    (30, [178, 182, 177])
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        n_clusters: int | None = None,
        budget: int = 600,
        metric: Metric = "cosine",
        map: str = "none",  # noqa: A002 (as the option of `cccount embed` is called)
        k: int = 50,
        random_state: int | np.random.RandomState | None = 0,
        preset: str | None = None,
        parameters: Mapping[str, Scalar] | None = None,
    ) -> None:
        self.method = method
        self.n_clusters = n_clusters
        self.budget = budget
        self.metric = metric
        self.map = map
        self.k = k
        self.random_state = random_state
        self.preset = preset
        self.parameters = parameters

    @speaks_python(_NAMES)
    def fit(
        self,
        X: ArrayLike | None,
        y: object = None,  # noqa: ARG002
        *,
        oracle: Callable[[int, int], object],
        items: int | None = None,
    ) -> Self:
        """Group.

        Parameters
        ----------
        X : (n, d) array of numbers, one row for each item; several embeddings: `clustering.views.join_views([X1, X2])`. None for
            objects without vectors, which methods that ask for ratings can group
        y : ignored, as in every unsupervised estimator
        oracle : `oracle(u, v)` returns True (same), False (different) or None (unsure), or a number in [0, 1] for methods that
            ask for ratings; called once for each question asked. If it has a method `page(u, vs)`, a sheet is asked with that
            at once: one answer for each of `vs`
        items : how many objects there are, where X is None

        Raises
        ------
        InputError
            If X, a parameter or an answer cannot be used; the message names it.
        """
        method = grouping_method(self.method)
        budget = checked_budget(self.budget)
        clusters = None if self.n_clusters is None else _at_least_one(self.n_clusters, "n_clusters")
        said = dict(self.parameters or {})
        parameters = method.preset(self.preset, said) | said
        k = _at_least_one(self.k, "k")
        given = None if X is None else checked_features(X)
        features = None if given is None else mapped(given, self.map)
        metric = check_metric(self.metric)
        seed = checked_seed(self.random_state)
        rows, columns = (items or 0, 0) if features is None else features.shape
        method.require_memory(Size(rows, columns, k, clusters), parameters)
        if "vectors" not in method.needs_of(parameters):
            inputs = without_vectors(np.ones(_items(features, items), np.bool_), seed, clusters, parameters)
        elif features is None:
            others = ", ".join(grouping_methods(ratings=True))
            raise InputError(f"method {method.name} groups by vectors: give X, or use one of {others}")
        else:
            found = neighbors_in_memory(features, min(k, len(features) - 1), metric)
            vectors = prepare(features, metric)
            inputs = GroupingInputs(vectors, found.index, found.similarity, seed, clusters, parameters)
        sampler = make_grouper(method.name, inputs)
        # One question at a time: the oracle answers at once, so each question can rest on all answers before it.
        tally = drive(sampler, FunctionOracle(oracle), budget=budget, batch=1)
        grouping = sampler.result()
        self.labels_: NDArray[np.int64] = grouping.labels
        self.n_clusters_: int = int(grouping.clusters)
        self.n_questions_: int = tally.questions
        self.n_inferred_: int = tally.inferred
        self.n_glances_: int = tally.glances
        self.human_seconds_: float = PAIR_SECONDS * (tally.questions + PAGE_COST * tally.glances)
        self.quality_: Quality | None = grouping.quality
        self.warning_: str | None = None if grouping.warning is None else in_python(grouping.warning, _NAMES)
        self.n_features_in_: int
        remember_features(self, X, given)
        return self


def _items(features: NDArray[np.float32] | None, items: int | None) -> int:
    if features is not None and items is not None and items != len(features):
        raise InputError(f"items is {items}, but X has {len(features)} rows: leave items out")
    if features is None and items is None:
        raise InputError("X is None: say how many objects there are with items=n")
    return len(features) if features is not None else _at_least_one(items, "items")


def _at_least_one(value: object, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, 1 or more, not {value!r}")
    return int(value)

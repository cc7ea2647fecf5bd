"""`ClusterCounter`: the counting samplers in memory, by scikit-learn's conventions, without workspace, Dask or Prefect."""

import math
from collections.abc import Callable, Mapping
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix
from sklearn.base import BaseEstimator

from cccount_dist.campaign.pythonwords import speaks_python
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.embedding.fitting import mapped
from cccount_dist.estimators.arguments import checked_budget, checked_features, checked_seed, remember_features
from cccount_dist.room import Size
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import PAGE_SECONDS, PAIR_SECONDS, drive
from cccount_dist.sampling.methods import Start
from cccount_dist.sampling.oracles import FunctionOracle
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import Metric, check_metric, euclidean_scale, prepare
from cccount_dist.similarity.precomputed import rows_of_scores
from cccount_dist.similarity.rows import degree
from cccount_dist.similarity.sharp import REACH, SharpRows
from storage.settings import Scalar

NEIGHBORS = 50  # of an item, where a method takes the lists as they are: as `cccount neighbors` makes them


class ClusterCounter(BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Estimate how many clusters there are from answers to "are these two items the same?".

    Memory O(n d). Method `placing`: time O(n² d / 2) for the neighbours, then O(32 D d + 156 d²) for each item that is placed
    among D clusters. Method `nis`: O(n² d) for the degrees, then O(n d) for each of the √(budget/7) anchors.

    Parameters
    ----------
    method : `auto` (placing), `placing`, or one of the paper's: `cccount methods` lists them
    budget : the largest number of questions that the oracle is asked
    level : of the interval
    wrong_answers : `none` (the oracle is right), `estimate`, or two rates like `0.04,0.02`: misses, and false "same"; for placing
    metric : `cosine`, `correlation` or `euclidean`, the similarity that guides the questions; `precomputed`: X holds scores of
        pairs, sparse or an array (n, n), larger for what is more alike, 0 where there is none
    map : `auto`: vectors go through a map of the collection, fitted without labels, if it helps (docs/explanation/embedding.md);
        `none`
    random_state : the same number gives the same questions; None and a `RandomState` work as in scikit-learn
    preset : a named setting of the method, such as `paper`, the algorithm as printed; `parameters` win over it
    parameters : further ones of the method, by name: `cccount methods NAME` lists them

    Attributes
    ----------
    n_clusters_ : float, the estimate; nan if the budget was too small for any
    interval_ : (low, high); certain bounds (1, n) as long as there is no estimate; equal ends when the answers settle every pair
    n_clusters_seen_ : clusters that were seen, a certain lower bound if the answers are right; 1 for methods that see none
    n_questions_ : answers that the oracle gave, those on pages not counted
    n_glances_ : pages, or sheets, that the oracle answered
    human_seconds_ : what both take a person, at 9 s a question and 30 s a page
    n_inferred_ : answers that followed from others, for free
    n_features_in_ : columns of X
    feature_names_in_ : their names, where X is a data frame with names

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> counter = ClusterCounter(budget=50).fit(X, oracle=lambda u, v: y[u] == y[v])
    >>> round(counter.n_clusters_), counter.interval_[0] <= 3 <= counter.interval_[1], counter.n_clusters_seen_
    (3, True, 3)
    >>> counter = ClusterCounter(method="nis", budget=200).fit(X, oracle=lambda u, v: y[u] == y[v])
    >>> round(counter.n_clusters_, 1), counter.interval_[0] < 3 < counter.interval_[1], counter.n_questions_
    (2.7, True, 200)
    """

    def __init__(
        self,
        method: str = "auto",
        *,
        budget: int = 2000,
        level: float = 0.95,
        wrong_answers: str = "none",
        metric: Metric | Literal["precomputed"] = "cosine",
        map: str = "none",  # noqa: A002 (as the option of `cccount embed` is called)
        random_state: int | np.random.RandomState | None = 0,
        preset: str | None = None,
        parameters: Mapping[str, Scalar] | None = None,
    ) -> None:
        self.method = method
        self.budget = budget
        self.level = level
        self.wrong_answers = wrong_answers
        self.metric = metric
        self.map = map
        self.random_state = random_state
        self.preset = preset
        self.parameters = parameters

    @speaks_python()
    def fit(self, X: ArrayLike | spmatrix | sparray, y: object = None, *, oracle: Callable[[int, int], object]) -> Self:  # noqa: ARG002
        """Count.

        Parameters
        ----------
        X : (n, d) array of numbers, one row for each item; with `metric="precomputed"` the scores (n, n) of pairs
        y : ignored, as in every unsupervised estimator
        oracle : `oracle(u, v)` returns True (same), False (different) or None (unsure); called once for each question. If it
            has a method `page(u, vs)`, a page or a sheet is asked with that: it returns one answer for each of `vs`

        Raises
        ------
        InputError
            If X, a parameter or an answer cannot be used; the message names it.
        """
        method = counting_method(self.method)
        budget = checked_budget(self.budget)
        scored = self.metric == "precomputed"
        given = rows_of_scores(X) if scored else checked_features(cast("ArrayLike", X))  # which refuses sparse ones
        features = mapped(given, "none" if scored else self.map)
        metric = "cosine" if scored else check_metric(self.metric)
        scale = euclidean_scale(lambda: [features]) if metric == "euclidean" else None
        vectors = prepare(features, metric)
        items = len(vectors)
        allowed = {"wrong_answers": self.wrong_answers} if method.has("wrong_answers") else {}
        said = {**allowed, **(self.parameters or {})}
        parameters = method.frozen(method.preset(self.preset, said) | said, Start(simulated=True))
        method.require_memory(Size(*vectors.shape), parameters)
        sampler = make_counter(
            method.name,
            vectors=vectors,
            degree=degree(vectors, scale) if "degrees" in method.needs else np.zeros(items),
            seed=checked_seed(self.random_state),
            level=self.level,
            parameters=parameters,
            mean_square=None if scale is None else scale.mean_square,
            sharp=lambda: SharpRows(vectors, neighbors_in_memory(features, min(REACH, items - 1), metric).index),
            neighbors=lambda: neighbors_in_memory(features, min(NEIGHBORS, items - 1), metric).index,
        )
        constraints = Constraints()
        # One sheet at a time: the oracle answers at once, so each can rest on all answers before it.
        batch = 1 if method.has("open") else 256
        tally = drive(sampler, FunctionOracle(oracle), budget=budget, items=items, constraints=constraints, batch=batch)
        result = sampler.result()
        self.n_clusters_: float = math.nan if result.estimate is None else float(result.estimate)
        self.interval_: tuple[float, float] = (float(result.low), float(result.high))
        if constraints.complete(items):
            self.n_clusters_ = float(constraints.clusters(items))
            self.interval_ = (self.n_clusters_, self.n_clusters_)
        self.n_clusters_seen_: int = int(result.certain_low)
        self.n_questions_: int = tally.questions
        self.n_glances_: int = tally.glances
        self.human_seconds_: float = PAIR_SECONDS * tally.questions + PAGE_SECONDS * tally.glances
        self.n_inferred_: int = tally.inferred
        self.n_features_in_: int
        remember_features(self, X, given)
        if scored:
            self.n_features_in_ = len(given)
        return self

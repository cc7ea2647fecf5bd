"""What the methods are compared with, from Python: the papers' baselines on vectors in memory. Most are told K.

>>> from sklearn.datasets import load_digits
>>> X, y = load_digits(n_class=3, return_X_y=True)
>>> found = group_baseline("random-s", X, n_clusters=3, budget=50, oracle=lambda u, v: y[u] == y[v])
>>> found.labels.shape, found.questions
((537,), 50)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.clustering.baselines.byname import BASELINES as GROUPINGS
from cccount_dist.counting.baselines.together import counts_without_people
from cccount_dist.estimators.arguments import checked_budget, checked_features
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import Metric, prepare
from cccount_dist.subclustering.byname import BASELINES as SUBCLUSTERINGS
from storage.errors import InputError

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class BaselineGroups:
    """The labels (n,), and how many questions were asked for them."""

    labels: NDArray[np.int64]
    questions: int


def count_baselines(X: ArrayLike, *, metric: Metric = "cosine", k: int = 50, random_state: int = 0) -> dict[str, int]:
    """Return how many clusters mean-shift, connected components and k-means at its elbow see, without asking anybody."""
    features = checked_features(X)
    found = neighbors_in_memory(features, min(k, len(features) - 1), metric)
    return dict(counts_without_people(prepare(features, metric), found.index, found.similarity, seed=random_state))


def group_baseline(
    name: str,
    X: ArrayLike,
    *,
    n_clusters: int,
    budget: int,
    oracle: Callable[[int, int], bool],
    metric: Metric = "cosine",
    random_state: int = 0,
) -> BaselineGroups:
    """Return the groups of a baseline that is told K: random-p, random-s, ffqs, npu, urasc, cobra, or np3 (without K)."""
    baseline = _named(name, GROUPINGS)
    asker = Asker(lambda u, v: bool(oracle(u, v)), checked_budget(budget))
    return BaselineGroups(baseline(prepare(checked_features(X), metric), n_clusters, asker, random_state), asker.asked)


def subcluster_baseline(
    name: str, X: ArrayLike, *, n_clusters: int, size: int, metric: Metric = "cosine", random_state: int = 0
) -> NDArray[np.int64]:
    """Return members (K, n), the centroid first, of a baseline: fast-pam, clarans, k-medoids, normalised-cut or bbc-s."""
    return _named(name, SUBCLUSTERINGS)(prepare(checked_features(X), metric), n_clusters, size, random_state)


def _named(name: str, known: dict[str, Thing]) -> Thing:
    if name not in known:
        raise InputError(f"there is no baseline {name!r}: use one of {', '.join(known)}")
    return known[name]


__all__ = ["BaselineGroups", "count_baselines", "group_baseline", "subcluster_baseline"]

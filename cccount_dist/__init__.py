"""The science of cccount: encoders, similarity, constraints, samplers, estimators, campaigns, reports."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cccount_dist.campaign import Campaign, Response
    from cccount_dist.clusterer import PairwiseClusterer
    from cccount_dist.counter import ClusterCounter

_HOMES = {
    "Campaign": "cccount_dist.campaign",
    "ClusterCounter": "cccount_dist.counter",
    "PairwiseClusterer": "cccount_dist.clusterer",
    "Response": "cccount_dist.campaign",
}
__all__ = ["Campaign", "ClusterCounter", "PairwiseClusterer", "Response"]


def __getattr__(name: str) -> object:
    # Loaded when first used: scikit-learn and numba take seconds, and most commands need neither.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The science of cccount: encoders, similarity, constraints, samplers, estimators, campaigns, reports.

Campaign           a campaign of a workspace: ask, tell, advance, result, report
Individuals        who the groups are: name, merge, split, move, confirm, undo
ClusterCounter     how many clusters there are, in memory, by scikit-learn's conventions
PairwiseClusterer  which items belong together, in the same way
Subclusterer       a few clean items of each class, in the same way
Response           what somebody answered
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cccount_dist.campaign.campaign import Campaign, Response
    from cccount_dist.estimators.clusterer import PairwiseClusterer
    from cccount_dist.estimators.counter import ClusterCounter
    from cccount_dist.estimators.subclusterer import Subclusterer
    from cccount_dist.individuals.census import Individuals

_HOMES = {
    "Campaign": "cccount_dist.campaign.campaign",
    "ClusterCounter": "cccount_dist.estimators.counter",
    "Individuals": "cccount_dist.individuals.census",
    "PairwiseClusterer": "cccount_dist.estimators.clusterer",
    "Response": "cccount_dist.campaign.campaign",
    "Subclusterer": "cccount_dist.estimators.subclusterer",
}
__all__ = ["Campaign", "ClusterCounter", "Individuals", "PairwiseClusterer", "Response", "Subclusterer"]


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def __getattr__(name: str) -> object:
    # Loaded when first used: scikit-learn and numba take seconds, and most commands need neither.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Grouping campaigns from the front door: start or go on, until every item has its cluster as well as the budget allows."""

from dataclasses import dataclass
from typing import Any

from cccount_dist.clustering.methods import RATING_METHODS, needs_vectors, resolve_method
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.runner import ClusterRunner
from cccount_dist.inputs import Inputs
from cccount_dist.runner import Progress
from flows.campaign import check_common, open_campaign, open_inputs, run_to_the_end
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.schema import GROUPINGS
from storage.settings import Goal, Scalar


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What `cccount cluster` was told; None where the user said nothing and the campaign's own setting holds."""

    method: str | None = None
    clusters: int | None = None
    seed: int | None = None
    budget: int = 600
    oracle: str = "people"
    error_rate: float = 0.0
    overlap: int | None = None
    prior: float | None = None
    repeats: int | None = None

    @property
    def level(self) -> None:
        """A grouping has no interval."""

    def __post_init__(self) -> None:
        check_common(self, ("people", "labels", "similarity"))
        if self.clusters is not None and self.clusters < 1:
            raise InputError(f"--clusters must be at least 1, not {self.clusters}")
        for name, value in self._of_ratings.items():
            if self.method is not None and self.resolved_method not in RATING_METHODS:
                raise InputError(f"--{name} {value} is for methods that ask for ratings: {', '.join(RATING_METHODS)}")

    @property
    def resolved_method(self) -> str:
        return resolve_method(self.method or "auto")

    @property
    def without(self) -> dict[str, object]:
        return {"clusters": None, "prior": None, "repeats": None}

    def goal(self) -> Goal:
        return Goal(self.budget, self.oracle, self.error_rate)

    def parameters(self) -> dict[str, Scalar]:
        return ({} if self.clusters is None else {"clusters": self.clusters}) | self._of_ratings

    @property
    def _of_ratings(self) -> dict[str, Scalar]:
        given = {"prior": self.prior, "repeats": self.repeats}
        return {name: value for name, value in given.items() if value is not None}


def cluster(workspace: str, campaign: str, options: ClusterOptions) -> dict[str, Any]:
    """Start the campaign or go on with it, until its budget is used or it waits for people."""
    folder = open_campaign(workspace, campaign, "cluster", options)
    with folder.lease() as lease:
        runner = ClusterRunner(folder, lease, _inputs(folder))
        reached = run_to_the_end(runner, f"Grouping ({runner.settings.method})", options.budget)
    return describe_grouping(folder, reached)


def advance_grouping(folder: CampaignFolder) -> dict[str, Any]:
    """One step of a grouping campaign."""
    with folder.lease() as lease:
        reached = ClusterRunner(folder, lease, _inputs(folder)).step()
    return describe_grouping(folder, reached)


def _inputs(folder: CampaignFolder) -> Inputs:
    settings = folder.settings()
    return open_inputs(folder, vectors=needs_vectors(settings.method, settings.parameters))


def describe_grouping(folder: CampaignFolder, reached: Progress[Grouping]) -> dict[str, Any]:
    """The fields of `cccount cluster --json`."""
    last = folder.last_row(GROUPINGS)
    agreement = {name: last[name] for name in ("nmi", "ari") if last and last[name] is not None}
    return {
        "campaign": folder.name,
        "method": folder.settings().method,
        "clusters": reached.result.clusters,
        "questions": reached.questions,
        "inferred": reached.inferred,
        "state": reached.state,
        "labels": f"{folder.workspace.location}/{folder.prefix}/results/labels.parquet",
        "pending": reached.pending,
        "contradictions": reached.contradictions,
        "warning": reached.result.warning,
        **agreement,
    }

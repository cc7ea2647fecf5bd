"""Grouping campaigns from the front door: start or go on, until every item has its cluster as well as the budget allows."""

import sys
from dataclasses import dataclass, replace
from typing import Any

from cccount_dist.clustering.methods import NEEDS_CLUSTERS, RATING_METHODS, check_told, needs_vectors, resolve_method
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.runner import ClusterRunner, grouping_inputs
from cccount_dist.inputs import Inputs
from cccount_dist.runner import Progress
from flows.campaign import check_common, counted_clusters, named_parameters, open_campaign, open_inputs, run_to_the_end
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.schema import GROUPINGS
from storage.settings import Goal, Scalar
from storage.workspace import Workspace


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
    clusters_from: str | None = None  # the count campaign that `clusters` is the estimate of
    prior: float | None = None
    repeats: int | None = None
    parameter: tuple[str, ...] = ()  # NAME=VALUE, for the method

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
        if self.method is not None:
            check_told(self.resolved_method, self.clusters, self.named | self._of_ratings)

    @property
    def resolved_method(self) -> str:
        return resolve_method(self.method or "auto")

    @property
    def without(self) -> dict[str, object]:
        return dict.fromkeys(("clusters", "clusters_from", "prior", "repeats"))

    def goal(self) -> Goal:
        return Goal(self.budget, self.oracle, self.error_rate)

    def parameters(self) -> dict[str, Scalar]:
        check_told(self.resolved_method, self.clusters, self.named | self._of_ratings)
        told: dict[str, Scalar | None] = {"clusters": self.clusters, "clusters_from": self.clusters_from}
        return {name: value for name, value in told.items() if value is not None} | self.named | self._of_ratings

    @property
    def named(self) -> dict[str, Scalar]:
        return named_parameters(self.parameter)

    @property
    def _of_ratings(self) -> dict[str, Scalar]:
        given = {"prior": self.prior, "repeats": self.repeats}
        return {name: value for name, value in given.items() if value is not None}


def cluster(workspace: str, campaign: str, options: ClusterOptions, **compute: Any) -> dict[str, Any]:
    """Start the campaign or go on with it, until its budget is used or it waits for people.

    `compute` (compute, workers, memory_limit) says where methods that prepare much do so; left out: here, unless a cluster pays.
    """
    options = with_counted_clusters(workspace, campaign, options)
    folder = open_campaign(workspace, campaign, "cluster", options)
    with folder.lease() as lease:
        inputs = _inputs(folder)
        if folder.settings().method == "hacc":
            from flows.consensus import prepare_consensus

            prepare_consensus(folder, grouping_inputs(folder, inputs), **compute)
        runner = ClusterRunner(folder, lease, inputs)
        reached = run_to_the_end(runner, f"Grouping ({runner.settings.method})", options.budget)
    return describe_grouping(folder, reached)


def with_counted_clusters(workspace: str, campaign: str, options: ClusterOptions) -> ClusterOptions:
    """Return options that know K: where a new campaign needs it and was not told, the best count of this workspace says it."""
    opened = Workspace.open(workspace)
    needed = options.resolved_method in NEEDS_CLUSTERS and options.clusters is None
    if not needed or CampaignFolder(opened, campaign).exists:
        return options
    counted = counted_clusters(opened)
    if counted is None:
        return options
    name, last = counted
    clusters = max(1, round(last["estimate"]))
    sys.stderr.write(
        f"--clusters was not given: K = {clusters} is the estimate of the count campaign {name!r} "
        f"({last['low']:.0f} to {last['high']:.0f} at level {last['level']:g}, from {last['answers']:,} answers)\n"
    )
    return replace(options, clusters=clusters, clusters_from=name)


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
        "expected_classes": reached.result.expected_classes,
        "steady_answers": reached.result.steady_answers,
        "clusters_from": folder.settings().parameters.get("clusters_from"),
        "questions": reached.questions,
        "inferred": reached.inferred,
        "state": reached.state,
        "labels": f"{folder.workspace.location}/{folder.prefix}/results/labels.parquet",
        "pending": reached.pending,
        "contradictions": reached.contradictions,
        "warning": reached.result.warning,
        **agreement,
    }

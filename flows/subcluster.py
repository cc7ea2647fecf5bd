"""Subclustering campaigns from the front door: start or go on, until a few clean images of each class are found."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from cccount_dist.inputs import Inputs
from cccount_dist.runner import Progress
from cccount_dist.subclustering.passive import STARTS
from cccount_dist.subclustering.prepared import find_lists, lists_job, multiplications, options_of
from cccount_dist.subclustering.result import Subclusters
from cccount_dist.subclustering.runner import SubclusterRunner
from flows.campaign import check_common, counted_clusters, open_campaign, open_inputs, run_to_the_end
from flows.compute import open_client, run_tasks
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.schema import SUBCLUSTERINGS, SUBCLUSTERS
from storage.settings import Goal, Scalar
from storage.workspace import Workspace

METHOD = "active"
CLUSTER_WORK = 2e11  # multiplications from which on a Dask cluster finds the nearest images: some ten seconds of one process


@dataclass(frozen=True, slots=True)
class SubclusterOptions:
    """What `cccount subcluster` was told; None where the user said nothing and the campaign's own setting holds."""

    clusters: int | None = None
    size: int | None = None
    start: str | None = None
    seed: int | None = None
    budget: int = 1000
    oracle: str = "people"
    error_rate: float = 0.0
    overlap: int | None = None
    clusters_from: str | None = None  # the count campaign that K was taken from

    @property
    def method(self) -> None:
        """There is one."""

    @property
    def level(self) -> None:
        """Subclusters have no interval."""

    def __post_init__(self) -> None:
        check_common(self)
        for name in ("clusters", "size"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"--{name} must be at least 1, not {value}")
        if self.start is not None and self.start not in STARTS:
            raise InputError(f"--start takes {' or '.join(STARTS)}, not {self.start!r}")

    @property
    def resolved_method(self) -> str:
        return METHOD

    @property
    def without(self) -> dict[str, object]:
        return {}

    @property
    def named(self) -> dict[str, Scalar]:
        return {}

    def goal(self) -> Goal:
        return Goal(self.budget, self.oracle, self.error_rate)

    def parameters(self) -> dict[str, Scalar]:
        if self.clusters is None:
            raise InputError("the number of subclusters is not known: give --clusters K")
        given: dict[str, Scalar] = {"clusters": self.clusters, "size": self.size or 10, "start": self.start or STARTS[0]}
        return given if self.clusters_from is None else {**given, "clusters_from": self.clusters_from}


def subcluster(
    workspace: str,
    campaign: str,
    options: SubclusterOptions,
    *,
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> dict[str, Any]:
    """Start the campaign or go on with it, until its budget is used, nothing is left to ask, or it waits for people."""
    opened = Workspace.open(workspace)
    if options.clusters is None and not CampaignFolder(opened, campaign).exists:
        counted = counted_clusters(opened)
        if counted is None:
            raise InputError(
                f"how many classes are there? Give --clusters K, or run `cccount count {workspace}` first: "
                "it has no count campaign with an estimate"
            )
        options = replace(options, clusters=max(1, round(counted[1]["estimate"])), clusters_from=counted[0])
    folder = open_campaign(workspace, campaign, "subcluster", options)
    inputs = open_inputs(folder)
    with folder.lease() as lease:
        _prepare(folder, inputs, compute=compute, workers=workers, memory_limit=memory_limit)
        reached = run_to_the_end(SubclusterRunner(folder, lease, inputs), "Subclusters", options.budget)
    return describe_subclusters(folder, reached)


def advance_subclusters(folder: CampaignFolder) -> dict[str, Any]:
    """One step of a subclustering campaign."""
    with folder.lease() as lease:
        reached = SubclusterRunner(folder, lease, open_inputs(folder)).step()
    return describe_subclusters(folder, reached)


def _prepare(folder: CampaignFolder, inputs: Inputs, *, compute: str, workers: int | None, memory_limit: str | None) -> None:
    """Have a Dask cluster find the nearest images of the candidates, if that is worth starting one."""
    job = lists_job(folder, inputs, options_of(folder.settings()))
    if compute == "local" and workers is None and multiplications(job, inputs) < CLUSTER_WORK:
        return
    array = job.create()
    missing = array.missing()
    if not missing:
        return
    sizes = [stop - start for start, stop in map(array.shard_range, missing)]
    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        run_tasks(
            client, partial(find_lists, job), missing, describe="nearest images of candidates", unit="candidates",
            done_before=job.count - sum(sizes), sizes=sizes,
        )  # fmt: skip


def describe_subclusters(folder: CampaignFolder, reached: Progress[Subclusters]) -> dict[str, Any]:
    """The fields of `cccount subcluster --json`."""
    last = folder.last_row(SUBCLUSTERINGS)
    scores = {name: last[name] for name in ("sjc", "coverage", "purity") if last and last[name] is not None}
    parameters, result = folder.settings().parameters, reached.result
    return {
        "campaign": folder.name,
        "subclusters": result.count,
        "size": parameters["size"],
        "clusters": parameters["clusters"],
        "clusters_from": parameters.get("clusters_from"),
        "questions": reached.questions,
        "inferred": reached.inferred,
        "state": reached.state,
        "file": f"{folder.workspace.location}/{folder.prefix}/results/{SUBCLUSTERS.name}.parquet",
        "checked": int(result.checked[~result.surplus].sum()),
        "empty": result.empty,
        "surplus": int(result.surplus.sum()),
        "pending": reached.pending,
        "contradictions": reached.contradictions,
        **scores,
    }


__all__ = ["SubclusterOptions", "advance_subclusters", "subcluster"]

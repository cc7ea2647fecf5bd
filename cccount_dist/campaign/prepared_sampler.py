"""What a sampler computes before its first question, computed by a worker of a Dask cluster and kept beside the campaign.

It is one task: these computations follow from one another. A worker that runs other code, or finds other inputs, prepares nothing
that is taken. Memory and time: the worker's, those of the method; what comes back is the sampler's own state, without vectors.
"""

from typing import Any

from cccount_dist.campaign.preparation import Cluster
from cccount_dist.campaign.runner import CampaignRunner
from cccount_dist.campaign.snapshots import Packed
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace

Task = tuple[str, str]  # workspace, campaign


def prepare_sampler(folder: CampaignFolder, runner: CampaignRunner[Any], cluster: Cluster) -> None:
    """Have a cluster that somebody named make the sampler, if there is none yet. Only for the holder of the lease."""
    snapshots = runner.snapshots()
    if not cluster.named or not snapshots.lacks_prepared():
        return
    (packed,) = cluster.map(prepared, [(folder.workspace.location, folder.name)], describe="preparing", unit="samplers")
    if packed is not None:
        snapshots.take_prepared(packed)


def prepared(task: Task) -> Packed | None:
    """Make the sampler of a campaign: the task of a worker. Nothing is written."""
    from cccount_dist.campaign.advancing import kind_of, read_inputs

    location, name = task
    folder = CampaignFolder(Workspace.open(location), name)
    kind, settings = kind_of(folder), folder.settings()
    inputs = read_inputs(folder.workspace, kind, settings.method, settings.parameters)
    runner = kind.runner_type.bare(folder, inputs)
    runner.begin()
    return runner.snapshots().packed(runner.make_sampler())


__all__ = ["prepare_sampler", "prepared"]

"""The k-means runs of an Active-HACC campaign on a Dask cluster: a run is a task."""

from functools import partial

import numpy as np

from cccount_dist.clustering.hacc.build import units_of
from cccount_dist.clustering.hacc.stored import consensus_run, has_consensus, write_consensus
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.similarity.partial import write_arrays
from flows.compute import open_client, run_tasks
from storage.campaigns import CampaignFolder
from storage.scratch import remove_all

_SMALL = 2e10  # multiplications of all runs, for one iteration: below, they are done before a cluster has started


def prepare_consensus(
    folder: CampaignFolder,
    inputs: GroupingInputs,
    *,
    compute: str | None = None,
    workers: int | None = None,
    memory_limit: str | None = None,
) -> None:
    """Compute the runs that the campaign lacks, if a cluster is named or a local one pays; otherwise the first step does it."""
    if has_consensus(folder):
        return
    units = units_of(inputs)
    work = float(units.runs) * units.rows.size * units.clusters
    if compute is None and workers is None and work < _SMALL:
        return
    scratch = folder.workspace.scratch(f"consensus-{folder.name}")
    rows = scratch / "rows"
    write_arrays(rows, units.rows, units.weight)
    with open_client(compute or "local", workers=workers, memory_limit=memory_limit) as client:
        run = partial(consensus_run, rows, units.clusters, units.seed)
        found = run_tasks(client, run, range(units.runs), describe="k-means runs", unit="runs")
    write_consensus(folder, np.stack(found))
    remove_all(scratch)

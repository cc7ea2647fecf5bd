"""The nearest images of a campaign's candidates, found on a Dask cluster: a task for each shard of `candidates.zarr`.

A task reads the vectors from its host's row cache, block by block, and writes lists of 512 candidates: O(512 n d) time, memory
independent of n. Doing it twice changes nothing, and sums are exact (`distances.py`), so it does not matter who computes a list:
a campaign whose array is not there, or not whole, finds them by itself.
"""

from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from cccount_dist.campaign.inputs import Inputs, load_inputs
from cccount_dist.campaign.preparation import Cluster
from cccount_dist.sampling.methods import find_method
from cccount_dist.subclustering.candidates import Candidates, Lists, candidate_order, list_length, restricted_size
from cccount_dist.subclustering.distances import BLOCK_ROWS, Int64s, nearest_items
from cccount_dist.subclustering.methods import chosen_options
from cccount_dist.subclustering.passive import Options
from storage.arrays import JSON, ShardedArray
from storage.campaigns import CampaignFolder
from storage.errors import WorkspaceError
from storage.schema import ArraySpec, candidates
from storage.settings import Settings
from storage.workspace import Workspace

_CLUSTER_WORK = 2e11  # multiplications from which on a cluster finds the nearest images: some ten seconds of one process


@dataclass(frozen=True, slots=True)
class ListsJob:
    """What every task knows: where, for which candidates, and which embeddings it was begun with."""

    workspace: str
    campaign: str
    embeddings: str  # fingerprint
    seed: int
    count: int
    length: int

    @property
    def spec(self) -> ArraySpec:
        return candidates(self.campaign)

    def create(self) -> ShardedArray:
        """Return the array, which may be there already, in whole or in part."""
        attributes: dict[str, JSON] = {"embeddings": self.embeddings, "seed": self.seed}
        shape = (self.count, 2, self.length)
        return Workspace.open(self.workspace).create_array(self.spec, shape, attributes=attributes, shard_rows=BLOCK_ROWS)


def options_of(settings: Settings) -> Options:
    """Return what a campaign was started with."""
    method = find_method(settings.kind, settings.method)
    given = method.read({name: value for name, value in settings.parameters.items() if method.has(name)})
    return chosen_options(int(settings.parameters["clusters"]), settings.seed, given)


def lists_job(folder: CampaignFolder, inputs: Inputs, options: Options) -> ListsJob:
    """Return the job that finds the lists of this campaign."""
    count = restricted_size(inputs.countable, options.clusters, options.restricted)
    length = min(list_length(options.size), inputs.countable - 1)
    fingerprint = inputs.fingerprints["embeddings"]
    return ListsJob(folder.workspace.location, folder.name, fingerprint, options.seed, count, length)


def prepare_lists(folder: CampaignFolder, inputs: Inputs, cluster: Cluster) -> None:
    """Have a cluster find the nearest images of the candidates, if one is named or pays."""
    job = lists_job(folder, inputs, options_of(folder.settings()))
    if not cluster.named and float(job.count) * float(inputs.vectors.size) < _CLUSTER_WORK:
        return
    array = job.create()
    missing = array.missing()
    if not missing:
        return
    sizes = [stop - start for start, stop in map(array.shard_range, missing)]
    cluster.map(
        partial(find_lists, job), missing, describe="nearest images of candidates", unit="candidates",
        done_before=job.count - sum(sizes), sizes=sizes,
    )  # fmt: skip


def find_lists(job: ListsJob, shard: int) -> int:
    """Fill one shard, and return how many candidates it has."""
    inputs, order = _opened(job.workspace, job.embeddings, job.seed)
    array = job.create()
    start, stop = array.shard_range(shard)
    array.write_shard(shard, np.stack(nearest_items(inputs.vectors, order[start:stop], job.length), axis=1))
    return stop - start


def campaign_candidates(folder: CampaignFolder, inputs: Inputs, options: Options, items: Int64s | None = None) -> Candidates:
    """Return the restricted set of a campaign; `items`: those of one side, which are alone there."""
    if items is not None:
        count = restricted_size(len(items), options.clusters, options.restricted)
        return Candidates(inputs.vectors, candidate_order(items, options.seed), count, options.size)
    job = lists_job(folder, inputs, options)
    return Candidates(inputs.vectors, _order(inputs, options.seed), job.count, options.size, _stored(folder.workspace, job))


def _stored(workspace: Workspace, job: ListsJob) -> Lists | None:
    if not workspace.has_array(job.spec):
        return None
    array = job.create()
    if array.missing():
        return None
    lists = array.read()
    return np.ascontiguousarray(lists[:, 0]), np.ascontiguousarray(lists[:, 1])


def _order(inputs: Inputs, seed: int) -> Int64s:
    return candidate_order(np.flatnonzero(~np.isnan(inputs.degree)), seed)


@lru_cache(maxsize=1)  # a worker does many tasks of one job
def _opened(workspace: str, embeddings: str, seed: int) -> tuple[Inputs, Int64s]:
    inputs = load_inputs(Workspace.open(workspace))
    if inputs.fingerprints["embeddings"] != embeddings:
        raise WorkspaceError(f"the embeddings in {workspace} were changed meanwhile: run `cccount neighbors`, then this again")
    return inputs, _order(inputs, seed)

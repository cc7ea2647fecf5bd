"""The k-means runs of a campaign, computed once and kept beside its log: each step would otherwise repeat them.

2 bytes for a unit and run, compressed: 100 runs of 5,000 items take 1 MB at most. They follow from the frozen settings, so losing
the file costs time and nothing else; computed here or by Dask workers they are the same bytes.
"""

import io
import zipfile
from functools import partial

import numpy as np

from cccount_dist.campaign.preparation import Cluster
from cccount_dist.clustering.hacc.beliefs import Labels, one_run
from cccount_dist.clustering.hacc.build import units_of
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.similarity.partial import read_arrays, write_arrays
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError
from storage.scratch import ScratchPath, remove_all
from storage.stamp import intact, stamped

_FILE = "consensus.npz"
_SMALL = 2e10  # multiplications of all runs, for one iteration: below, they are done before a cluster has started


def has_consensus(folder: CampaignFolder, of: str) -> bool:
    """Whether the runs are there; `of`: the fingerprint of the embeddings that they must have been made from."""
    if folder.workspace.objects.size(f"{folder.prefix}/{_FILE}") is None:
        return False
    return _read(folder)[1] in (of, None if folder.settings().fingerprints.get("embeddings") == of else "")


def write_consensus(folder: CampaignFolder, labels: Labels, of: str) -> None:
    """Keep the labels (runs, m), with what they were made from."""
    data = io.BytesIO()
    np.savez_compressed(data, labels=labels, embeddings=np.array(of))
    folder.workspace.objects.replace(f"{folder.prefix}/{_FILE}", stamped(_FILE, data.getvalue()))


def read_consensus(folder: CampaignFolder) -> Labels:
    """Return the labels that were kept."""
    return _read(folder)[0]


def _read(folder: CampaignFolder) -> tuple[Labels, str | None]:
    """The labels and the fingerprint of the embeddings; None in files of cccount 0.1, which are those of the campaign's start."""
    name = f"{folder.prefix}/{_FILE}"
    data = folder.workspace.objects.read(name)
    try:
        if intact(data) is False:
            raise ValueError("its bytes are not those that were written")  # noqa: TRY301
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            labels: Labels = file["labels"]
            of = str(file["embeddings"]) if "embeddings" in file else None
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError) as error:
        raise CorruptionError(f"{folder.workspace.location}/{name} is damaged: remove it, it is computed again") from error
    return labels, of


def kept_consensus(folder: CampaignFolder, inputs: GroupingInputs, of: str) -> Labels:
    """Return the campaign's labels; those that are not there yet are computed and kept. Only for the holder of the lease."""
    if not has_consensus(folder, of):
        write_consensus(folder, units_of(inputs).consensus(), of)
    return read_consensus(folder)


def prepare_consensus(folder: CampaignFolder, inputs: GroupingInputs, of: str, cluster: Cluster) -> None:
    """Have a cluster compute the runs that the campaign lacks, a run to a task, if one is named or pays."""
    if has_consensus(folder, of):
        return
    units = units_of(inputs)
    if not cluster.named and float(units.runs) * units.rows.size * units.clusters < _SMALL:
        return
    scratch = folder.workspace.scratch(f"consensus-{folder.name}")
    rows = scratch / "rows"
    write_arrays(rows, units.rows, units.weight)
    run = partial(consensus_run, rows, units.clusters, units.seed, finer=units.finer)
    write_consensus(folder, np.stack(cluster.map(run, range(units.runs), describe="k-means runs", unit="runs")), of)
    remove_all(scratch)


def consensus_run(rows: ScratchPath, clusters: int, seed: int, number: int, *, finer: bool = True) -> Labels:
    """Return the labels of one run: the task of a worker. `rows` is a file with the rows and weights of the units."""
    vectors, weight = read_arrays(rows)
    return one_run(vectors, clusters, seed, number, weight, finer=finer)

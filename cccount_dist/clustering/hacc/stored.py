"""The k-means runs of a campaign, computed once and kept beside its log: each step would otherwise repeat them.

2 bytes for a unit and run, compressed: 100 runs of 5,000 items take 1 MB at most. They follow from the frozen settings, so losing
the file costs time and nothing else; computed here or by Dask workers (`flows/consensus.py`) they are the same bytes.
"""

import io
import zipfile

import numpy as np

from cccount_dist.clustering.hacc.build import units_of
from cccount_dist.clustering.hacc.consensus import Labels, one_run
from cccount_dist.clustering.methods import GroupingInputs
from cccount_dist.similarity.partial import read_arrays
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError
from storage.scratch import ScratchPath

_FILE = "consensus.npz"


def has_consensus(folder: CampaignFolder) -> bool:
    return folder.workspace.objects.size(f"{folder.prefix}/{_FILE}") is not None


def write_consensus(folder: CampaignFolder, labels: Labels) -> None:
    """Keep the labels (runs, m)."""
    data = io.BytesIO()
    np.savez_compressed(data, labels=labels)
    folder.workspace.objects.replace(f"{folder.prefix}/{_FILE}", data.getvalue())


def read_consensus(folder: CampaignFolder) -> Labels:
    """Return the labels that were kept."""
    name = f"{folder.prefix}/{_FILE}"
    try:
        with np.load(io.BytesIO(folder.workspace.objects.read(name)), allow_pickle=False) as file:
            labels: Labels = file["labels"]
    except (zipfile.BadZipFile, ValueError, KeyError, EOFError) as error:
        raise CorruptionError(f"{folder.workspace.location}/{name} is damaged: remove it, it is computed again") from error
    return labels


def kept_consensus(folder: CampaignFolder, inputs: GroupingInputs) -> Labels:
    """Return the campaign's labels; those that are not there yet are computed and kept. Only for the holder of the lease."""
    if not has_consensus(folder):
        write_consensus(folder, units_of(inputs).consensus())
    return read_consensus(folder)


def consensus_run(rows: ScratchPath, clusters: int, seed: int, number: int) -> Labels:
    """Return the labels of one run: the task of a worker. `rows` is a file with the rows and weights of the units."""
    vectors, weight = read_arrays(rows)
    return one_run(vectors, clusters, seed, number, weight)

"""A workspace as an xarray dataset: what is in it is what is stored, and items are named by their ids."""

from pathlib import Path

import numpy as np

from flows.exchange.dataset import open_dataset
from storage.schema import EMBEDDINGS, NEIGHBOR_INDEX
from storage.workspace import Workspace


def test_a_workspace_opens_as_a_dataset_with_ids(prepared: Path) -> None:
    workspace = Workspace.open(prepared)
    census = open_dataset(str(prepared))
    some = workspace.collection().ids[7]
    vectors = workspace.array(EMBEDDINGS).read()
    np.testing.assert_array_equal(census.embeddings.sel(item=some).values, vectors[7])
    np.testing.assert_array_equal(census.embeddings[3:40:5].values, vectors[3:40:5])
    np.testing.assert_array_equal(census.embeddings[[9, 2, 2], 1:4].values, vectors[[9, 2, 2], 1:4])
    np.testing.assert_array_equal(census.neighbors.values, workspace.array(NEIGHBOR_INDEX).read())
    assert census.embeddings.dims == ("item", "dimension")
    assert census.label.shape == census.degree.shape == (len(census.item),)

"""A workspace as a zarr group that xarray opens: what is in it is what is stored, and items are named by their ids."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr
from numpy.typing import NDArray

from benchmarks.butterflies import photograph
from flows.exchange.dataset import ARRAYS, as_group, open_dataset
from storage.objects import open_objects
from storage.schema import EMBEDDINGS, NEIGHBOR_INDEX, ArraySpec
from storage.workspace import Workspace
from tests.flows.conftest import cccount, environment


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


@pytest.fixture(scope="module")
def photographed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with all that a row for each item can have: a map, points, matches, labels and times that some items lack."""
    folder = tmp_path_factory.mktemp("photographed")
    rows = ["path,id,label,taken_at,latitude,longitude"]
    for number in range(40):
        photograph(number % 4, number, size=(64, 48)).save(folder / f"{number}.jpg")
        known = number % 3 > 0
        rows.append(f"{number}.jpg,p{number},{number % 4 if known else ''},{'2026-05-01T06:00:00' if known else ''},-3.5,29.8")
    (folder / "photos.csv").write_text("\n".join(rows) + "\n")
    for line in (
        "init ws --manifest photos.csv --labels label",
        "embed ws --encoder hog --components 8 --workers 1",
        "neighbors ws --k 10 --workers 1",
        "matches ws --nearest 3 --workers 1",
    ):
        done = cccount(*shlex.split(line), cwd=folder)
        assert done.code == 0, f"{line}\n{done.err}"
    return folder / "ws"


def test_open_zarr_opens_every_array_without_a_warning(photographed: Path) -> None:
    program = (
        "import sys, xarray; from flows.exchange.dataset import as_group\n"
        "census = xarray.open_zarr(as_group(sys.argv[1]), consolidated=True).load()\n"
        "print(*sorted(census.data_vars), '|', *sorted(census.coords), '|', str(census.sel(item='p7').label.values))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(photographed)],
        env=environment(), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    arrays, coordinates, label = done.stdout.strip().split(" | ")
    assert arrays.split() == sorted(ARRAYS)
    assert coordinates.split() == ["item", "label", "latitude", "longitude", "taken_at"]
    assert label == "3"


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_an_array_of_the_group_holds_what_is_stored(photographed: Path, name: str) -> None:
    def stored(spec: ArraySpec) -> NDArray[np.generic]:
        return np.asarray(Workspace.open(photographed).array(spec).read())

    group = zarr.open_group(as_group(str(photographed)), mode="r")
    np.testing.assert_array_equal(np.asarray(group[name]), stored(ARRAYS[name].spec))
    assert group[name].attrs["meaning"] == ARRAYS[name].spec.meaning


def test_a_workspace_of_an_object_store_opens_in_the_same_way(prepared: Path) -> None:
    here, there = open_objects(prepared), open_objects("memory://dataset")
    for key in here.keys(""):
        there.create(key, here.read(key))
    assert open_dataset(there.location).equals(open_dataset(str(prepared)))


def test_nothing_is_written_by_whoever_reads(prepared: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in prepared.rglob("*")}
    group = zarr.open_group(as_group(str(prepared)), mode="r")
    with pytest.raises(ValueError, match="read"):
        group.create_array("new", shape=(2,), dtype="int8")
    assert {path: path.stat().st_mtime_ns for path in prepared.rglob("*")} == before

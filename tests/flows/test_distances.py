"""`cccount init --distances`: the methods work on measured distances, which nobody has vectors for, through the command."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.spatial.distance import pdist, squareform

from storage.schema import EMBEDDINGS
from storage.workspace import Workspace
from tests.flows.conftest import cccount, files_of

RANDOM = np.random.default_rng(5)
LABELS = np.repeat(np.arange(4), 20)
DISTANCES = squareform(pdist(RANDOM.normal(size=(4, 8))[LABELS] * 2 + RANDOM.normal(size=(80, 8)) * 0.5, "cityblock"))
NAMES = [f"bird-{number:02}" for number in RANDOM.permutation(80)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of 80 items, of which each is listed with its 12 nearest, and with neighbours. Do not write to it."""
    folder = tmp_path_factory.mktemp("distances")
    nearest = np.argsort(DISTANCES, axis=1)[:, 1:13]
    pairs = [(u, v) for u in range(80) for v in nearest[u].tolist()]
    columns = {"u": [NAMES[u] for u, _ in pairs], "v": [NAMES[v] for _, v in pairs], "distance": [DISTANCES[p] for p in pairs]}
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    pq.write_table(pa.table({"id": NAMES, "label": [str(one) for one in LABELS]}), folder / "labels.parquet")
    arguments: list[str | Path] = ["--distances", folder / "pairs.parquet", "--labels", folder / "labels.parquet"]
    shown = cccount("init", folder / "ws", *arguments, "--json")
    assert shown.code == 0, shown.err
    assert (shown.json["items"], shown.json["labelled"]) == (80, 80)
    assert shown.json["shift"] > 0
    shown = cccount("neighbors", folder / "ws", "--workers", "1", "--json")
    assert shown.code == 0, shown.err
    assert shown.json["metric"] == "euclidean"
    assert Workspace.open(folder / "ws").collection().ids == sorted(NAMES)
    return folder / "ws"


@pytest.mark.parametrize(
    ("method", "told", "least"),
    [("hacc", ["--clusters", "4"], 0.9), ("apc", [], 0.9), ("iu-red", ["--clusters", "4", "--prior", "0.5"], 0.9)],
)
def test_methods_group_by_given_distances(method: str, told: list[str], least: float, made: Path) -> None:
    asked = ["--oracle", "labels", "--budget", "60"]
    shown = cccount("cluster", made, "--campaign", method, "--method", method, *told, *asked, "--json")
    assert shown.code == 0, shown.err
    assert shown.json["nmi"] >= least


def test_subclusters_are_found_by_given_distances(made: Path) -> None:
    asked = ["--clusters", "4", "--size", "5", "--oracle", "labels", "--budget", "40"]
    shown = cccount("subcluster", made, *asked, "--json")
    assert shown.code == 0, shown.err
    assert shown.json["sjc"] >= 0.9
    shown = cccount("browse", made, "--item", NAMES[0], "--json")
    assert shown.code == 0, shown.err


def test_what_does_not_go_with_distances_is_refused(made: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", DISTANCES[:40])
    np.save(tmp_path / "x.npy", DISTANCES)
    before = files_of(made)
    refused: list[tuple[list[str | Path], str]] = [
        (["init", tmp_path / "new", "--distances", tmp_path / "d.npy"], "has the shape (40, 80)"),
        (
            ["init", tmp_path / "new", "--distances", tmp_path / "d.npy", "--embeddings", tmp_path / "x.npy"],
            "leave --embeddings out",
        ),
        (["init", made, "--distances", tmp_path / "x.npy"], "another collection"),
        (["neighbors", made, "--metric", "cosine", "--yes"], "leave --metric out"),
        (["embed", made, "--yes"], "has nothing to encode"),
        (["extend", made, "--embeddings", tmp_path / "x.npy", "--yes"], "those to new items are not known"),
    ]
    for arguments, said in refused:
        shown = cccount(*arguments)
        assert shown.code == 1, (arguments, shown.err)
        assert said in shown.line
        assert not (tmp_path / "new").exists()
    assert files_of(made) == before


def test_init_again_finds_that_nothing_is_left_and_a_killed_one_goes_on(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", DISTANCES)
    assert cccount("init", tmp_path / "ws", "--distances", tmp_path / "d.npy").code == 0
    whole = files_of(tmp_path / "ws")
    again = cccount("init", tmp_path / "ws", "--distances", tmp_path / "d.npy")
    assert "nothing is left to do" in again.line
    other = DISTANCES.copy()
    other[0, 1] = other[1, 0] = 7.0
    np.save(tmp_path / "other.npy", other)
    assert "was not made from the distances" in cccount("init", tmp_path / "ws", "--distances", tmp_path / "other.npy").line
    array = Workspace.open(tmp_path / "ws").array(EMBEDDINGS)
    for marker in (tmp_path / "ws/markers/embeddings").glob("[0-9]*.json"):
        marker.unlink()
    assert array.missing()
    assert cccount("init", tmp_path / "ws", "--distances", tmp_path / "d.npy").code == 0
    assert files_of(tmp_path / "ws").keys() == whole.keys()

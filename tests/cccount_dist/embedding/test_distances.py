"""Given distances: vectors that have them, shortest ways where pairs are missing, and one line for everything that is wrong."""

import heapq
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from numpy.typing import NDArray
from scipy.sparse import coo_array, save_npz
from scipy.spatial.distance import pdist, squareform

from cccount_dist.embedding.fromdistances import place
from cccount_dist.embedding.readers.distances import MOST_ITEMS, open_distances
from storage.errors import InputError

RANDOM = np.random.default_rng(3)
POINTS = RANDOM.normal(size=(600, 5))
BLOCKS = squareform(pdist(POINTS[:90], "cityblock"))
NOISY = squareform(pdist(POINTS[:90]) * RANDOM.uniform(0.5, 1.5, 90 * 89 // 2))
Floats = NDArray[np.float64]


@pytest.mark.parametrize("items", [90, 600])  # with all eigenvalues, and with the smallest alone
def test_distances_of_points_come_back_in_as_few_dimensions(items: int) -> None:
    given = pdist(POINTS[:items])
    placed = place(squareform(given))
    assert placed.vectors.shape == (items, 5)
    assert placed.shift == 0.0
    found = pdist(placed.vectors.astype(np.float64))
    np.testing.assert_allclose(found / found.mean(), given / given.mean(), atol=1e-3)


@pytest.mark.parametrize("given", [BLOCKS, NOISY], ids=["city blocks", "noise"])
def test_of_distances_that_no_points_have_every_square_is_larger_by_one_constant(given: Floats) -> None:
    placed = place(given.copy())
    lengths = np.linalg.norm(placed.vectors, axis=1)
    assert 0.999 < lengths.max() <= 1.0
    squares, wanted = pdist(placed.vectors.astype(np.float64), "sqeuclidean"), np.square(squareform(given))
    slope, constant = np.polyfit(wanted, squares, 1)
    np.testing.assert_allclose(squares, slope * wanted + constant, rtol=1e-4)
    assert constant / slope / wanted.mean() == pytest.approx(placed.shift, rel=1e-3)
    # The constant is the smallest one: the slow way, by all eigenvalues of the centred matrix.
    centre = np.eye(90) - 1 / 90
    least = np.linalg.eigvalsh(-0.5 * centre @ np.square(given) @ centre)[0]
    assert placed.shift == pytest.approx(-2 * least / wanted.mean(), rel=1e-3)


def test_the_largest_constant_is_found_without_all_eigenvalues() -> None:
    given = squareform(pdist(POINTS) * RANDOM.uniform(0.8, 1.2, 600 * 599 // 2))
    centre = np.eye(600) - 1 / 600
    least = np.linalg.eigvalsh(-0.5 * centre @ np.square(given) @ centre)[0]
    assert place(given.copy()).shift == pytest.approx(-2 * least / np.square(squareform(given)).mean(), rel=1e-3)


def edges_of(square: Floats, nearest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each item with its nearest ones, in one direction."""
    order = np.argsort(square, axis=1)[:, 1 : nearest + 1]
    return np.repeat(np.arange(len(square)), nearest), order.ravel()


def slow_ways(items: int, pairs: dict[tuple[int, int], float]) -> Floats:
    """Shortest ways by a heap, from one item after the other; what is listed stays, and no way is the longest way."""
    beside: dict[int, list[tuple[int, float]]] = {item: [] for item in range(items)}
    for (u, v), distance in pairs.items():
        beside[u].append((v, distance))
        beside[v].append((u, distance))
    found = np.full((items, items), np.inf)
    for start in range(items):
        heap = [(0.0, start)]
        while heap:
            away, item = heapq.heappop(heap)
            if away < found[start, item]:
                found[start, item] = away
                for other, distance in beside[item]:
                    heapq.heappush(heap, (away + distance, other))
    for (u, v), distance in pairs.items():
        found[u, v] = found[v, u] = distance
    found[np.isinf(found)] = found[np.isfinite(found)].max()
    return found


def test_pairs_that_are_not_listed_are_as_far_as_the_shortest_way(tmp_path: Path) -> None:
    far = NOISY.copy()
    far[:30, 30:] = far[30:, :30] = 1e6  # two parts without a way between them
    far[3, 4] = far[4, 3] = 0.0  # the same item twice
    first, second = edges_of(far, 4)
    pairs = {(min(u, v), max(u, v)): float(far[u, v]) for u, v in zip(first.tolist(), second.tolist(), strict=True)}
    assert (3, 4) in pairs
    expected = slow_ways(90, pairs)
    save_npz(tmp_path / "graph.npz", coo_array((far[first, second], (first, second)), shape=(90, 90)).tocsr())
    np.testing.assert_allclose(open_distances(tmp_path / "graph.npz").matrix(), expected, rtol=1e-12)
    table = pa.table({"u": [f"i{u:02}" for u in first], "v": [f"i{v:02}" for v in second], "distance": far[first, second]})
    pq.write_table(table, tmp_path / "pairs.parquet")
    listed = open_distances(tmp_path / "pairs.parquet")
    assert listed.ids is not None
    assert listed.ids[0] == "i00"
    np.testing.assert_array_equal(listed.matrix(), open_distances(tmp_path / "graph.npz").matrix())


@pytest.mark.parametrize("ending", ["npy", "zarr", "parquet"])
def test_a_whole_matrix_is_the_same_in_every_form(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"d.{ending}"
    if ending == "npy":
        np.save(path, NOISY)
    elif ending == "zarr":
        zarr.create_array(path, data=NOISY, chunks=(32, 32))
    else:
        first, second = np.triu_indices(90, 1)
        pq.write_table(pa.table({"u": first, "v": second, "distance": NOISY[first, second]}), path)
    np.testing.assert_array_equal(open_distances(path).matrix(), NOISY)


def changed(**places: float) -> Floats:
    square = BLOCKS.copy()
    for name, value in places.items():
        u, v = map(int, name.removeprefix("at").split("_"))
        square[u, v] = value
    return square


def saved(square: NDArray[np.generic]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        np.save(folder / "d.npy", square)
        return folder / "d.npy"

    return write


def listed(**columns: list[object]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        pq.write_table(pa.table(columns), folder / "d.parquet")
        return folder / "d.parquet"

    return write


def large(folder: Path) -> Path:
    with (folder / "d.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (20_000, 20_000)})
        file.truncate(20_000 * 20_000 * 4 + 128)
    return folder / "d.npy"


def no_graph(folder: Path) -> Path:
    np.savez(folder / "d.npz", x=BLOCKS)
    return folder / "d.npz"


def huge_graph(folder: Path) -> Path:
    save_npz(folder / "d.npz", coo_array(([1.0], ([0], [20_000])), shape=(20_001, 20_001)))
    return folder / "d.npz"


def objects(folder: Path) -> Path:
    np.save(folder / "d.npy", np.array([[None, "x"], ["y", None]]), allow_pickle=True)
    return folder / "d.npy"


REFUSED = {
    "not symmetric": (saved(changed(at2_7=9.0)), r"d.npy is not symmetric: from 2 to 7 it is 9, from 7 to 2 \d"),
    "negative": (saved(changed(at5_1=-2.0)), r"the distance of 5 and 1 is negative \(-2\): every distance must be 0 or more"),
    "no number": (saved(changed(at5_1=np.nan)), r"the distance of 5 and 1 is no number"),
    "infinite": (saved(changed(at5_1=np.inf)), r"the distance of 5 and 1 is infinite"),
    "not square": (saved(BLOCKS[:40]), r"has the shape \(40, 90\): distances are a square"),
    "too large": (large, rf"is too large: distances of 20,000 items, and of more than {MOST_ITEMS:,} they cannot be used"),
    "too large a graph": (huge_graph, r"is too large: distances of 20,001 items"),
    "a diagonal": (saved(changed(at8_8=3.0)), r"item 8 is 3 away from itself"),
    "all 0": (saved(np.zeros((4, 4))), r"every distance is 0: no two items differ"),
    "one item": (saved(np.zeros((1, 1))), r"of 1 items: there is nothing to compare"),
    "words": (saved(np.array([["a", "b"], ["c", "d"]])), r"holds <U1, not distances"),
    "objects": (objects, r"cannot read .*d.npy: "),
    "no graph": (no_graph, r"is no sparse matrix: write it with scipy.sparse.save_npz"),
    "a column": (listed(u=[0], v=[1]), r"has no column 'distance': a list of pairs has u, v and distance"),
    "an empty value": (listed(u=[0, 1], v=[1, 2], distance=[1.0, None]), r"the column 'distance' has empty values"),
    "below 0": (listed(u=[0], v=[-1], distance=[1.0]), r"names the item -1: items are numbered from 0"),
    "itself": (listed(u=["a", "a"], v=["b", "a"], distance=[1.0, 2.0]), r"item 'a' is 2 away from itself"),
    "only itself": (listed(u=[1], v=[1], distance=[0.0]), r"has no pair of two items"),
    "twice": (listed(u=["a", "b"], v=["b", "a"], distance=[1.0, 2.0]), r"is not symmetric: from 'a' to 'b' it is 1, from 'b'"),
    "a negative pair": (listed(u=["a"], v=["b"], distance=[-1.0]), r"the distance of 'a' and 'b' is negative \(-1\)"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_wrong_is_said_in_one_line(wrong: str, tmp_path: Path) -> None:
    write, said = REFUSED[wrong]
    with pytest.raises(InputError, match=said) as caught:
        open_distances(write(tmp_path))
    assert len(str(caught.value).splitlines()) == 1


def test_distances_and_the_collection_must_be_of_the_same_items(tmp_path: Path) -> None:
    path = saved(BLOCKS)(tmp_path)
    with pytest.raises(InputError, match=r"has distances of 90 items, and the collection has 2"):
        open_distances(path, ["a", "b"])
    path = listed(u=["a"], v=["c"], distance=[1.0])(tmp_path)
    with pytest.raises(InputError, match=r"names the item 'c', which is not in the collection"):
        open_distances(path, ["a", "b"])
    path = listed(u=[0], v=[1], distance=[1.0])(tmp_path)
    assert open_distances(path, ["a", "b", "c"]).items == 3  # the last one is far from both
    with pytest.raises(InputError, match="there is no file or folder"):
        open_distances(tmp_path / "gone.npy")
    (tmp_path / "d.csv").write_text("u,v,distance\n")
    with pytest.raises(InputError, match=r"distances are read from .npy, .npz"):
        open_distances(tmp_path / "d.csv")


def test_a_small_file_that_unpacks_to_more_than_there_is_memory_is_refused(tmp_path: Path) -> None:
    header = zipfile.ZipInfo("data.npy")
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("format.npy", b"x")
        archive.writestr("shape.npy", b"x")
        archive.writestr(header, b"x")
        header.file_size = 10**12
    with pytest.raises(InputError, match=r"unpacks to 931.3 GiB"):
        open_distances(tmp_path / "d.npz")

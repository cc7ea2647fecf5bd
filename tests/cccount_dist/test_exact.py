"""The exact pass against a float64 brute force: any metric, shape, tile size, and data made to break it."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.similarity.inmemory import Neighbors, neighbors_in_memory
from cccount_dist.similarity.metrics import METRICS, Metric, euclidean_scale, prepare
from storage.errors import InputError
from tests.cccount_dist.reference import Truth, clustered, truth

ROUNDING = 2e-6  # of similarities near 1, computed from float32 rows


def check(found: Neighbors, expected: Truth, k: int, x: np.ndarray, metric: Metric) -> None:
    """Lists hold the k best up to float32 rounding, in order, without the item itself; degree and similarity are right."""
    good = expected.usable
    assert (found.index[~good] == -1).all()
    assert np.isnan(found.similarity[~good]).all()
    assert np.isnan(found.degree[~good]).all()
    index = found.index[good]
    items = np.flatnonzero(good)
    assert (index >= 0).all()
    assert good[index].all()
    assert (index != items[:, None]).all()
    assert (np.diff(np.sort(index, axis=1), axis=1) > 0).all()
    similarity = found.similarity[good].astype(np.float64)
    wanted = np.take_along_axis(expected.similarity[good], index, axis=1)
    assert np.abs(similarity - wanted).max() < ROUNDING
    assert (np.diff(similarity, axis=1) <= 0).all()
    best = np.take_along_axis(expected.order[good], expected.index(k)[good], axis=1)
    mine = np.take_along_axis(expected.order[good], index, axis=1)
    tolerance = 1e-12 * np.abs(best) if metric == "euclidean" else ROUNDING
    assert (np.abs(best - mine) <= tolerance).all()
    ties = (np.diff(similarity, axis=1) == 0) & (np.diff(mine, axis=1) == 0)
    assert (np.diff(index, axis=1)[ties] > 0).all()
    assert np.allclose(found.degree[good], expected.degree()[good], rtol=1e-5, atol=1e-5 * good.sum())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("items", "dimensions", "k", "tile_rows"),
    [(1500, 32, 50, 256), (1500, 32, 50, 512), (1100, 7, 1, 1024), (600, 3, 599, 256), (257, 130, 20, 256), (2100, 1, 5, 2048)],
)
def test_the_pass_finds_what_brute_force_finds(metric: Metric, items: int, dimensions: int, k: int, tile_rows: int) -> None:
    x = clustered(items, dimensions)
    check(neighbors_in_memory(x, k, metric, tile_rows=tile_rows), truth(x, metric), k, x, metric)


@pytest.mark.parametrize("metric", METRICS)
def test_items_without_a_vector_are_nobodys_neighbour_wherever_they_stand(metric: Metric) -> None:
    x = clustered(900, 12)
    x[[0, 5, 255, 256, 899]] = np.nan
    x[300:556] = np.nan
    check(neighbors_in_memory(x, 30, metric), truth(x, metric), 30, x, metric)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("copies", [3, 400])
def test_exact_duplicates_are_at_similarity_one_and_go_by_item_number(metric: Metric, copies: int) -> None:
    rng = np.random.default_rng(3)
    x = np.repeat(clustered(1200 // copies, 24), copies, axis=0)[rng.permutation(1200 // copies * copies)]
    found = neighbors_in_memory(x, 20, metric)
    expected = truth(x, metric)
    check(found, expected, 20, x, metric)
    twins = [np.flatnonzero((x == row).all(axis=1)) for row in x]
    for item, same in enumerate(twins):
        others = same[same != item][:20]
        assert found.index[item, : len(others)].tolist() == others.tolist()
    if metric == "euclidean":
        assert (found.similarity[:, : min(copies - 1, 20)] == 1.0).all()


@pytest.mark.parametrize("metric", METRICS)
def test_all_equal_vectors_are_listed_by_item_number(metric: Metric) -> None:
    x = np.full((700, 9), 0.3, np.float32)
    x[:, 0] = -1.0
    found = neighbors_in_memory(x, 4, metric)
    assert found.index[0].tolist() == [1, 2, 3, 4]
    assert found.index[2].tolist() == [0, 1, 3, 4]
    assert found.index[699].tolist() == [0, 1, 2, 3]
    assert np.allclose(found.degree, 699, rtol=1e-5)
    assert np.allclose(found.similarity, 1, atol=1e-6)


def test_zero_vectors_have_cosine_similarity_zero_to_everything() -> None:
    x = clustered(800, 10)
    x[100:400] = 0.0
    found = neighbors_in_memory(x, 15, "cosine")
    assert found.index[100].tolist() == list(range(15))
    assert found.index[399].tolist() == list(range(15))
    assert not found.similarity[100:400].any()
    assert not found.degree[100:400].any()
    check(found, truth(x, "cosine"), 15, x, "cosine")


@pytest.mark.parametrize("metric", METRICS)
def test_sorted_by_class_and_one_tight_cluster(metric: Metric) -> None:
    rng = np.random.default_rng(4)
    x = np.concatenate([clustered(600, 16), (5 + 1e-4 * rng.standard_normal((500, 16))).astype(np.float32)])
    x = x[np.argsort(x[:, 0])]
    check(neighbors_in_memory(x, 25, metric), truth(x, metric), 25, x, metric)


def test_euclidean_distances_survive_a_far_centre_and_an_outlier() -> None:
    x = clustered(600, 8) + 3000
    x[11] = 1e6
    check(neighbors_in_memory(x, 10, "euclidean"), truth(x, "euclidean"), 10, x, "euclidean")


@given(
    items=st.integers(2, 400),
    dimensions=st.integers(1, 40),
    seed=st.integers(0, 10_000),
    metric=st.sampled_from(METRICS),
    share=st.floats(0, 1),
    levels=st.sampled_from([1, 4, 1000]),
)
@settings(max_examples=60, deadline=None)
def test_any_small_collection(items: int, dimensions: int, seed: int, metric: Metric, share: float, levels: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.integers(-levels, levels + 1, (items, dimensions)) / levels).astype(np.float32)  # few levels: many ties
    x[rng.random(items) < 0.1] = np.nan
    count = int(np.isfinite(x).all(axis=1).sum())
    k = 1 + int(share * max(count - 2, 0))
    if count < 2:
        with pytest.raises(InputError):
            neighbors_in_memory(x, k, metric)
    else:
        check(neighbors_in_memory(x, k, metric), truth(x, metric), k, x, metric)


def test_the_tile_size_changes_no_list_and_of_the_degree_no_more_than_the_last_digits() -> None:
    x = clustered(2500, 64)
    small, large = (neighbors_in_memory(x, 40, tile_rows=rows) for rows in (256, 2048))
    assert np.array_equal(small.index, large.index)
    assert np.array_equal(small.similarity, large.similarity)
    assert np.allclose(small.degree, large.degree, rtol=1e-6)


@pytest.mark.parametrize(
    ("items", "k", "message"),
    [(1, 1, r"1 item\(s\) .* at least 2"), (9, 9, "largest k that works is 8"), (9, 50, "9 items have a vector")],
)
def test_too_large_a_k_is_refused_with_the_largest_that_works(items: int, k: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        neighbors_in_memory(clustered(items, 3), k)


@pytest.mark.parametrize("name", ["omniglot_hog", "gtsrb_hog"])
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_real_collections_have_the_neighbours_of_brute_force(name: str, metric: Metric) -> None:
    path = next(
        (p / f"shared/data/{name}.npz" for p in Path(__file__).parents if (p / f"shared/data/{name}.npz").is_file()), None
    )
    if path is None:
        pytest.skip(f"{name} is not on this machine")
    x = np.load(path)["x"][:8000].astype(np.float32)
    found = neighbors_in_memory(x, 50, metric)
    scale = euclidean_scale(lambda: [x]).mean_square
    rows = prepare(x, metric).astype(np.float64)
    for item in range(0, len(x), 80):
        order = -np.square(rows - rows[item]).sum(axis=1) if metric == "euclidean" else rows @ rows[item]
        similarity = np.clip(1 + order / scale if metric == "euclidean" else order, 0, 1)
        order[item], similarity[item] = -np.inf, 0
        best = np.argsort(-order, kind="stable")[:50]
        # Where the lists differ it is a tie in float32: of similarity, or not even that for distances.
        tie = 0 if metric == "euclidean" else 1e-7
        assert np.abs(order[found.index[item]] - order[best]).max() <= tie
        assert np.abs(found.similarity[item] - similarity[best]).max() < ROUNDING
        assert np.isclose(found.degree[item], similarity.sum(), rtol=1e-6)

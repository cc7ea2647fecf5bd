"""The compiled loops one by one, against numpy."""

from typing import Any

import numpy as np
import pytest
from numba import njit

from cccount_dist.similarity.kernel import packed
from cccount_dist.similarity.lanes import SUMS, Shape, score_kernel
from cccount_dist.similarity.lists import OVERFULL, absorb, capacity, cut_all, kth_largest, nearly_kth, new_lists
from cccount_dist.similarity.lists import packed as packed_lists
from tests.cccount_dist.reference import clustered

SHAPES = [Shape(16, 8), Shape(8, 4), Shape(4, 8)]  # AVX-512, AVX2, NEON


def run_kernel(shape: Shape, left: np.ndarray, right: np.ndarray, limits: tuple[float, float]) -> dict[str, Any]:
    """Scores, sums and masks of 32 rows with 32 columns, from the kernel of any machine: LLVM makes do with what there is."""
    kernel, rows, columns = score_kernel(shape), shape.rows, shape.columns

    @njit
    def compiled(a, b, row_limit, col_limit, row_sums, col_sums, out, row_masks, col_masks):  # type: ignore[no-untyped-def]
        masks = np.empty(2 * rows, np.uint32)
        depth = a.shape[1]
        for c in range(0, 32, columns):
            for r in range(0, 32, rows):
                reached = kernel(
                    a, r * depth, b, c * depth, depth, row_limit, r, col_limit, c, np.float32(0), np.float32(1),
                    row_sums, r * SUMS + c, col_sums, c, out, r * 32 + c, 32, masks,
                )  # fmt: skip
                for i in range(rows):
                    if reached >> np.uint32(i) & np.uint32(1):  # a mask that is not announced is not looked at
                        row_masks[r + i] |= masks[i] << np.uint32(c)
                    if reached >> np.uint32(16 + i) & np.uint32(1):
                        col_masks[r + i] |= masks[rows + i] << np.uint32(c)

    found: dict[str, Any] = {
        "row_sums": np.zeros((32, SUMS), np.float32), "col_sums": np.zeros(32, np.float32), "out": np.zeros((32, 32), np.float32),
        "row_masks": np.zeros(32, np.uint32), "col_masks": np.zeros(32, np.uint32),
    }  # fmt: skip
    thresholds = [np.full(32, limit, np.float32) for limit in limits]
    compiled(packed(left, 32, shape.rows), packed(right, 32, shape.columns), *thresholds, *found.values())
    return found


@pytest.mark.parametrize("dimensions", [1, 4, 37])
def test_the_kernel_computes_scores_sums_and_masks(dimensions: int) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.uniform(-0.6, 0.6, (2, 32, dimensions)).astype(np.float32)
    found = run_kernel(SHAPES[0], left, right, (0.3, 0.1))
    assert np.allclose(found["out"], left.astype(np.float64) @ right.T.astype(np.float64), atol=1e-6)
    clipped = np.clip(found["out"], 0, 1)
    assert np.allclose(found["row_sums"].sum(axis=1), clipped.sum(axis=1), atol=1e-5)
    assert np.allclose(found["col_sums"], clipped.sum(axis=0), atol=1e-5)
    bits = np.arange(32, dtype=np.uint32)
    assert np.array_equal(found["row_masks"][:, None] >> bits & 1, found["out"] >= np.float32(0.3))
    assert np.array_equal(found["col_masks"][:, None] >> bits & 1, found["out"] >= np.float32(0.1))


def test_every_shape_of_the_kernel_gives_the_same_bytes() -> None:
    left, right = clustered(32, 37, 1), clustered(32, 37, 2)
    results = [run_kernel(shape, left, right, (0.3, 0.1)) for shape in SHAPES]
    for other in results[1:]:
        for name, values in results[0].items():
            assert values.tobytes() == other[name].tobytes(), name


def test_a_score_has_the_same_bits_wherever_the_pair_stands() -> None:
    left, right = np.tile(clustered(1, 100, 3), (32, 1)), np.tile(clustered(1, 100, 4), (32, 1))
    forth, back = (run_kernel(SHAPES[0], *sides, (9.0, 9.0))["out"] for sides in ((left, right), (right, left)))
    assert len(np.unique(np.concatenate([forth, back]))) == 1


@pytest.mark.parametrize("values", ["normal", "ties", "skewed", "equal"])
def test_selection_finds_the_kth_largest_or_a_little_less(values: str) -> None:
    rng = np.random.default_rng(5)
    for count in (20, 77, 128):
        given = {
            "normal": rng.standard_normal(count), "ties": rng.integers(0, 4, count),
            "skewed": -np.exp(20 * rng.random(count)), "equal": np.ones(count),
        }[values].astype(np.float32)  # fmt: skip
        for k in (1, 7, 20):
            kth = np.sort(given)[-k]
            assert kth_largest(given.copy(), count, k) == kth
            limit = nearly_kth(given.copy(), count, k)
            assert limit <= kth
            assert (given >= limit).sum() <= max(k + k // 8, (given >= kth).sum())


def filled_lists(scores: np.ndarray, k: int) -> Any:
    """Lists that took in `scores` (rows, columns) column by column."""
    rows, columns = scores.shape
    lists = new_lists(np.ones(rows, np.bool_), np.zeros(rows, np.float32), k)
    for column in range(columns):
        counts = np.ones(rows, np.int32)
        absorb(lists, counts, scores[:, column].copy(), np.full(rows, column, np.int32), k, np.float32(0))
    cut_all(lists, k, np.float32(0))
    return lists


def test_lists_keep_the_k_best_of_everything_they_took_in() -> None:
    scores = np.random.default_rng(6).standard_normal((40, 500)).astype(np.float32)
    lists = filled_lists(scores, 10)
    for row in range(40):
        best = set(np.argsort(-scores[row])[:10])
        kept = lists.item[row, : lists.filled[row]]
        assert best <= set(kept.tolist())
        assert len(kept) <= 11
        assert lists.threshold[row] <= np.sort(scores[row])[-10]


def test_more_ties_than_places_make_a_list_overfull_and_it_stays_so_when_merged() -> None:
    lists = filled_lists(np.ones((3, 200), np.float32), 10)
    assert (lists.filled == OVERFULL).all()
    scores, items = packed_lists(lists)
    assert len(items) == 0
    merged = new_lists(np.ones(3, np.bool_), np.zeros(3, np.float32), 10)
    absorb(merged, lists.filled, scores, items, 10, np.float32(0))
    assert (merged.filled == OVERFULL).all()
    assert capacity(10) < 200

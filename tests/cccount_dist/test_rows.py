"""Rows of similarity against plain numpy: in float64 for the value, in float32 lanes for the bytes."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.similarity import rows
from cccount_dist.similarity.draws import WeightedDraws
from cccount_dist.similarity.metrics import METRICS, Metric, euclidean_scale, prepare
from cccount_dist.similarity.rows import SimilarityRows, degree
from tests.cccount_dist.reference import clustered, truth

Vectors = NDArray[np.float32]


def row_weights(vectors: Vectors, u: int) -> Vectors:
    return SimilarityRows(vectors).weights(u)


def unit_rows(items: int, dimensions: int, seed: int = 0) -> Vectors:
    x = np.random.default_rng(seed).standard_normal((items, dimensions))
    prepared: Vectors = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
    return prepared


def slow_row(vectors: Vectors, u: int) -> NDArray[np.float64]:
    x = vectors.astype(np.float64)
    row: NDArray[np.float64] = np.clip(x @ x[u], 0.0, 1.0)
    row[u] = 0.0
    return row


def lane_row(vectors: Vectors, u: int) -> Vectors:
    """The declared order of summation, one float32 operation at a time: 16 lanes along the row, then the lanes in their order."""
    padded = np.pad(vectors, ((0, 0), (0, -vectors.shape[1] % 16)))
    lanes = np.zeros((len(vectors), 16), np.float32)
    for start in range(0, padded.shape[1], 16):
        lanes += padded[:, start : start + 16] * padded[u, start : start + 16]
    total = np.zeros(len(vectors), np.float32)
    for lane in range(16):
        total += lanes[:, lane]
    row = np.clip(total, 0.0, 1.0)
    row[u] = 0.0
    return row


@pytest.mark.parametrize("dimensions", [1, 2, 15, 16, 17, 64, 129])
def test_a_row_is_the_clipped_similarity_to_the_last_bit(dimensions: int) -> None:
    vectors = unit_rows(200, dimensions)
    for u in (0, 57, 199):
        row = row_weights(vectors, u)
        assert row.dtype == np.float32
        np.testing.assert_allclose(row, slow_row(vectors, u), atol=2e-6)
        assert row.tobytes() == (lane_row(vectors, u) + np.float32(0)).tobytes()


def test_neither_block_nor_memory_map_nor_memory_layout_changes_a_byte(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    vectors = unit_rows(301, 20)
    expected = row_weights(vectors, 300).tobytes()
    np.save(tmp_path / "x.npy", vectors)
    for block in (1, 7, 300, 301, 1000):
        monkeypatch.setattr(rows, "BLOCK_ROWS", block)
        assert row_weights(vectors, 300).tobytes() == expected
        assert row_weights(np.load(tmp_path / "x.npy", mmap_mode="r"), 300).tobytes() == expected
        assert row_weights(np.asfortranarray(vectors), 300).tobytes() == expected


def test_similarity_is_symmetric_to_the_last_bit() -> None:
    vectors = unit_rows(40, 33)
    table = np.stack([row_weights(vectors, u) for u in range(40)])
    assert table.tobytes() == np.ascontiguousarray(table.T).tobytes()


def test_zero_vectors_duplicates_and_missing_vectors_give_numbers_between_0_and_1() -> None:
    vectors = unit_rows(6, 5)
    vectors[1] = 0.0
    vectors[3] = vectors[2]
    vectors[4] = np.nan
    for u in range(6):
        row = row_weights(vectors, u)
        assert np.all((row >= 0) & (row <= 1))
        assert row[u] == row[4] == row[1] == 0.0
    assert row_weights(vectors, 2)[3] == pytest.approx(1.0, abs=1e-6)
    assert not row_weights(vectors, 4).any()


def test_the_degree_is_the_sum_of_the_row() -> None:
    vectors = unit_rows(1500, 21)
    vectors[7] = np.nan
    vectors[8] = 0.0
    degrees = degree(vectors)
    assert np.flatnonzero(np.isnan(degrees)).tolist() == [7]
    for u in (0, 8, 1499):
        others = np.delete(slow_row(np.nan_to_num(vectors), u), u)
        assert degrees[u] == pytest.approx(others.sum(), abs=1e-4)
    assert degree(vectors[:1]).tolist() == [0.0]


def collection(metric: Metric, items: int = 700) -> tuple[SimilarityRows, NDArray[np.float64], NDArray[np.float64]]:
    """Rows on demand; the same similarities from numpy in float64, and the degrees of the pass."""
    x = clustered(items, 19)
    x[[5, 600]] = np.nan
    x[300] = x[2]
    scale = euclidean_scale(lambda: [x]) if metric == "euclidean" else None
    rows = SimilarityRows(prepare(x, metric), None if scale is None else scale.mean_square)
    known = truth(x, metric)
    table = np.where(known.usable[:, None] & known.usable, np.clip(known.similarity, 0, 1), 0.0)
    np.fill_diagonal(table, 0.0)
    return rows, table, degree(rows.vectors, scale)


@pytest.mark.parametrize("metric", METRICS)
def test_rows_blocks_and_some_items_agree_with_float64_and_with_the_degree_of_the_pass(metric: Metric) -> None:
    rows, table, degrees = collection(metric)
    us = np.array([0, 2, 5, 300, 699])
    block = rows.block(us)
    np.testing.assert_allclose(block, table[us], atol=3e-6)
    np.testing.assert_allclose(block.sum(axis=1, dtype=np.float64)[[0, 1, 3, 4]], degrees[us[[0, 1, 3, 4]]], rtol=1e-5)
    some = np.array([699, 0, 2, 2, 600, 300])
    for u, row in zip(us.tolist(), block, strict=True):
        assert rows.weights(u).tobytes() == row.tobytes()
        assert rows.weights(u, some).tobytes() == row[some].tobytes()
        assert rows.weights(u, slice(100, 350)).tobytes() == row[100:350].tobytes()
    if metric == "euclidean":
        assert block[1, 300] == 1.0


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("block", [1, 64, 699, 700, 8192])
def test_streamed_draws_are_those_of_the_whole_row_bit_for_bit(
    metric: Metric, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, _, _ = collection(metric)
    whole = WeightedDraws.of(rows.weights(2))
    monkeypatch.setattr("cccount_dist.similarity.rows.BLOCK_ROWS", block)
    streamed = rows.draws(2)
    uniform = np.concatenate([np.random.default_rng(1).random(300), [0.0, np.nextafter(1.0, 0.0)]])
    items = streamed.at(uniform)
    assert streamed.total == whole.total
    assert items.tolist() == whole.at(uniform).tolist()
    assert streamed.probability(items).tobytes() == whole.probability(items).tobytes()


def test_drawing_never_holds_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = 0
    raw = SimilarityRows.raw

    def watched(self: SimilarityRows, u: int, items: slice | NDArray[np.int64] = rows.ALL) -> NDArray[np.float32]:
        nonlocal largest
        found = raw(self, u, items)
        largest = max(largest, len(found))
        return found

    monkeypatch.setattr(SimilarityRows, "raw", watched)
    monkeypatch.setattr(rows, "BLOCK_ROWS", 50)
    draws = SimilarityRows(unit_rows(1000, 8)).draws(3)
    draws.probability(draws.at(np.random.default_rng(0).random(20)))
    assert largest == 50

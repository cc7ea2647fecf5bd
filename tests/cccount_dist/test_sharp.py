"""Rows of the second space: equal to a plain computation over the whole collection, and better at telling classes apart."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.sharp import NEAREST, REACH, SharpRows
from cccount_dist.similarity.whitening import whitening
from storage.errors import InputError

CLASSES, EACH = 40, 20
LABELS = np.repeat(np.arange(CLASSES), EACH)


def noisy(seed: int = 0) -> NDArray[np.float32]:
    """Classes in eight directions, and two more in which every item differs from every other one."""
    random = np.random.default_rng(seed)
    signal = random.normal(size=(CLASSES, 8))[LABELS] + 0.3 * random.normal(size=(len(LABELS), 8))
    return prepare(np.hstack([signal, 2.0 * random.normal(size=(len(LABELS), 2))]).astype(np.float32), "cosine")


VECTORS = noisy()
LISTS = neighbors_in_memory(VECTORS, REACH).index


def plainly(vectors: NDArray[np.float32], lists: NDArray[np.int32], item: int) -> NDArray[np.float64]:
    """The same row by whole matrices."""
    matrix = whitening(vectors, lists)
    assert matrix is not None
    white = (vectors - vectors.mean(axis=0, dtype=np.float64)) @ matrix
    white /= np.linalg.norm(white, axis=1, keepdims=True)
    reached = {int(far) for near in (item, *lists[item]) if near >= 0 for far in lists[near] if far >= 0} - {item}
    nearest = sorted(reached, key=lambda other: -float(white[other] @ white[item]))[:NEAREST]
    total = white[[item, *nearest]].sum(axis=0)
    return np.asarray(total / np.linalg.norm(total))


@pytest.mark.parametrize("item", [0, 17, 399, 799])
def test_a_row_equals_the_computation_by_whole_matrices(item: int) -> None:
    np.testing.assert_allclose(SharpRows(VECTORS, LISTS).row(item), plainly(VECTORS, LISTS, item), atol=1e-6)


def test_short_lists_and_items_without_any_are_no_trouble() -> None:
    lists = LISTS.copy()
    lists[3, 2:] = -1
    lists[5] = -1
    lists[lists == 5] = -1
    rows = SharpRows(VECTORS, lists)
    np.testing.assert_allclose(rows.row(3), plainly(VECTORS, lists, 3), atol=1e-6)
    np.testing.assert_allclose(rows.row(5), plainly(VECTORS, lists, 5), atol=1e-6)


def test_items_without_a_vector_spoil_no_other_row() -> None:
    vectors = np.vstack([VECTORS, np.full((2, VECTORS.shape[1]), np.nan, np.float32)])
    lists = np.vstack([LISTS, np.full((2, REACH), -1, np.int32)])
    np.testing.assert_array_equal(SharpRows(vectors, lists).row(17), SharpRows(VECTORS, LISTS).row(17))


def test_copies_have_a_row_too() -> None:
    vectors = np.repeat(np.eye(4, dtype=np.float32), 10, axis=0)
    row = SharpRows(vectors, neighbors_in_memory(vectors, 5).index).row(12)
    assert np.linalg.norm(row) == pytest.approx(1.0)


def test_random_items_of_a_class_are_more_alike_than_before() -> None:
    rows = SharpRows(VECTORS, LISTS)
    chosen = np.random.default_rng(1).permutation(len(LABELS))[:200]
    same = (LABELS[chosen][:, None] == LABELS[chosen][None])[np.triu_indices(200, 1)]

    def ranked_right(x: NDArray[np.float32]) -> float:
        similarity = (x @ x.T)[np.triu_indices(200, 1)]
        return float((similarity[same][:, None] > similarity[~same][None]).mean())

    assert ranked_right(np.stack([rows.row(int(item)) for item in chosen])) > ranked_right(VECTORS[chosen]) + 0.05


def placed(*, sharp: bool, fast: bool, budget: int = 1500, batch: int = 256, seed: int = 0) -> PlacingSampler:
    rows = SharpRows(VECTORS, LISTS) if sharp else None
    one = PlacingSampler(VECTORS, np.zeros(len(LABELS)), seed=seed, fast=fast, sharp=rows)
    drive(one, LabelOracle(LABELS), budget=budget, batch=batch)
    return one


def test_the_second_space_places_more_items_for_the_same_answers() -> None:
    gains = [placed(sharp=True, fast=True, seed=s).result().anchors - placed(sharp=False, fast=True, seed=s).result().anchors
             for s in range(5)]  # fmt: skip
    assert min(gains) > 0


def test_the_partition_stays_exact_whatever_the_space_says() -> None:
    for part in placed(sharp=True, fast=False).partition():
        assert len(set(LABELS[part].tolist())) == 1


def test_questions_do_not_depend_on_batches_in_the_second_space() -> None:
    assert placed(sharp=True, fast=True, batch=7).result() == placed(sharp=True, fast=True).result()


def test_without_lists_the_second_space_is_refused() -> None:
    with pytest.raises(InputError, match="needs neighbour lists: run `cccount neighbors`"):
        make_counter("placing", vectors=VECTORS, degree=np.zeros(len(LABELS)), parameters={"space": "sharp"})

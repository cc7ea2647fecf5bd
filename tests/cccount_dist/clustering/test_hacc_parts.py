"""The parts of Active-HACC: exact arithmetic, consensus, micro-clusters, local effects, measures, limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.clustering.agreement import jcc
from cccount_dist.clustering.hacc.beliefs import EXCLUDED, Beliefs, agreements, many_runs, one_run, pooled
from cccount_dist.clustering.hacc.engine import LocalEngine
from cccount_dist.clustering.hacc.forest import grow, order_of, squared_distances, whole_numbers
from cccount_dist.clustering.hacc.units import condense, contradicted, plain
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

VECTORS, LABELS = blobs((30, 20, 10), noise=0.5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.sampled_from([1e-20, 1.0, 1e20]))
def test_products_of_rounded_rows_are_exact_whatever_the_order_of_summation(seed: int, width: int, scale: float) -> None:
    x = (scale * np.random.default_rng(seed).standard_normal((12, width))).astype(np.float32)
    for rows in (whole_numbers(x, 26), whole_numbers(x, 12).astype(np.float32)):  # what each type is used for
        exact = rows.astype(np.int64) @ rows.astype(np.int64).T
        assert (rows @ rows.T == exact).all()
        assert (rows[:, ::-1] @ rows[:, ::-1].T == exact).all()


def test_distances_are_those_of_the_vectors() -> None:
    distance = squared_distances(VECTORS)
    direct = np.square(VECTORS[:, None].astype(float) - VECTORS[None]).sum(axis=2)
    upper = np.triu_indices(len(VECTORS), 1)
    assert np.corrcoef(distance[upper], direct[upper])[0, 1] > 1 - 1e-12


def test_a_run_is_the_same_alone_and_among_others() -> None:
    runs = many_runs(VECTORS, 3, 7, 5)
    assert all((one_run(VECTORS, 3, 7, number) == run).all() for number, run in enumerate(runs))
    assert len({run.tobytes() for run in runs}) > 1
    assert (many_runs(VECTORS, 3, 8, 5) != runs).any()


def test_agreements_count_the_runs_that_put_two_items_together() -> None:
    runs = many_runs(VECTORS, 4, 0, 9)
    naive = (runs[:, :, None] == runs[:, None, :]).sum(axis=0)
    assert (agreements(runs) == naive).all()


def test_runs_take_turns_between_k_and_twice_as_many_clusters() -> None:
    runs = many_runs(VECTORS, 4, 0, 6)
    assert all(len(np.unique(run)) <= 4 for run in runs[1::2])
    assert all(len(np.unique(run)) > 4 for run in runs[::2])
    few = many_runs(VECTORS[:5], 4, 0, 2)  # never more than half as many clusters as units, unless K is
    assert [len(np.unique(run)) <= 4 for run in few] == [True, True]


def test_micro_clusters_are_close_and_as_many_as_wanted() -> None:
    near = neighbors_in_memory(VECTORS, 8)
    micro = condense(near.index, near.similarity, 15)
    units = micro.units()
    assert len(np.unique(units)) == 15
    assert np.bincount(units).max() <= 8 * 2
    assert (micro.size[units] == np.bincount(units)[units]).all()


def test_a_contradicted_micro_cluster_is_opened_only_as_far_as_needed() -> None:
    near = neighbors_in_memory(VECTORS, 8)
    micro = condense(near.index, near.similarity, 15)
    units = micro.units()
    largest = np.flatnonzero(units == np.bincount(units).argmax())
    u, v = int(largest[0]), int(largest[-1])
    assert contradicted(micro, [(u, v, 1.0, "a")]) == frozenset()
    opened = contradicted(micro, [(u, v, 0.0, "a")])
    after = micro.units(opened)
    assert after[u] != after[v]
    others = np.setdiff1d(np.arange(len(units)), largest)
    assert (after[others] == units[others]).all()
    assert len(np.unique(after[largest])) == 1 + len(opened)


def test_local_effects_are_those_of_a_cut_or_a_union() -> None:
    place = np.array([0.0, 1.0, 2.5, 10.0, 11.0])  # clusters of three and two
    order = order_of(np.abs(place[:, None] - place))
    none = np.empty((0, 2), np.int64)
    forest = grow(order, np.ones(5, np.int64), none, none, 2)
    counts = np.full((5, 5), 5, np.uint8)
    choice = LocalEngine(order, forest, Beliefs(counts, 10)).best(np.zeros(2, np.uint8))
    assert choice is not None
    # A union: 4 pairs stay, 6 come; P is 1/2. The best cut loses 2 of 4 pairs.
    assert not choice.split
    assert choice.value == pytest.approx(0.5 * (1 - 4 / 10))


def test_beliefs_about_must_linked_units_are_their_mean() -> None:
    random = np.random.default_rng(2)
    counts = random.integers(0, 101, (12, 12)).astype(np.uint8)
    counts = np.triu(counts, 1) + np.triu(counts, 1).T
    counts[0, 5] = counts[5, 0] = EXCLUDED
    beliefs = Beliefs(counts, 100)
    order = order_of(squared_distances(random.standard_normal((12, 2)).astype(np.float32)))
    weight, nothing = np.ones(12, np.int64), np.empty((0, 2), np.int64)
    assert pooled(beliefs, grow(order, weight, nothing, nothing, 3)) is beliefs
    forest = grow(order, weight, np.array([[0, 1], [1, 2], [5, 7], [8, 9]]), nothing, 3)
    found = pooled(beliefs, forest).agreements
    assert (found == found.T).all()
    assert (np.flatnonzero(found == EXCLUDED) == [5, 60]).all()
    for i, j in zip(*np.triu_indices(12, 1), strict=True):
        mine, others = np.flatnonzero(forest.leaf == forest.leaf[i]), np.flatnonzero(forest.leaf == forest.leaf[j])
        pairs = counts[np.ix_(mine, others)].ravel()
        if forest.leaf[i] != forest.leaf[j] and found[i, j] != EXCLUDED:
            assert found[i, j] == np.floor(pairs[pairs != EXCLUDED].mean() + 0.5)


def test_more_items_than_memory_allows_are_refused_with_what_to_do() -> None:
    with pytest.raises(InputError, match=r"5,001 units need 1 GB.*units"):
        plain(np.zeros((5001, 1), np.float32), np.zeros((1, 5001), np.uint16))


def test_jcc_is_one_for_equal_clusterings_only() -> None:
    assert jcc(LABELS, 5 - LABELS) == 1.0
    assert jcc(np.arange(4), np.arange(4)) == 1.0
    assert jcc(LABELS, np.zeros_like(LABELS)) == pytest.approx((435 + 190 + 45) / (60 * 59 / 2))
    assert jcc(np.array([0, 0, -1]), np.array([0, 0, 0])) == 1.0

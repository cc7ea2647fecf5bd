"""Closed neighbourhoods: what they are, and that skipping farther because of them places more and keeps the interval honest."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.counting.placing.fast import CAREFUL, TRUSTING, Shortcut
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.closure import closure
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.sharp import REACH, SharpRows
from tests.cccount_dist.samplers import blobs, enough

CLEAR, LABELS = blobs((12,) * 60, dimensions=24, noise=0.2)


def counted(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], seed: int, budget: int, batch: int = 256, *, trust: bool = True
) -> PlacingSampler:
    rows = SharpRows(vectors, neighbors_in_memory(vectors, REACH).index)
    one = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed, fast=True, sharp=rows, trusting=trust)
    drive(one, LabelOracle(labels), budget=budget, batch=batch)
    return one


def other_looks(share: float) -> NDArray[np.float32]:
    """Vectors of which a share lies somewhere else, together with those of the same class: their other side."""
    random = np.random.default_rng(4)
    centres = random.standard_normal((2, 60, 24))
    look = (random.random(len(LABELS)) < share).astype(int)
    vectors = centres[look, LABELS] + 0.25 * random.standard_normal((len(LABELS), 24))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


@pytest.mark.parametrize("width", [3, 10, 14])
def test_closure_is_what_lists_of_first_neighbours_have_in_common(width: int) -> None:
    random = np.random.default_rng(width)
    lists = np.stack([random.permutation(np.delete(np.arange(40), item))[:width] for item in range(40)]).astype(np.int32)
    lists[5, 1:] = -1
    lists[9] = -1
    shares = []
    for item in range(40):
        near = [item, *lists[item, :10].tolist()]
        first = near[1]
        other = [first, *lists[first, :10].tolist()] if first >= 0 else []
        shares.append(len({one for one in near if one >= 0} & set(other)) / len(near))
    assert closure(lists, np.arange(40)) == pytest.approx(np.mean(shares))


def test_clear_clusters_are_closed_and_noise_is_not() -> None:
    noise = np.random.default_rng(0).standard_normal((720, 24)).astype(np.float32)
    everything = np.arange(len(LABELS))
    assert closure(neighbors_in_memory(CLEAR, REACH).index, everything) > 0.8
    assert closure(neighbors_in_memory(noise, REACH).index, everything) < 0.5


def test_clear_clusters_take_few_answers_an_item_and_the_interval_holds() -> None:
    trusted = [counted(CLEAR, LABELS, seed, 250).result() for seed in range(6)]
    assert sum(one.low <= 60 <= one.high for one in trusted) >= enough(6, 0.95)
    others = [counted(CLEAR, LABELS, seed, 250, trust=False).result() for seed in range(6)]
    assert np.mean([one.anchors for one in trusted]) > 2.0 * np.mean([one.anchors for one in others])
    assert np.median([one.relative_width for one in trusted]) < 0.5 * np.median([one.relative_width for one in others])


def test_the_interval_holds_where_classes_have_another_look_that_nothing_leads_to() -> None:
    vectors = other_looks(0.1)
    held, made, runs = 0, 0, 12
    for seed in range(runs):
        one = counted(vectors, LABELS, seed, 500)
        found: CountResult = one.result()
        held += found.low <= 60 <= found.high
        groups = one.partition()
        made += len(groups) - len({int(LABELS[group[0]]) for group in groups})
    assert made > runs  # it is not that nothing went wrong
    assert held >= enough(runs, 0.95)


def test_trusted_questions_do_not_depend_on_batches() -> None:
    assert counted(CLEAR, LABELS, 3, 300, batch=7).result() == counted(CLEAR, LABELS, 3, 300).result()


def test_audits_are_chosen_by_what_they_cost() -> None:
    one = Shortcut(on=True, rule=TRUSTING)
    assert one.is_audit(17, effort=0.0)
    one.audits = 30.0
    assert not one.is_audit(17, effort=100.0)
    assert one.is_audit(17, effort=1000.0)
    assert Shortcut(on=True).rule is CAREFUL

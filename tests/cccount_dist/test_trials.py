"""Replicated experiments: a run follows from its number, and many of them are summarised as they should be."""

import numpy as np
import pytest

from cccount_dist.counting.labelled import SYNTHETIC, LabelledSet, Recipe, Source, load, synthetic
from cccount_dist.counting.trials import Plan, TrialOutcome, run_trial, summarise
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

COLLECTION = LabelledSet(*blobs((20, 10, 5, 5, 1)))


@pytest.mark.parametrize(
    "plan", [Plan(), Plan(noise=(0.04, 0.04), parameters={"wrong_answers": "estimate", "grid": 8}), Plan("inverse")]
)
def test_a_run_follows_from_its_number(plan: Plan) -> None:
    first, again, other = (run_trial(COLLECTION, plan, number) for number in (1, 1, 2))
    assert first == again
    assert first != other
    assert [outcome.effort for outcome in first] == [0.1, 0.25, 0.5, 1.0]


def test_a_run_that_stops_at_a_width_has_that_width() -> None:
    (outcome,) = run_trial(COLLECTION, Plan(stop=0.5), 0)
    assert outcome.high - outcome.low <= 0.5 * outcome.estimate
    assert outcome.spent < 3.0


def test_a_summary_is_mean_error_bias_coverage_and_median_width() -> None:
    outcomes = [
        TrialOutcome(1.0, 1.0, 8.0, 6.0, 9.0, 4, {"a": 1.0}),
        TrialOutcome(1.0, 1.2, 12.0, 9.0, 15.0, 6, {"a": 2.0, "b": 1.0}),
    ]
    found = summarise(outcomes, 10)
    assert (found.error, found.bias) == pytest.approx((0.2, 0.0))
    assert (found.coverage, found.runs) == (0.5, 2)
    assert found.width == pytest.approx((0.3 + 0.6) / 2)
    assert found.details == {"a": 1.5}


def test_synthetic_collections_have_the_items_and_clusters_of_their_recipe() -> None:
    for long_tail, shape in ((False, 30.0), (True, 1.1)):
        x, y = synthetic(Recipe(300, 20, long_tail=long_tail, noise=1.0, shape=shape))
        assert x.shape == (300, 32)
        assert len(np.unique(y)) == 20
    assert SYNTHETIC["balanced"].clusters == 100


def test_a_part_of_a_file_is_the_same_each_time(tmp_path: object) -> None:
    file = f"{tmp_path}/set.npz"
    np.savez(file, x=np.random.default_rng(0).standard_normal((60, 4)), y=np.repeat(np.arange(6), 10))
    part = Source("set", file, items=12, classes=3)
    first, again = load(part), load(part)
    assert np.array_equal(first.labels, again.labels)
    assert len(first.labels) == 12
    assert first.clusters <= 3


def test_a_collection_that_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'nothing' is not known"):
        load(Source("nothing"))
    with pytest.raises(InputError, match=r"none\.npz cannot be read"):
        load(Source("none", "none.npz"))

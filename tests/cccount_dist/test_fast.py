"""The fast search: what it skips is audited, subtracted, looked for again, and never called certain."""

import numpy as np
import pytest

from cccount_dist.counting.placing.chances import Chances
from cccount_dist.counting.placing.fast import AUDIT, AUDIT_LATER, LATER, Shortcut
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from tests.cccount_dist.samplers import blobs, enough

VECTORS, LABELS = blobs((8,) * 70, dimensions=12, noise=0.45)
ITEMS = len(LABELS)


def counted(seed: int, budget: int, *, fast: bool, batch: int = 256, lanes: int = 1) -> PlacingSampler:
    one = PlacingSampler(VECTORS, np.zeros(ITEMS), seed=seed, fast=fast, lanes=lanes)
    drive(one, LabelOracle(LABELS), budget=budget, batch=batch)
    return one


def test_the_same_answers_place_more_items_and_the_interval_holds() -> None:
    held, gained = 0, 0
    for seed in range(6):
        full, fast = counted(seed, 2500, fast=False).result(), counted(seed, 2500, fast=True).result()
        held += fast.low <= 70 <= fast.high
        gained += fast.anchors - full.anchors
        assert fast.details["skipped"] > 0
        assert fast.certain_low <= 70  # clusters that were founded without asking about all others are not certain
    assert held >= 5
    assert gained > 0


def test_a_fast_campaign_does_not_depend_on_batches() -> None:
    assert counted(3, 1500, fast=True, batch=7).result() == counted(3, 1500, fast=True).result()


def test_audited_items_correct_what_the_odds_say() -> None:
    one = Shortcut(on=True, risk=4.0)
    assert one.false_splits == pytest.approx(4.0)
    one.audited_risk, one.audited_found = 3.0, 9  # three times as many as expected, up to the prior
    assert one.false_splits == pytest.approx(4.0 * (9 + 1.5) / (3 + 1.5))
    one.audited_risk, one.audited_found = 9.0, 0
    assert one.false_splits == pytest.approx(4.0 * 1.5 / (9 + 1.5))
    assert sum(one.is_audit(number) for number in range(LATER)) == LATER // AUDIT
    assert sum(one.is_audit(number) for number in range(LATER, 2 * LATER)) == LATER // AUDIT_LATER


def test_nothing_is_skipped_where_hardly_any_cluster_was_seen_once() -> None:
    one = Shortcut(on=True)
    assert one.allows(0.05, once=30)
    assert not one.allows(0.05, once=0)
    assert not one.allows(0.2, once=30)
    one.risk = 10.0
    assert not one.allows(0.01, once=30)


def test_small_odds_are_taken_for_larger_while_few_matches_have_taught_the_slope() -> None:
    random = np.random.default_rng(2)
    far = np.array([[1.0, 0.0, -3.0, -3.0]])
    factors = []
    for items in (8, 80, 800):
        one = Chances(4)
        for _ in range(items):
            rows = np.column_stack([np.ones(10), np.zeros(10), random.normal(-1.0, 1.0, (10, 2))])
            rows[3, 2:] += 1.5
            one.learn(rows, 3)
        one.fit()
        factors.append(float(one.caution(far)[0]))
    assert factors[0] > factors[1] > factors[2] > 1.0
    assert factors[2] < 1.1

    # The mean over weights drawn from their normal law, which the factor stands for.
    draws = random.multivariate_normal(one.weights, one._covariance, 200_000)
    assert np.exp(draws @ far[0]).mean() == pytest.approx(np.exp(one.weights @ far[0]) * factors[2], rel=0.01)


def test_the_interval_holds_where_the_looks_of_many_items_say_nothing() -> None:
    random = np.random.default_rng(5)
    vectors, labels = blobs((30,) * 70, dimensions=32, noise=0.3)
    lost = random.random(len(labels)) < 0.4
    vectors[lost] = random.standard_normal((np.count_nonzero(lost), 32))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    held, skipped, runs = 0, 0.0, 16
    for seed in range(runs):
        one = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed, fast=True)
        drive(one, LabelOracle(labels), budget=2000)
        found = one.result()
        held += found.low <= 70 <= found.high
        skipped += found.details["skipped"]
    assert skipped > 5 * runs  # it is not that nothing was skipped
    assert held >= enough(runs, 0.95)

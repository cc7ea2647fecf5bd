"""Weighted draws: frequencies, exact probabilities, the ends of the range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cccount_dist.similarity.draws import WeightedDraws, quantise, uniform_others
from storage.errors import InputError

ALPHA = 1e-4  # chance that a correct implementation fails; the seeds are fixed, so a failure is a change in the code
LAST = np.nextafter(1.0, 0.0)  # the largest number that a generator returns


def test_frequencies_agree_with_numpys_choice_and_with_the_stated_probability() -> None:
    weights = np.random.default_rng(3).random(40) ** 2 + 0.001
    weights /= weights.max()
    weights[[0, 11, 39]] = 0.0
    draws = WeightedDraws.of(weights)
    found = np.bincount(draws.at(np.random.default_rng(4).random(100_000)), minlength=40)
    choice = np.bincount(np.random.default_rng(5).choice(40, 100_000, p=weights / weights.sum()), minlength=40)
    possible = weights > 0
    assert not found[~possible].any()
    assert stats.chi2_contingency(np.stack([found, choice])[:, possible]).pvalue > ALPHA
    probability = draws.probability(np.arange(40))
    assert stats.chisquare(found[possible], 100_000 * probability[possible]).pvalue > ALPHA
    np.testing.assert_allclose(probability, weights / weights.sum(), rtol=1e-5)


def test_uniform_others_never_returns_the_item_itself_and_all_others_equally_often() -> None:
    drawn = uniform_others(np.random.default_rng(6).random(50_000), 11, 4)
    counts = np.bincount(drawn, minlength=11)
    assert counts[4] == 0
    assert stats.chisquare(np.delete(counts, 4)).pvalue > ALPHA


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=50).filter(any))
def test_every_uniform_number_falls_on_an_item_with_positive_weight(numbers: list[float]) -> None:
    weights = np.array(numbers, dtype=np.float32)
    draws = WeightedDraws.of(weights)
    items = draws.at(np.array([0.0, 0.25, 0.5, LAST]))
    assert (weights[items] > 0).all()
    assert items[0] == np.flatnonzero(weights)[0]
    assert items[-1] == np.flatnonzero(weights)[-1]
    assert draws.probability(np.arange(len(weights))).sum() == pytest.approx(1.0)


def test_the_last_uniform_number_stays_inside_also_with_the_largest_total() -> None:
    draws = WeightedDraws.of(np.ones(1 << 21, np.float32))
    assert draws.total <= 2**52
    assert draws.at(np.array([LAST]))[0] == (1 << 21) - 1
    assert uniform_others(np.array([0.0, LAST]), 2, 0).tolist() == [1, 1]
    assert uniform_others(np.array([0.0, LAST]), 2, 1).tolist() == [0, 0]


def test_a_weight_that_is_positive_stays_positive() -> None:
    assert quantise(np.array([1e-30, 0.0, 1.0])).tolist() == [1, 0, 2**30]


@pytest.mark.parametrize("wrong", [-0.1, 1.5, float("nan"), float("inf")])
def test_a_weight_outside_0_and_1_is_refused(wrong: float) -> None:
    with pytest.raises(InputError, match="weights"):
        quantise(np.array([0.5, wrong]))

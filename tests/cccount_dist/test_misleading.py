"""Pairs that mislead everybody: what another answer about the same two pictures says, and that a count bears such pairs."""

from itertools import product

import numpy as np
import pytest

from cccount_dist.counting.placing.misleading import Told, chance_of, factor
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.counting.placing.repeats import Repeats
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import StubbornOracle
from tests.cccount_dist.samplers import blobs

RATES = 0.08, 0.03
VECTORS, LABELS = blobs((12,) * 25, noise=0.6)


def slow_chance(answers: tuple[bool, ...], rate: float, share: float) -> float:
    """Probability of answers, right or not, one by one: the sum over what the pair is."""
    misleads = share * rate
    wrong = (rate - misleads) / (1.0 - misleads)
    total = 0.0
    for state, weight in (("misleads", misleads), ("honest", 1.0 - misleads)):
        for right in answers:
            weight *= (0.0 if right else 1.0) if state == "misleads" else (1.0 - wrong if right else wrong)
        total += weight
    return total


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_chance_of_answers_is_the_sum_over_what_the_pair_is(share: float) -> None:
    for answers in product((True, False), repeat=3):
        right = sum(answers)
        assert chance_of(right, 3 - right, 0.1, share) == pytest.approx(slow_chance(answers, 0.1, share))
    assert sum(slow_chance(answers, 0.1, share) for answers in product((True, False), repeat=3)) == pytest.approx(1.0)


def test_first_answers_say_what_they_always_said_and_independent_errors_never_say_less() -> None:
    miss, false_same = RATES
    for share in (0.0, 0.5, 1.0):
        assert factor((0, 0), same=True, rates=RATES, share=share) == pytest.approx((1.0 - miss) / false_same)
        assert factor((0, 0), same=False, rates=RATES, share=share) == pytest.approx(miss / (1.0 - false_same))
    assert factor((2, 1), same=True, rates=RATES, share=0.0) == pytest.approx((1.0 - miss) / false_same)


def test_the_same_pair_again_says_little_and_another_picture_as_much_as_before() -> None:
    told = Told()
    first, again, other = (told.take(5, v, same=True, rates=RATES, share=0.5) for v in (2, 2, 3))
    assert first == pytest.approx(other)
    assert 1.0 < again < 2.5
    assert told.take(2, 5, same=True, rates=RATES, share=1.0) == pytest.approx(1.0)


def test_the_share_that_repeats_is_learned() -> None:
    assert Repeats().share == pytest.approx(0.5)
    by_chance = Repeats(same_differ=60, same_expected=60.0, other_differ=40, other_expected=40.0)
    always = Repeats(same_differ=0, same_expected=60.0, other_differ=40, other_expected=40.0)
    half = Repeats(same_differ=45, same_expected=60.0, other_differ=60, other_expected=40.0)  # odds expect too little everywhere
    assert by_chance.share < 0.05
    assert always.share > 0.95
    assert half.share == pytest.approx(0.5, abs=0.05)


def counted(seed: int, *, misleading: bool, batch: int = 256) -> PlacingSampler:
    one = PlacingSampler(
        VECTORS, np.zeros(len(LABELS)), seed=seed, rates=None, same_pair=2, one_posterior=True, misleading=misleading
    )
    drive(one, StubbornOracle(LABELS, error_rate=0.06, false_same=0.06, seed=seed, repeating=0.7), budget=700, batch=batch)
    return one


def false_merges(one: PlacingSampler) -> int:
    """Items that are in a cluster whose first item is of another class."""
    return sum(int((LABELS[group] != LABELS[group[0]]).sum()) for group in one.partition())


def test_pairs_that_mislead_merge_fewer_clusters_where_they_are_allowed_for() -> None:
    runs = range(6)
    merged = {allowed: sum(false_merges(counted(seed, misleading=allowed)) for seed in runs) for allowed in (False, True)}
    assert merged[True] < 0.7 * merged[False]


def test_what_was_said_about_pairs_does_not_depend_on_batches() -> None:
    whole, cut = counted(1, misleading=True), counted(1, misleading=True, batch=3)
    assert whole.result() == cut.result()
    assert 0.0 < whole.result().details["repeating_share"] <= 1.0

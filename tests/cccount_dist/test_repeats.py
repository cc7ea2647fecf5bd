"""How people err: gold answers enter the rates, and errors that repeat on the same pair are told from those that do not."""

import numpy as np
import pytest
from scipy.stats import binom

from cccount_dist.counting.placing.estimatedrates import Rates
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.counting.placing.repeats import Repeats
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle, StubbornOracle
from cccount_dist.sampling.types import KnownAnswer, Question
from tests.cccount_dist.samplers import blobs

VECTORS, LABELS = blobs((12,) * 25, noise=0.6)
ITEMS = len(LABELS)


def sampler(seed: int = 0) -> PlacingSampler:
    return PlacingSampler(VECTORS, np.zeros(ITEMS), seed=seed, rates=None)


def test_the_chance_is_the_binomial_one() -> None:
    found = Repeats(same_differ=3, same_expected=12.0, other_differ=20, other_expected=18.0)
    assert found.chance == pytest.approx(binom.cdf(3, 23, 12 / 30))
    assert found.suspicious == (found.chance < 0.01)
    assert Repeats(same_expected=2.0, other_differ=9, other_expected=9.0).chance == 1.0  # too little to say anything


def test_errors_that_repeat_are_noticed_and_said() -> None:
    noticed = 0
    for seed in range(4):
        one = sampler(seed)
        drive(one, StubbornOracle(LABELS, error_rate=0.06, false_same=0.06, seed=seed), budget=1800)
        result = one.result()
        noticed += any("again and again on the same pairs" in said for said in result.warnings)
    assert noticed >= 3


def test_errors_by_chance_are_no_reason_to_warn() -> None:
    for seed in range(4):
        one = sampler(seed)
        drive(one, LabelOracle(LABELS, error_rate=0.06, seed=seed), budget=1800)
        result = one.result()
        assert not result.details["repeating_errors"]
        assert 0.5 < result.details["repeats_same_pair"] / result.details["repeats_same_pair_expected"] < 2.0


def test_a_stubborn_oracle_says_the_same_about_a_pair_each_time_and_errs_as_often_as_told() -> None:
    labels = np.arange(400)
    always = StubbornOracle(labels, error_rate=0.1, false_same=0.1, repeating=1.0)
    pairs = [(u, v) for u in range(40) for v in range(40, 140)]
    first = [always.answer(Question(number, u, v)) for number, (u, v) in enumerate(pairs)]
    again = [always.answer(Question(9999 - number, v, u)) for number, (u, v) in enumerate(pairs)]
    assert first == again
    assert abs(np.mean(np.array(first, float)) - 0.1) < 5 * (0.1 * 0.9 / len(pairs)) ** 0.5


def test_gold_moves_the_rates_and_taking_it_back_restores_them() -> None:
    rates = Rates(None)
    before = rates.miss, rates.false_same, rates.page_miss
    for _ in range(80):
        rates.know(1.0, 0.0, paged=False)
        rates.know(0.0, 0.0, paged=False)
        rates.know(1.0, 1.0, paged=True)
    assert rates.miss == 0.15  # capped
    assert rates.false_same == pytest.approx(2 / 130)
    assert rates.page_miss == pytest.approx(1.2 / 100)
    for _ in range(80):
        rates.know(1.0, 0.0, paged=False, times=-1)
        rates.know(0.0, 0.0, paged=False, times=-1)
        rates.know(1.0, 1.0, paged=True, times=-1)
    assert (rates.miss, rates.false_same, rates.page_miss) == before


def test_known_answers_told_between_others_replay_to_the_same_questions() -> None:
    def run() -> tuple[list[Question], CountResult]:
        one, oracle = sampler(), LabelOracle(LABELS, error_rate=0.05, seed=1)
        asked: list[Question] = []
        for turn in range(12):
            drive(one, oracle, budget=25, on_batch=lambda replies: asked.extend(reply.question for reply in replies))
            one.tell([KnownAnswer(-1, 0, 1, float(turn % 4 != 0), truth=1.0)])
        return asked, one.result()

    assert run() == run()
    assert run()[1].details["miss_rate"] > 0.06


def test_inverse_sampling_from_the_same_items_is_compared_with_the_result() -> None:
    vectors, labels = blobs((150,) * 6, noise=0.3)
    one = PlacingSampler(vectors, np.zeros(len(labels)))
    drive(one, LabelOracle(labels), budget=250)
    result = one.result()
    assert result.details["inverse_low"] <= 6 <= result.details["inverse_high"]
    assert result.warnings == []


def test_intervals_that_do_not_meet_are_said() -> None:
    details = {
        "mixture_low": 10.0,
        "mixture_high": 12.0,
        "chao_low": 10.0,
        "chao_high": 11.0,
        "inverse_low": 30.0,
        "inverse_high": 50.0,
    }
    (warning,) = CountResult(11.0, 10.0, 12.0, 0.95, 50, 300, details=details).warnings
    assert "inverse sampling from the same items says 30 to 50" in warning


def test_pairs_that_one_person_answered_twice_give_both_rates() -> None:
    rates, random = Rates(None), np.random.default_rng(3)
    before = rates.miss, rates.false_same
    told = []
    for _ in range(4000):
        truth = float(random.random() < 0.15)
        wrong = random.random(2) < (0.09 if truth else 0.06)
        told.append((abs(truth - wrong[0]), abs(truth - wrong[1])))
        rates.know_twice(*told[-1])
    assert rates.miss == pytest.approx(0.09, abs=4 * (0.09 * 0.91 / 1200) ** 0.5)
    assert rates.false_same == pytest.approx(0.06, abs=4 * (0.06 * 0.94 / 6800) ** 0.5)
    for pair in told:
        rates.know_twice(*pair, times=-1)
    assert (rates.miss, rates.false_same) == before

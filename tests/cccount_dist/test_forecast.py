"""The law of placing, forecasts from it, and the interval that pays for looking."""

import numpy as np
import pytest
from scipy.stats import binom

from cccount_dist.counting.forecast import forecast_questions, questions_by_law, seen_at_width, width_by_law
from cccount_dist.counting.guess import guess_clusters, guessed_effort
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from tests.cccount_dist.samplers import blobs


def test_the_law_is_the_sum_over_items_drawn() -> None:
    """Equal clusters, each item compared with clusters seen, in random order, until a match: expected questions, step by step."""
    clusters, seen, questions = 400, 0.0, 0.0
    while seen < 0.6 * clusters:
        old = seen / clusters
        questions += old * (seen + 1) / 2 + (1 - old) * seen
        seen += 1 - old
    assert questions_by_law(clusters, 0.6) == pytest.approx(questions, rel=0.02)


def test_more_seen_takes_more_questions_and_gives_a_narrower_interval() -> None:
    shares = np.linspace(0.05, 0.99, 30)
    assert np.all(np.diff([questions_by_law(100, x) for x in shares]) > 0)
    assert np.all(np.diff([width_by_law(100, x) for x in shares]) < 0)


def test_a_forecast_on_the_way_is_about_right() -> None:
    vectors, labels = blobs((40,) * 60, dimensions=4, noise=1.0)
    ratios = []
    for seed in range(5):
        one = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed)
        drive(one, LabelOracle(labels), budget=700)
        forecast = forecast_questions(one.result(), 700, 0.3)
        taken = 700
        while one.result().relative_width > 0.3:
            taken += drive(one, LabelOracle(labels), budget=100).questions
        assert forecast is not None
        ratios.append(forecast / taken)
    assert 0.5 < np.median(ratios) < 2.0


def test_stopping_when_the_interval_is_narrow_keeps_its_level() -> None:
    runs, held = 30, 0
    vectors, labels = blobs((12,) * 25, dimensions=4, noise=1.0)
    for seed in range(runs):
        one = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed)
        while (found := one.result().at_stop()).relative_width > 0.4:
            drive(one, LabelOracle(labels), budget=40)
        held += found.low <= 25 <= found.high
    assert held >= binom.ppf(1e-4, runs, 0.95)


def test_a_width_that_is_reached_needs_nothing_more() -> None:
    vectors, labels = blobs((30, 30))
    one = PlacingSampler(vectors, np.zeros(len(labels)))
    drive(one, LabelOracle(labels), budget=60)
    assert forecast_questions(one.result(), 60, 0.5) == 60
    assert forecast_questions(one.result(), 60, None) is None


def test_the_share_seen_at_a_width_is_the_inverse_of_the_law() -> None:
    for clusters, seen in ((30.0, 0.4), (200.0, 0.9)):
        assert seen_at_width(clusters, width_by_law(clusters, seen)) == pytest.approx(seen, abs=1e-6)


def test_a_guess_before_the_first_answer_is_of_the_right_order() -> None:
    vectors, labels = blobs((60,) * 12, noise=0.2)
    guess = guess_clusters(vectors, np.zeros(len(labels)), seed=0)
    assert 12 / 4 <= guess <= 12 * 4
    pairs, pages = guessed_effort(100, 0.2, grid=1, wrong_answers=False), guessed_effort(100, 0.2, grid=24, wrong_answers=False)
    assert 5000 < pairs.questions < 9000  # the law: 0.7 K² for an interval of ±10 %
    assert pages.questions * 9 + pages.glances * 30 < pairs.questions * 9 / 2
    assert guessed_effort(100, 0.2, grid=1, wrong_answers=True).questions > pairs.questions
    assert guess_clusters(vectors, np.full(len(labels), np.nan), seed=0) == 0

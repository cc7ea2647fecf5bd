"""Placing when answers may be wrong: votes, odds, rates, re-checks, pages; and intervals that cover, whatever the sizes."""

from collections import Counter

import numpy as np
import pytest

from cccount_dist.counting.placing.estimatedrates import Rates
from cccount_dist.counting.placing.odds import Trial
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.counting.placing.state import State
from cccount_dist.counting.richness import richness
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import answer_batch, drive
from cccount_dist.sampling.errorrates import EXACT, GivenRates, parse_rates
from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle
from cccount_dist.sampling.types import Question
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs, enough

VECTORS, LABELS = blobs((40, 30, 25, 20, 15, 12, 10, 8, 6, 4, 2, 1, 1), noise=0.5)
ITEMS = len(LABELS)
TOLD = GivenRates(0.04, 0.03, 0.05, 0.01)


def noisy(seed: int = 0, *, grid: int = 1, rates: GivenRates | None = None, lanes: int = 1) -> PlacingSampler:
    return PlacingSampler(VECTORS, np.zeros(ITEMS), seed=seed, grid=grid, rates=rates, lanes=lanes)


def trial(rates: GivenRates = TOLD, grid: int = 1) -> Trial:
    """A trial of one item against five clusters of one item each."""
    one = PlacingSampler(VECTORS, np.zeros(ITEMS), grid=grid, rates=rates)
    state: State = one._engine.state
    state.clusters.dissolve(0)
    for place in range(5):
        state.clusters.found(state.looks.slot(place), 0.5)
    return Trial(state, 100)


def test_odds_are_those_of_bayes_rule() -> None:
    one = trial()
    start, new = one.odds.copy(), one.new
    for cluster, value in ((1, 1.0), (1, 0.0), (2, 0.0), (3, 0.0), (3, None), (1, 1.0)):
        one.take(cluster, value)
    posterior = start.copy()
    posterior[1] *= (0.96 / 0.03) ** 2 * (0.04 / 0.97)
    posterior[2] *= 0.04 / 0.97
    posterior[3] *= 0.04 / 0.97
    assert one.odds == pytest.approx(posterior)
    assert one.new == new


def test_a_glance_at_a_page_moves_all_of_it() -> None:
    one = trial(grid=24)
    start = one.odds.copy()
    for cluster, value in ((1, 0.0), (2, 1.0), (3, 0.0)):
        one.take(cluster, value, paged=True)
    assert one.odds[[1, 2, 3]] == pytest.approx(start[[1, 2, 3]] * np.array([0.05 / 0.99, 0.95 / 0.005, 0.05 / 0.99]))


def test_one_same_from_an_unlikely_cluster_is_asked_again() -> None:
    one = trial()
    one.odds[1:] = 0.001
    one.take(2, 1.0)
    assert not one.accepts(2)
    assert one.next() == 2


def test_rates_start_from_their_priors_and_follow_the_answers() -> None:
    rates = Rates(None)
    assert rates.false_same == pytest.approx(2 / 50)
    assert rates.miss == pytest.approx(0.06)
    rates.refuted, rates.false, rates.repeats, rates.missed = 950, 8, 180, 18
    assert rates.false_same == pytest.approx(10 / 1000)
    assert rates.miss == pytest.approx((20 * 0.06 + 18) / 200)
    rates.refuted = rates.false = 10_000
    assert rates.false_same == 0.12  # capped


@pytest.mark.parametrize("text", ["", "much", "0.1", "0.1,0.2,0.3", "0.6,0.1", "0.1,0"])
def test_rates_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_rates(text)


def test_votes_stay_out_of_the_closure_and_confirmations_are_not_answered_by_it() -> None:
    closure = Constraints()
    oracle = FunctionOracle(lambda _u, _v: True)
    first, again = Question(0, 1, 2, purpose="vote place"), Question(1, 1, 2, purpose="confirm place")
    assert [reply.inferred for reply in answer_batch([first, again], closure, oracle)] == [False, False]
    assert closure.known(1, 2) is None
    closure.add(1, 2, 0.0, "elsewhere")
    replies = answer_batch([first, again], closure, oracle)
    assert [(reply.inferred, reply.value) for reply in replies] == [(True, 0.0), (False, 1.0)]


def test_a_page_is_answered_at_one_glance() -> None:
    page = [Question(number, 0, number + 1, page=0) for number in range(4)]
    labels = np.array([5, 1, 5, 2, 3])
    assert LabelOracle(labels).answer_page(page) == [0.0, 1.0, 0.0, 0.0]
    assert LabelOracle(labels, error_rate=1.0).answer_page(page) == [0.0, 0.0, 0.0, 0.0]
    picks = LabelOracle(np.array([5, 1, 4, 2, 3]), page_false=1.0).answer_page(page)
    assert sorted(value or 0.0 for value in picks) == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(("grid", "lanes"), [(1, 1), (8, 1), (1, 4)])
def test_a_noisy_campaign_is_the_same_each_time_and_after_any_prefix(grid: int, lanes: int) -> None:
    whole, cut = noisy(grid=grid, lanes=lanes), noisy(grid=grid, lanes=lanes)
    drive(whole, LabelOracle(LABELS, error_rate=0.06, seed=3), budget=400)
    for _ in range(8):
        drive(cut, LabelOracle(LABELS, error_rate=0.06, seed=3), budget=50, batch=3)
    if grid == 1:  # the cost of pages does not divide the budget evenly
        assert cut.result() == whole.result()
    assert whole.result().details["false_splits"] > 0.0


def test_rates_near_the_truth_are_found_on_the_way() -> None:
    one = noisy()
    drive(one, LabelOracle(LABELS, error_rate=0.1, seed=5), budget=2500)
    rates = one.result().details
    assert 0.07 < rates["false_same_rate"] <= 0.12
    assert 0.05 < rates["miss_rate"] <= 0.15


def test_with_wrong_answers_the_count_is_still_right_where_it_can_be() -> None:
    estimates = []
    for seed in range(8):
        one = noisy(seed)
        drive(one, LabelOracle(LABELS, error_rate=0.04, seed=seed), budget=2500)
        estimates.append(one.result().estimate or 0.0)
    assert abs(np.median(estimates) - 13) < 1.0


SHAPES: dict[str, tuple[int, ...]] = {
    "balanced": (10,) * 30,
    "long tail": tuple(max(1, int(120 / rank)) for rank in range(1, 61)),
    "singletons only": (1,) * 120,
    "one giant cluster": (280, *(1,) * 20),
    "one cluster": (200,),
}
RUNS = 300
DRAWN = 40  # items: some clusters are seen once, some are not seen


def coverage(sizes: tuple[int, ...], budget: int, runs: int, rates: GivenRates | None, error: float, grid: int = 1) -> int:
    """Return in how many runs the interval held the truth."""
    vectors, labels = blobs(sizes, noise=0.8)
    held = 0
    for seed in range(runs):
        one = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed, rates=rates, grid=grid)
        drive(one, LabelOracle(labels, error_rate=error, seed=seed), budget=budget)
        found = one.result()
        held += found.low <= len(sizes) <= found.high
    return held


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_on_collections_of_every_shape(shape: str) -> None:
    runs = 12
    assert coverage(SHAPES[shape], 150, runs, EXACT, 0.0) >= enough(runs, 0.95)


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_from_random_items_cover_in_300_runs(shape: str) -> None:
    """Without wrong answers the partition of the drawn items is exact, so a random sample stands for a whole run."""
    labels = np.repeat(np.arange(len(SHAPES[shape])), SHAPES[shape])
    found = Counter(
        tuple(sorted(np.unique(np.random.default_rng(seed).permutation(labels)[:DRAWN], return_counts=True)[1].tolist()))
        for seed in range(RUNS)
    )
    held = 0
    for counts, times in found.items():
        result = richness(np.array(counts), len(labels), 0.95)
        held += times * (result.low <= len(SHAPES[shape]) <= result.high)
    assert held >= enough(RUNS, 0.95)


@pytest.mark.parametrize("shape", ["balanced", "long tail"])
@pytest.mark.parametrize("grid", [1, 12])
def test_intervals_cover_with_wrong_answers_of_unknown_rate(shape: str, grid: int) -> None:
    runs = 15
    assert coverage(SHAPES[shape], 300, runs, None, 0.04, grid) >= enough(runs, 0.92)


def test_the_size_of_the_collection_does_not_matter_once_clusters_are_few() -> None:
    vectors, labels = blobs((1500,) * 8, noise=0.3)
    one = PlacingSampler(vectors, np.zeros(len(labels)))
    drive(one, LabelOracle(labels), budget=150)
    assert one.result().estimate == pytest.approx(8, abs=0.5)

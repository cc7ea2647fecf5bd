"""From counts of drawn items to the number of clusters: formulas against direct computation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom, gamma, lognorm, nbinom, norm, poisson

from cccount_dist.counting import mixture
from cccount_dist.counting.chao import chao_without_replacement
from cccount_dist.counting.mixture import Likelihood, mixture_posteriors, size_table
from cccount_dist.counting.richness import richness, split_cases, without_smallest
from tests.cccount_dist.samplers import enough

COUNTS = np.array([1, 1, 1, 1, 2, 2, 3, 5, 8])


def test_chao_is_the_formula_of_sampling_without_replacement() -> None:
    t, n, f1, f2 = 24, 200, 4, 2
    w, r = t / (t - 1), (t / n) / (1 - t / n)
    f0 = f1**2 / (2 * w * f2 + r * f1)
    variance = f0 + (2 * w * f2 * f0**2 + f1**2 * f0) ** 2 / f1**5 + 4 * w**2 * f2 * (f0 / f1) ** 4
    factor = math.exp(norm.ppf(0.975) * math.sqrt(math.log(1 + variance / f0**2)))
    assert chao_without_replacement(COUNTS, n, 0.95) == pytest.approx((9 + f0, 9 + f0 / factor, 9 + f0 * factor))


def test_chao_of_a_whole_collection_is_what_was_seen() -> None:
    assert chao_without_replacement(COUNTS, 24, 0.95) == (9.0, 9.0, 9.0)


def test_clusters_seen_once_beside_a_giant_one_may_be_single_items() -> None:
    counts = np.array([38, 1, 1])
    seen_once, share = 2, 40 / 300
    limit = next(mean for mean in np.arange(0.0, 20.0, 0.001) if poisson.cdf(seen_once, mean) <= 0.025)
    assert chao_without_replacement(counts, 300, 0.95)[2] == pytest.approx(3 + limit * (1 - share) / share, rel=1e-3)


def test_without_any_match_only_the_number_of_items_bounds_the_count() -> None:
    assert chao_without_replacement(np.ones(30, np.int64), 1000, 0.95)[2] == 1000.0


@pytest.mark.parametrize("false", [0, 3])
def test_the_likelihood_is_the_sum_over_all_sizes(false: int) -> None:
    items = 120  # every size is on the grid
    table = size_table(items)
    row = 7 * mixture.MEANS + 90  # log-normal, spread 0.75
    location = np.linspace(-1.0, np.log(items) + 0.5, mixture.MEANS)[90]
    sizes = np.arange(1, items + 1)
    upper = lognorm.cdf(np.append(sizes[:-1] + 0.5, np.inf), 0.75, scale=math.exp(location))
    chance = np.diff(upper, prepend=0.0)
    share = COUNTS.sum() / items
    clusters = items / (chance * sizes).sum()
    unseen = (chance * (1 - share) ** sizes).sum()
    lost = false / (COUNTS.sum() - len(COUNTS) + false)  # of the items that should have matched
    drawn = [(chance * binom.pmf(count, sizes, share)).sum() for count in range(items + 1)]
    shown = [sum(drawn[c] * binom.pmf(k - 1, c - 1, 1 - lost) for c in range(1, items + 1)) for k in range(1, 10)]
    founding = lost * sum((c - 1) * drawn[c] for c in range(1, items + 1))
    shown[0] += founding
    direct = len(COUNTS) * math.log(clusters) - clusters * (1 - unseen + founding)
    direct += sum(math.log(shown[count - 1]) for count in COUNTS)
    likelihood = Likelihood(table, COUNTS, items)
    assert likelihood.log(false)[row] == pytest.approx(direct, rel=1e-6)
    assert likelihood.unseen[row] == pytest.approx(clusters * unseen, rel=1e-6)


def test_large_counts_lose_as_if_a_smaller_share_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([1, 1, 2, 9, 14, 17, 25])
    fast = mixture_posteriors(counts, 1000, [(1.0, 3)])[0]
    monkeypatch.setattr(mixture, "_SMALL", 200)
    monkeypatch.setattr(mixture, "_FOLLOWED", 300)
    whole = mixture_posteriors(counts, 1000, [(1.0, 3)])[0]
    assert fast.estimate() == pytest.approx(whole.estimate(), rel=0.02)
    assert fast.quantile(0.975) == pytest.approx(whole.quantile(0.975), rel=0.05)


def test_sizes_are_found_again_behind_items_that_were_lost() -> None:
    random = np.random.default_rng(0)
    estimates = []
    for _ in range(40):  # 100 clusters of 30; 300 items are drawn, and a tenth of the matches is lost
        drawn = np.bincount(random.permutation(np.repeat(np.arange(100), 30))[:300])
        drawn = drawn[drawn > 0]
        lost = random.binomial(drawn - 1, 0.1)
        counts = np.concatenate([drawn - lost, np.ones(int(lost.sum()), np.int64)])
        estimates.append(richness(counts, 3000, 0.95, false_splits=20.0).estimate)
    assert np.mean(estimates) == pytest.approx(100.0, abs=4.0)


def test_quantiles_are_those_of_the_mixture_of_poisson_laws() -> None:
    posterior = mixture_posteriors(COUNTS, 120)[0]
    direct = np.zeros(121)
    for seen, mean, weight in zip(posterior.seen, posterior.mean, posterior.weight, strict=True):
        direct += weight * poisson.cdf(np.arange(121) - seen, mean)
    for probability in (0.025, 0.5, 0.975):
        expected = min(float(np.searchsorted(direct, probability)), posterior.most)
        assert posterior.quantile(probability) == expected


def test_the_estimate_has_the_smallest_expected_relative_error_if_small_numbers_are_likelier() -> None:
    posterior = mixture_posteriors(COUNTS, 120)[0]
    clusters = np.minimum(posterior.seen + posterior.mean, posterior.most)

    def expected_error(guess: float) -> float:
        return float((posterior.weight * np.abs(guess - clusters) / clusters**2).sum())

    best = min(np.linspace(9, 120, 2000), key=expected_error)
    assert expected_error(posterior.estimate()) <= expected_error(best) + 1e-4


@settings(max_examples=30, deadline=None)
@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=30),
    more=st.integers(0, 500),
    false=st.sampled_from([0.0, 0.5, 4.0]),
    one=st.booleans(),
)
def test_an_estimate_lies_in_its_interval_and_within_what_is_possible(
    counts: list[int], more: int, false: float, *, one: bool
) -> None:
    array = np.array(counts)
    items = int(array.sum()) + more
    if items < 2:
        return
    found = richness(array, items, 0.95, false_splits=false, one=one)
    assert 1.0 <= found.low <= found.estimate <= found.high <= len(counts) + more
    if false == 0.0:
        assert found.low >= len(counts)


def test_everything_drawn_is_everything_known() -> None:
    found = richness(COUNTS, 24, 0.95)
    assert (found.low, found.estimate, found.high) == (9.0, 9.0, 9.0)


def test_items_that_nobody_could_place_widen_the_interval_and_leave_the_estimate() -> None:
    plain, wide = richness(COUNTS, 300, 0.95), richness(COUNTS, 300, 0.95, unplaced=4)
    assert wide.estimate == plain.estimate
    assert wide.low <= plain.low
    assert wide.high > plain.high


def test_false_splits_lower_the_count() -> None:
    assert richness(COUNTS, 300, 0.95, false_splits=2.0).estimate < richness(COUNTS, 300, 0.95).estimate


def test_taking_back_splits_keeps_the_items() -> None:
    fewer = without_smallest(COUNTS, 3)
    assert len(fewer) == 6
    assert fewer.sum() == COUNTS.sum()
    assert sum(weight for weight, _ in split_cases(len(COUNTS), 1.5)) == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(st.floats(0.01, 5000.0), st.integers(1, 4000))
def test_false_splits_follow_the_negative_binomial(expected: float, seen: int) -> None:
    law = nbinom(4.0, 4.0 / (4.0 + expected))
    cases = split_cases(seen, expected)
    numbers = [number for _, number in cases]
    assert numbers[0] == min(law.ppf(0.01), seen - 1)
    assert numbers[-1] == min(law.ppf(0.99), seen - 1)
    edges = [-1.0, *((a + b) // 2 for a, b in itertools.pairwise(numbers)), math.inf]
    assert [weight for weight, _ in cases] == pytest.approx(np.diff(law.cdf(edges)).tolist(), abs=1e-12)


def test_the_gamma_half_of_the_sizes_is_a_gamma() -> None:
    table = size_table(50)
    first = len(mixture.SPREADS) * mixture.MEANS  # the log-normal half comes before
    spread, location = mixture.SPREADS[0], np.linspace(-1.0, np.log(50) + 0.5, mixture.MEANS)[0]
    shares = np.diff(gamma.cdf([*np.arange(1.5, 50.0), np.inf], 1 / spread**2, scale=np.exp(location) * spread**2), prepend=0.0)
    shares = (shares + 1e-14) / (shares + 1e-14).sum()
    assert table.weights[first] == pytest.approx(shares, abs=1e-12)


def drawn_from(sizes: tuple[int, ...], items: int, seed: int) -> NDArray[np.int64]:
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))[:items]
    return np.asarray(np.unique(labels, return_counts=True)[1])


@pytest.mark.parametrize(
    "sizes",
    [(10,) * 30, tuple(max(1, int(120 / rank)) for rank in range(1, 61)), (1,) * 120, (280, *(1,) * 20), (200,)],
    ids=["balanced", "long tail", "singletons only", "one giant cluster", "one cluster"],
)
def test_the_interval_of_one_posterior_covers_whatever_the_sizes(sizes: tuple[int, ...]) -> None:
    runs, held = 40, 0
    for seed in range(runs):
        found = richness(drawn_from(sizes, 40, seed), sum(sizes), 0.95, one=True)
        held += found.low <= len(sizes) <= found.high
    assert held >= enough(runs, 0.95)


def test_the_interval_of_one_posterior_is_narrower_where_sizes_are_equal() -> None:
    sizes, runs = (16,) * 100, 24
    both = [[richness(drawn_from(sizes, 100, seed), 1600, 0.95, one=one) for one in (False, True)] for seed in range(runs)]
    widths = np.array([[found.high - found.low for found in pair] for pair in both])
    assert np.median(widths[:, 1]) < 0.9 * np.median(widths[:, 0])
    assert sum(one.low <= 100 <= one.high for _, one in both) >= enough(runs, 0.95)
    assert all(one.estimate == pytest.approx(widest.estimate) for widest, one in both if one.low <= widest.estimate <= one.high)


def test_one_posterior_says_what_each_belief_about_sizes_would_give() -> None:
    found = richness(COUNTS, 300, 0.95, one=True)
    widths = [high - low for _, low, high in found.beliefs.values()]
    assert list(found.beliefs) == ["if_equal", "if_unequal", "if_very_unequal"]
    assert widths == sorted(widths)
    assert found.details["if_equal_low"] == found.beliefs["if_equal"][1]
    assert richness(COUNTS, 300, 0.95).beliefs == {}


def test_the_interval_of_one_posterior_holds_at_least_its_level_of_it() -> None:
    found, (beliefs, _) = richness(COUNTS, 300, 0.95, one=True), mixture.believed(COUNTS, 300)
    assert beliefs.any.cumulative(found.high) - beliefs.any.cumulative(found.low - 1) >= 0.95
    assert found.stop[0] <= found.low
    assert found.stop[1] >= found.high

"""The parts of active spectral clustering against slow references: Laplacian, spectrum, scores, ratings, groups."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.spectral import spectrum as engine
from cccount_dist.clustering.spectral.assigning import mostly_near_0, place
from cccount_dist.clustering.spectral.graph import DENSE, RatedGraph
from cccount_dist.clustering.spectral.randompairs import connecting_pair, generator, random_pair
from cccount_dist.clustering.spectral.ratings import UNKNOWN, Ratings
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import Spectrum, spectrum, with_signs
from tests.cccount_dist.clustering.spectral_reference import (
    Floats,
    best_score,
    changes,
    graph_of,
    laplacian,
    random_weights,
)

PAIRS = list(combinations(range(6), 2))
WEIGHTS = st.lists(st.tuples(st.sampled_from(PAIRS), st.sampled_from([0.0, 0.1, 0.25, 1.0])), max_size=30)


@given(WEIGHTS)
@settings(max_examples=100, deadline=None)
def test_the_laplacian_that_is_changed_in_place_equals_one_made_anew(steps: list[tuple[tuple[int, int], float]]) -> None:
    graph, weight = RatedGraph(6), np.zeros((6, 6))
    for (u, v), value in steps:
        if not graph.has(u, v):
            graph.add(np.array([u]), np.array([v]))
        graph.set(u, v, value, 0.0)
        weight[u, v] = weight[v, u] = value
        assert graph.dense()[v, u] == -value
    np.testing.assert_array_equal(graph.laplacian().toarray(), graph.dense())
    np.testing.assert_allclose(graph.dense(), laplacian(weight), atol=1e-15)
    np.testing.assert_allclose(graph.dense().sum(axis=1), 0.0, atol=1e-15)
    assert graph.components()[0] == len(np.unique(graph.components()[1]))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("clusters", [2, 3])
def test_scores_by_one_solve_equal_the_explicit_sum(seed: int, clusters: int) -> None:
    items = 9 + seed
    weight = random_weights(seed, items, groups=clusters)
    graph, expected = graph_of(weight), changes(weight, clusters)
    found = spectrum(graph, clusters)
    assert found is not None
    vectors = np.linalg.eigh(laplacian(weight))[1][:, 1:clusters]
    flips = np.sign((vectors * found.block).sum(axis=0))
    for item in range(items):
        solved = sensitivity(graph, found, item)
        assert solved is not None
        differences = (found.block[:, None] - found.block) * (solved[:, None] - solved)
        np.testing.assert_allclose(differences * flips, expected[:, :, item], rtol=1e-8, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_the_derivative_of_the_second_eigenvector(seed: int) -> None:
    weight = random_weights(seed, 12)
    graph, step = graph_of(weight), 1e-6
    found = spectrum(graph, 2)
    assert found is not None
    item = int(np.abs(found.block[:, 0]).argmin())
    solved = sensitivity(graph, found, item)
    assert solved is not None
    moved: list[Floats] = []
    i, j = 2, 9
    for sign in (1.0, -1.0):
        other = weight.copy()
        other[i, j] = other[j, i] = other[i, j] + sign * step
        vector = np.linalg.eigh(laplacian(other))[1][:, 1]
        moved.append(vector * np.sign(vector @ found.block[:, 0]))
    by_formula = (found.block[i, 0] - found.block[j, 0]) * (solved[i, 0] - solved[j, 0])
    assert (moved[0] - moved[1])[item] / (2 * step) == pytest.approx(by_formula, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_s_and_t_scores_are_the_length_of_the_change_and_never_below_those_of_one_item(seed: int) -> None:
    weight = random_weights(seed, 11)
    expected = changes(weight)
    lengths = all_changes(graph_of(weight))
    np.testing.assert_allclose(lengths, np.sqrt(np.square(expected[..., 0]).sum(axis=2)), rtol=1e-8, atol=1e-10)
    assert np.all(lengths[..., None] + 1e-9 >= np.abs(expected[..., 0]))
    closed = graph_of(weight)  # deviation 0: no measured pair may be asked again
    u, v = best_of_matrix(closed, lengths.copy()) or (0, 0)
    assert not closed.has(u, v)
    assert lengths[u, v] >= max(lengths[p] for p in combinations(range(11), 2) if not closed.has(*p)) * (1 - 2e-6)


@given(st.integers(0, 10_000), st.integers(3, 14), st.integers(1, 3), st.sampled_from([0.0, 0.1, 0.5]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_scan_finds_the_pair_that_looking_at_all_finds(
    seed: int, items: int, width: int, deviation: float, tied: bool
) -> None:
    random = np.random.default_rng(seed)
    graph = graph_of(random_weights(seed, items, density=random.random()), deviation)
    places, solved = random.standard_normal((items, width)), random.standard_normal((items, width)) ** 3
    if tied:
        places, solved = np.round(places), np.round(solved)
    best, scores = best_score(graph, places, solved)
    ties = [pair for pair, score in scores.items() if score > 0.0 and score >= best * (1 - 1e-6)]
    assert best_pair(graph, places, solved) == (min(ties) if ties else None)


@pytest.mark.parametrize(("low", "share_within", "near_0"), [(0.3, 0.5, False), (0.0, 0.3, True), (0.3, 0.3, False)])
def test_zeros_stand_for_what_is_missing_only_where_most_ratings_are_near_0(
    low: float, share_within: float, near_0: bool
) -> None:
    random = np.random.default_rng(0)
    weight = np.where(np.triu(random.random((20, 20)), 1) > 1.0 - share_within, 0.9, low + 0.01) + 0.0
    weight = np.triu(weight, 1)
    assert mostly_near_0(graph_of(weight + weight.T)) is near_0


def thick_path(items: int) -> Floats:
    """A graph on which Lanczos has a hard time: its eigenvalues are close to each other and to 0."""
    weight = np.zeros((items, items))
    for step in (1, 2):
        weight[np.arange(items - step), np.arange(step, items)] = 1.0
    return weight + weight.T


@pytest.mark.parametrize("kind", ["tree", "dense", "thick path"])
def test_the_sparse_engine_agrees_with_lapack(kind: str) -> None:
    items = DENSE + 40
    density = 0.0 if kind == "tree" else 0.06
    weight = thick_path(items) if kind == "thick path" else random_weights(1, items, density)
    graph = graph_of(weight)
    values, vectors = np.linalg.eigh(laplacian(weight))
    cold = spectrum(graph, 2)
    assert cold is not None
    warm = spectrum(graph, 2, cold.vectors)
    assert warm is not None
    for found in (cold, warm):
        np.testing.assert_allclose(found.values, values[1:3], rtol=1e-8)
        np.testing.assert_allclose(found.block, with_signs(vectors[:, 1:2]), atol=1e-6)
    item = int(np.abs(vectors[:, 1]).argmin())
    scaled = vectors[:, 2:] / (values[1] - values[2:])
    expected = scaled @ vectors[item, 2:]
    solved = sensitivity(graph, cold, item)
    assert solved is not None
    np.testing.assert_allclose(solved[:, 0], expected, atol=1e-5 * np.abs(expected).max())


def test_eigenvectors_with_a_large_residual_are_thrown_away_and_found_densely(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = random_weights(2, DENSE + 10, 0.05)
    values, vectors = np.linalg.eigh(laplacian(weight))
    wrong = Spectrum(values[1:3], with_signs(vectors[:, 3:5]))
    monkeypatch.setattr(engine, "_lanczos", lambda *_: wrong)
    found = spectrum(graph_of(weight), 2)
    assert found is not None
    np.testing.assert_allclose(np.abs(found.block[:, 0] @ vectors[:, 1]), 1.0, rtol=1e-9)
    monkeypatch.setattr(engine, "MOST_DENSE", DENSE)
    assert spectrum(graph_of(weight), 2) is None  # nothing is made up where it is too large to be dense


@pytest.mark.parametrize("clusters", [2, 3])
def test_the_sign_of_an_eigenvector_changes_no_choice(clusters: int) -> None:
    graph = graph_of(random_weights(7, 15, groups=clusters))
    found = spectrum(graph, clusters)
    assert found is not None
    flipped = Spectrum(found.values, found.vectors * np.where(np.arange(clusters) % 2 == 0, -1.0, 1.0))
    chosen = []
    for one in (found, flipped):
        placing = place(one.block, None)
        item = placing.least_sure(set())
        assert item is not None
        changes_of_item = sensitivity(graph, one, item)
        assert changes_of_item is not None
        chosen.append((item, best_pair(graph, one.block * placing.toward(item), changes_of_item)))
    assert chosen[0] == chosen[1]


def test_a_multiple_eigenvalue_is_seen_and_never_divided_by() -> None:
    star = np.zeros((7, 7))
    star[0, 1:] = star[1:, 0] = 1.0  # λ2 = … = λ6 = 1
    found = spectrum(graph_of(star), 2)
    assert found is not None
    assert not found.is_determined
    apart = random_weights(0, 8)
    assert (spectrum(graph_of(apart), 2) or found).is_determined


def test_signs_are_fixed_by_the_largest_entry() -> None:
    vectors = np.array([[0.1, 0.5], [-0.9, -0.5], [0.2, 0.1]])
    fixed = with_signs(vectors)
    np.testing.assert_array_equal(fixed, [[-0.1, 0.5], [0.9, -0.5], [-0.2, 0.1]])
    np.testing.assert_array_equal(with_signs(-vectors), fixed)


def test_groups_and_margins_of_more_than_two_are_those_of_the_nearest_centres() -> None:
    random = np.random.default_rng(0)
    truth = np.arange(60) % 3
    block = np.array([[0.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])[truth] + 0.2 * random.standard_normal((60, 2))
    found = place(block, None)
    assert ari(truth, found.labels) == 1.0
    assert np.all(found.margin > 0.0)
    again = place(block, found.labels)
    np.testing.assert_array_equal(found.labels, again.labels)
    item = int(found.margin.argmin())
    assert found.least_sure(set()) == item
    assert found.least_sure({item}) != item
    crossed = block.copy()
    crossed[item] -= 1.01 * found.margin[item] * found.toward(item)
    centres = np.array([block[found.labels == group].mean(axis=0) for group in range(3)])
    nearest = np.square(crossed[item] - centres).sum(axis=1).argmin()
    assert nearest != found.labels[item]


def test_graded_ratings_are_estimated_by_their_median_and_spread() -> None:
    ratings = Ratings(floor=0.01)
    ratings.put((0, 1), 0, 0.5)
    once, deviation = ratings.estimate((0, 1))
    assert once == pytest.approx(0.01 + 0.99 * 0.5)
    assert deviation < UNKNOWN
    ratings.put((0, 1), 1, 0.6)
    ratings.put((0, 1), 2, 0.9)
    thrice, smaller = ratings.estimate((0, 1))
    assert thrice == pytest.approx(0.01 + 0.99 * 0.6)
    assert smaller < deviation
    ratings.put((0, 1), 2, None)  # taken back: the mean of the two that are left
    assert ratings.estimate((0, 1))[0] == pytest.approx(0.01 + 0.99 * 0.55)


def test_yes_and_no_are_weighed_by_a_beta_posterior_and_a_different_still_connects() -> None:
    ratings = Ratings(floor=0.01)
    for question, value in enumerate((1.0, 1.0, 0.0)):
        ratings.put((0, 1), question, value)
    ratings.put((2, 3), 3, 0.0)
    ratings.put((4, 5), 4, 1.0)
    mixed, different, same = (ratings.estimate(pair)[0] for pair in ((0, 1), (2, 3), (4, 5)))
    assert 0.0 < different < 0.5 < mixed < same < 1.0
    assert ratings.estimate((0, 1))[1] > 0.0


def test_the_noise_is_learnt_from_repeats() -> None:
    random = np.random.default_rng(0)
    exact, noisy = Ratings(0.01), Ratings(0.01)
    for pair in range(40):
        for repeat in range(2):
            exact.put((pair, 99), 2 * pair + repeat, 0.3)
            noisy.put((pair, 99), 2 * pair + repeat, float(np.clip(random.normal(0.5, 0.1), 0.01, 0.99)))
    assert exact.estimate((0, 99))[1] < 0.05
    # Learnt at 32 repeats: deviation of a deviation about 0.1 / √(2 · 32) = 0.0125; three of them, and the prior's pull upward.
    assert abs(noisy.estimate((0, 99))[1] * np.sqrt(2) - 0.1) < 0.05


def test_estimates_converge_to_what_is_rated() -> None:
    random = np.random.default_rng(1)
    errors = []
    for count in (1, 4, 16, 64, 256):
        ratings = Ratings(0.01)
        for question in range(count):
            ratings.put((0, 1), question, float(np.clip(random.normal(0.4, 0.1), 0.0, 1.0)))
        weight, deviation = ratings.estimate((0, 1))
        error = abs(weight - (0.01 + 0.99 * 0.4))
        assert error < 5 * 1.2533 * 0.1 / np.sqrt(count)  # the median's deviation is √(π/2) times the mean's
        errors.append((error, deviation))
    assert errors[-1][1] < errors[0][1] / 8


def test_random_pairs_are_even_and_never_asked_twice() -> None:
    asked: set[tuple[int, int]] = set()
    for number in range(28):
        pair = random_pair(8, asked, generator(0, number))
        assert pair is not None
        assert pair not in asked
        asked.add(pair)
    assert random_pair(8, asked, generator(0, 28)) is None
    first = [random_pair(5, set(), generator(seed, 0)) for seed in range(2000)]
    counts = np.array([first.count(pair) for pair in combinations(range(5), 2)])
    assert np.all(np.abs(counts - 200) < 5 * np.sqrt(200 * 0.9))


def test_connecting_pairs_lie_between_parts_and_are_even() -> None:
    part = np.array([0, 0, 0, 1, 2], np.int32)
    across = [pair for pair in combinations(range(5), 2) if part[pair[0]] != part[pair[1]]]
    found = [connecting_pair(part, {(0, 3)}, generator(seed, 0)) for seed in range(1200)]
    counts = np.array([found.count(pair) for pair in across if pair != (0, 3)])
    assert counts.sum() == 1200
    assert np.all(np.abs(counts - 200) < 5 * np.sqrt(200 * 5 / 6))

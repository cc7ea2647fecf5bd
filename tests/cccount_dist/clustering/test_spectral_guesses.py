"""Guesses for pairs that nobody rated: both fits against slow references, how they are mixed, and the graph that holds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import dijkstra

from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.filled import filled, share_of_places
from cccount_dist.clustering.spectral.graph import DENSE, Rated
from cccount_dist.clustering.spectral.lowrank import low_rank
from cccount_dist.clustering.spectral.shepard import Places, first_places, misfit, places
from cccount_dist.clustering.spectral.spectrum import spectrum
from tests.cccount_dist.clustering.spectral_reference import (
    Floats,
    classical_scaling,
    graph_of,
    guessed,
    kernel_of_places,
    laplacian,
    random_weights,
    some_of,
    squared_misfit,
)


def rated(weight: Floats) -> Rated:
    return graph_of(weight).rated()


def off_by(found: Floats, wanted: Floats, weight: Floats) -> float:
    """The root of the mean squared error of guesses for pairs without a rating."""
    unrated = (weight == 0.0) & ~np.eye(len(weight), dtype=np.bool_)
    return float(np.sqrt(np.square(found - wanted)[unrated].mean()))


def all_guesses(fitted: Places) -> Floats:
    first, second = np.indices((len(fitted.h), len(fitted.h)))
    return fitted.at(first.ravel(), second.ravel()).reshape(first.shape)


@pytest.mark.parametrize("seed", range(3))
def test_low_rank_is_fitted_by_ridge_regressions_in_turn(seed: int) -> None:
    weight = random_weights(seed, 14)
    found = low_rank(rated(weight), 3)
    first, second = np.triu_indices(14, 1)
    np.testing.assert_allclose(found.at(first, second), guessed(weight, 3)[first, second], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_the_last_digits_of_ratings_that_form_a_tree_do_not_choose_among_eigenvalues(seed: int) -> None:
    """Those of a tree are x and -x in pairs, and a rank that is odd cuts one. Another processor changes the last digits."""
    random, weight = np.random.default_rng(seed), np.zeros((30, 30))
    for item in range(1, 30):
        other = random.integers(item)
        weight[item, other] = weight[other, item] = 0.2 + 0.7 * random.random()
    exact = low_rank(rated(weight), 3)
    assert np.count_nonzero(exact.signs < 0.0) == 2
    pairs = np.triu_indices(30, 1)
    for _ in range(5):
        noise = 1e-14 * random.standard_normal(weight.shape)
        found = low_rank(rated(weight * (1.0 + noise + noise.T)), 3)
        np.testing.assert_allclose(found.at(*pairs), exact.at(*pairs), atol=1e-9)


@given(st.integers(0, 10_000), st.integers(3, 9), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_the_misfit_of_places_and_its_gradient_are_the_slow_ones(seed: int, items: int, dimensions: int) -> None:
    random, weight = np.random.default_rng(seed), random_weights(seed, items)
    x, h = random.standard_normal((items, dimensions)), 0.3 * random.standard_normal(items)
    z = np.concatenate([x.ravel(), h])
    value, gradient = misfit(z, rated(weight), dimensions)
    assert value == pytest.approx(squared_misfit(x, h, weight), rel=1e-10)
    for at, step in enumerate(1e-6 * np.eye(len(z))):
        rise = misfit(z + step, rated(weight), dimensions)[0] - misfit(z - step, rated(weight), dimensions)[0]
        assert gradient[at] == pytest.approx(rise / 2e-6, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_places_start_at_the_classical_scaling_of_shortest_paths(seed: int) -> None:
    weight = random_weights(seed, 20)
    far = dijkstra(np.where(weight > 0.0, np.sqrt(-np.log(np.clip(weight, 0.02, 0.98))), 0.0), directed=False)
    found, expected = first_places(rated(weight), 3), classical_scaling(far, 3)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_landmarks_of_a_flat_map_say_where_all_items_are() -> None:
    points = np.random.default_rng(0).random((260, 2))
    far = np.sqrt(np.square(points[:, None] - points).sum(axis=2))
    found = first_places(rated(np.triu(np.exp(-np.square(0.15 + far)), 1)), 2)  # every path is longer than the direct way
    again = np.sqrt(np.square(found[:, None] - found).sum(axis=2))
    assert np.corrcoef(again.ravel(), far.ravel())[0, 1] > 0.97


def test_no_places_nearby_fit_better() -> None:
    weight = some_of(kernel_of_places(1, 30)[0], 1, 0.5)
    found = places(rated(weight), 4)
    best = squared_misfit(found.x, found.h, weight)
    random = np.random.default_rng(0)
    for _ in range(20):
        x, h = (one + 0.02 * random.standard_normal(one.shape) for one in (found.x, found.h))
        assert squared_misfit(x, h, weight) > best


def test_places_come_nearer_than_low_rank_where_similarity_falls_off_with_distance() -> None:
    similarity, _ = kernel_of_places(0, 60)
    weight = some_of(similarity, 0, 0.3)
    found = places(rated(weight), 8)
    flat = low_rank(rated(weight), 3)
    first, second = np.indices(similarity.shape)
    by_rank = flat.at(first.ravel(), second.ravel()).reshape(similarity.shape)
    assert off_by(all_guesses(found), similarity, weight) < 0.5 * off_by(by_rank, similarity, weight)
    assert share_of_places(rated(weight), 2) > 0.7


def test_noise_leaves_the_guess_to_low_rank() -> None:
    similarity, _ = kernel_of_places(0, 60)
    noisy = np.clip(similarity + 0.25 * np.random.default_rng(1).standard_normal(similarity.shape), 0.001, 1.0)
    assert share_of_places(rated(some_of(np.triu(noisy, 1) + np.triu(noisy, 1).T, 0, 0.2)), 2) == 0.0


def test_the_factors_of_places_are_their_guesses() -> None:
    found = places(rated(some_of(kernel_of_places(2, 50)[0], 2, 0.4)), 8)
    factors = found.factors()
    assert factors.shape[1] <= 50
    np.testing.assert_allclose(factors @ factors.T, all_guesses(found), atol=2e-4)


@pytest.mark.parametrize("kind", ["low rank", "both"])
def test_pairs_that_nobody_rated_have_the_weight_that_is_guessed(kind: str) -> None:
    weight = random_weights(0, 14) if kind == "low rank" else some_of(kernel_of_places(0, 40)[0], 0, 0.4)
    items, share = len(weight), share_of_places(rated(weight), 2)
    assert (share > 0.5) == (kind == "both")
    guesses = (1.0 - share) * guessed(weight, 3) + share * all_guesses(places(rated(weight), 8))
    expected = np.where(weight > 0.0, weight, guesses)
    np.fill_diagonal(expected, 0.0)
    values, vectors = np.linalg.eigh(laplacian(expected))
    graph = filled(graph_of(weight), 2)
    found = spectrum(graph, 3)
    assert found is not None
    mean = (1.0 - share) * weight[weight > 0.0].mean()  # it adds the same to every eigenvalue, and is left out
    np.testing.assert_allclose(found.values + items * mean, values[1:4], rtol=1e-3)
    np.testing.assert_allclose(np.abs((found.vectors * vectors[:, 1:4]).sum(axis=0)), 1.0, rtol=1e-3)
    np.testing.assert_allclose(graph.operator()(vectors), graph.dense() @ vectors, atol=1e-11)


@pytest.mark.parametrize("seed", range(2))
def test_what_all_pairs_say_is_not_changed_by_guesses(seed: int) -> None:
    weight = random_weights(4, 12, density=1.0) if seed else np.triu(kernel_of_places(4, 24)[0], 1)
    weight = np.maximum(weight, weight.T)
    found, plain = spectrum(filled(graph_of(weight), 2), 2), spectrum(graph_of(weight), 2)
    assert found is not None
    assert plain is not None
    np.testing.assert_allclose(found.block, plain.block, atol=1e-9)


@pytest.mark.parametrize("kind", ["low rank", "both"])
def test_a_filled_graph_of_many_items_has_the_spectrum_that_lapack_finds(kind: str) -> None:
    items = DENSE + 20
    weight = random_weights(5, items, 0.05) if kind == "low rank" else some_of(kernel_of_places(5, items)[0], 5, 0.06)
    graph = filled(graph_of(weight), 2)
    assert (graph.factors.shape[1] > 3) == (kind == "both")
    sparse = spectrum(graph, 2)
    assert sparse is not None
    np.testing.assert_allclose(sparse.values, np.linalg.eigvalsh(graph.dense() + graph.bound() / graph.items)[:2], rtol=1e-7)
    assert np.abs(np.linalg.eigvalsh(graph.dense())).max() <= graph.bound()


def test_guesses_find_groups_that_zeros_do_not() -> None:
    random = np.random.default_rng(3)
    truth = np.arange(60) % 2
    weight = np.where(truth[:, None] == truth, 0.7, 0.4) + 0.1 * random.random((60, 60))
    weight *= random.random((60, 60)) < 0.12
    graph = graph_of(np.triu(weight, 1) + np.triu(weight, 1).T)
    by_zeros, by_guesses = spectrum(graph, 2), spectrum(filled(graph, 2), 2)
    assert by_zeros is not None
    assert by_guesses is not None
    assert ari(truth, place(by_zeros.block, None).labels) < 0.3
    assert ari(truth, place(by_guesses.block, None).labels) > 0.9


@pytest.mark.parametrize("value", [0.5, 1.0, 1e-4])
def test_equal_ratings_and_few_of_them_give_guesses_without_a_warning(value: float) -> None:
    path = np.zeros((8, 8))
    path[np.arange(7), np.arange(1, 8)] = value
    graph = filled(graph_of(path), 2)
    assert np.isfinite(graph.dense()).all()
    assert share_of_places(rated(path[:3, :3]), 2) >= 0.0


def test_the_same_ratings_give_the_same_guesses_bit_for_bit() -> None:
    weight = some_of(kernel_of_places(3, 40)[0], 3, 0.4)
    one, other = (filled(graph_of(weight), 2) for _ in range(2))
    np.testing.assert_array_equal(one.factors, other.factors)
    np.testing.assert_array_equal(one.values, other.values)

"""The map of a collection: against a slow obvious reference, on collections with known classes, and on odd ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from cccount_dist import ClusterCounter, PairwiseClusterer, Subclusterer
from cccount_dist.embedding import fitting
from cccount_dist.embedding.fitting import (
    components_for,
    components_of_moments,
    components_of_rows,
    fit_in_memory,
    judge,
    mapped,
    moments_of,
    shrinkage_for,
)
from cccount_dist.embedding.projection import Whitening
from storage.errors import InputError

Rows = NDArray[np.float32]


def individuals(classes: int, each: int, dimensions: int, seed: int = 0) -> tuple[Rows, NDArray[np.int64]]:
    """Classes that differ a little in every direction, and pictures that differ a lot in a few: pose and light."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(classes), each)
    pose = rng.normal(size=(len(labels), 6)) @ rng.normal(size=(6, dimensions)) * 1.2
    found = rng.normal(size=(classes, dimensions))[labels] + pose + 0.5 * rng.normal(size=(len(labels), dimensions)) + 3
    return found.astype(np.float32), labels


def unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def nearest(rows: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    similarity = rows @ rows.T
    np.fill_diagonal(similarity, -9)
    return np.argsort(-similarity, axis=1, kind="stable")[:, :k]


def reference(x: Rows, k: int, shrink: float) -> NDArray[np.float64]:
    """Rule 2 of the notes in float64, one line for each sentence of it; similarities do not depend on the root that is taken."""
    centred = x.astype(np.float64) - x.mean(axis=0, dtype=np.float64)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    p = unit(u[:, :k] * s[:k])
    space = p
    for _ in range(2):
        near = nearest(space, 5)
        pairs = [(i, j) for i in range(len(x)) for j in near[i] if i < j and i in near[j]]
        apart = np.array([p[i] - p[j] for i, j in pairs])
        scatter = apart.T @ apart / (2 * len(pairs))
        scatter += shrink * np.trace(scatter) / k * np.eye(k)
        values, vectors = np.linalg.eigh(scatter)
        space = unit((p - p.mean(axis=0)) @ (vectors / np.sqrt(values)) @ vectors.T)
    return np.asarray(space)


def separation(rows: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    similarity, same = unit(rows) @ unit(rows).T, labels[:, None] == labels
    others = ~np.eye(len(labels), dtype=bool)
    a, b = similarity[same & others], similarity[~same]
    return float((a.mean() - b.mean()) / np.sqrt((a.var() + b.var()) / 2))


@pytest.mark.parametrize(("items", "dimensions"), [(40, 300), (30, 40)])  # fewer and more items than dimensions
def test_similarities_in_the_map_are_those_of_the_slow_reference(items: int, dimensions: int) -> None:
    x, _ = individuals(items, 5, dimensions)
    found = fit_in_memory(x)
    assert found is not None
    rows = found[0].apply(x).astype(np.float64)
    expected = reference(x, components_for(len(x), dimensions), shrinkage_for(len(x)))
    np.testing.assert_allclose(rows @ rows.T, expected @ expected.T, atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_individuals_are_further_apart_in_the_map() -> None:
    x, labels = individuals(60, 8, 256)
    assert separation(mapped(x, "auto"), labels) > 1.3 * separation(x - x.mean(axis=0), labels)
    np.testing.assert_array_equal(mapped(x, "none"), x)


@given(st.integers(2, 60), st.integers(3, 40), st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_components_of_moments_and_of_rows_span_the_same_space(items: int, dimensions: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(items, dimensions)).astype(np.float32)
    k = max(1, min(items - 1, dimensions) // 2)
    one, other = components_of_moments([moments_of([x[:7], x[7:]])], k), components_of_rows(x, k)
    assert one is not None
    assert other is not None
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)
    spans = [basis.astype(np.float64) @ basis.T.astype(np.float64) for basis in (one.basis, other.basis)]
    energy = [float(np.square((x - one.mean) @ basis).sum()) for basis in (one.basis, other.basis)]
    assert energy[0] == pytest.approx(energy[1], rel=1e-3)
    np.testing.assert_allclose([np.trace(span) for span in spans], k, atol=1e-3)


def test_rows_without_a_vector_stay_so_and_change_nothing_for_the_others() -> None:
    x, _ = individuals(20, 6, 40)
    holes = np.insert(x, [5, 80], np.nan, axis=0)
    found, whole = moments_of([holes]), moments_of([x])
    assert found.count == whole.count == 120
    np.testing.assert_allclose(found.squares, whole.squares, rtol=1e-5)
    fitted = fit_in_memory(x)
    assert fitted is not None
    assert np.isnan(fitted[0].apply(holes)[[5, 81]]).all()


def test_equal_vectors_have_no_map_and_repeated_ones_have_fewer_directions() -> None:
    assert fit_in_memory(np.ones((200, 30), np.float32)) is None
    assert fit_in_memory(np.ones((20, 30), np.float32)) is None
    np.testing.assert_array_equal(mapped(np.ones((200, 30), np.float32), "auto"), 1)
    x = np.repeat(np.random.default_rng(0).normal(size=(3, 50)), 10, axis=0).astype(np.float32)
    found = fit_in_memory(x)
    assert found is not None
    rows = found[0].apply(x)
    assert rows.shape == (30, 2)
    similarity = rows @ rows.T
    np.testing.assert_allclose(similarity[:10, :10], 1, atol=1e-5)  # copies are still copies
    assert similarity[0, 10:].max() < 0.9


@pytest.mark.parametrize("items", [2, 3, 4, 7])
def test_the_smallest_collections_have_a_map_too(items: int) -> None:
    x = np.random.default_rng(items).normal(size=(items, 20)).astype(np.float32)
    found = fit_in_memory(x)
    assert found is not None
    assert np.isfinite(found[0].apply(x)).all()


def test_auto_makes_no_map_where_it_would_tell_nothing() -> None:
    for shape in ((95, 64), (500, 15)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        assert mapped(x, "auto") is x
    with pytest.raises(InputError, match="there is no map 'often': use auto or none"):
        mapped(np.ones((2, 2), np.float32), "often")


def test_the_judgement_rests_on_items_that_the_map_was_not_fitted_to(monkeypatch: pytest.MonkeyPatch) -> None:
    x, _ = individuals(60, 8, 128)
    judged = judge(unit(x - x.mean(axis=0)).astype(np.float32))
    assert judged is not None
    assert judged.helps
    assert judge(x[:10]) is None
    # A map that crushes all directions but one makes neighbours of strangers: it must be seen.
    crush = np.zeros((128, 128), np.float32)
    crush[0, 0] = 1
    monkeypatch.setattr(fitting, "whiten", lambda rows, _: Whitening(np.zeros(rows.shape[1], np.float32), crush))
    worse = judge(unit(x - x.mean(axis=0)).astype(np.float32))
    assert worse is not None
    assert not worse.helps


def test_the_classes_in_memory_group_by_the_map_when_asked_to() -> None:
    x, labels = individuals(16, 8, 64)

    def right(wanted: str) -> float:
        model = PairwiseClusterer(budget=25, map=wanted).fit(x, oracle=lambda u, v: bool(labels[u] == labels[v]))
        assert model.n_features_in_ == 64
        return float(adjusted_rand_score(labels, model.labels_))

    assert right("auto") > right("none") + 0.2
    counter = ClusterCounter(budget=150, map="auto").fit(x, oracle=lambda u, v: bool(labels[u] == labels[v]))
    assert counter.interval_[0] <= 16 <= counter.interval_[1]


def test_subclusters_in_memory_are_purer_in_the_map() -> None:
    x, labels = individuals(16, 8, 64)

    def alike(wanted: str) -> float:
        found = Subclusterer(16, size=4, budget=0, map=wanted).fit(x).subclusters_
        return float(np.mean([labels[other] == labels[row[0]] for row in found for other in row[1:] if other >= 0]))

    assert alike("auto") > alike("none") + 0.2
    with pytest.raises(InputError, match="there is no map 'always'"):
        Subclusterer(16, map="always", budget=0).fit(x)

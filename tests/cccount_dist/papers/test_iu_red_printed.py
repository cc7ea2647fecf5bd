"""`iu-red --preset paper` and its kin against algorithms 1 and 2 of the paper: W = I, full eigenvectors, equation 7 as a sum."""

import math
from itertools import combinations
from statistics import fmean, median

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.methods import grouping_method, make_grouper, without_vectors
from cccount_dist.clustering.result import Grouping
from cccount_dist.clustering.spectral.parameters import SpectralParameters, read_pairs
from cccount_dist.clustering.spectral.randompairs import generator, random_pair
from cccount_dist.sampling.methods import PAPER
from cccount_dist.sampling.types import Answer, Sampler
from storage.errors import InputError
from storage.settings import Scalar

Floats = NDArray[np.float64]
Pairs = list[tuple[int, int]]
SEED = 7
WAYS = [
    ("iu-red-pure", "iu-red", False), ("iu-red", "iu-red", True),
    ("s-and-t-pure", "s-and-t", False), ("s-and-t", "s-and-t", True),
]  # fmt: skip
NOTHING = 1e-9  # a change that is rounding


def similarities(name: str) -> Floats:
    """Two groups; with `ties` many similarities are equal, and some are 0."""
    random = np.random.default_rng(3)
    group = np.arange(9) % 2
    near = group[:, None] == group
    w = np.where(near, 0.7, 0.2) + 0.2 * random.random((9, 9)) if name == "plain" else np.where(near, 1.0, 0.0)
    if name == "ties":
        w[0, 1] = w[1, 0] = w[2, 5] = w[5, 2] = 0.5
    w = (w + w.T) / 2
    np.fill_diagonal(w, 1.0)
    return np.asarray(w)


def algorithm(w: Floats, rule: str, steps: int, *, interleaved: bool, without: Pairs = (), each: int = 1) -> tuple[Pairs, Floats]:  # type: ignore[assignment]
    """Return the pairs in the order in which they are measured, and the matrix that is known then.

    It ends where what is left changes nothing, so that any order is right.
    """
    n = len(w)
    left = [pair for pair in combinations(range(n), 2) if pair not in without]
    known = np.eye(n)
    asked: Pairs = []
    while left and len(asked) < steps:
        laplacian = np.diag(known.sum(axis=1)) - known
        values, vectors = np.linalg.eigh(laplacian)
        simple = values[1] > 1e-9 and values[2] - values[1] > 1e-8 * values[2]
        if not simple or (interleaved and len(asked) % 2):  # equation 7 holds where λ2 is simple
            pair = random_pair(n, {*asked, *without}, generator(SEED, each * len(asked)))
            assert pair is not None
        else:
            v2 = vectors[:, 1]
            least = int(np.argmax(np.abs(v2) <= np.abs(v2).min() + 1e-9 * np.abs(v2).max()))  # kmin
            scores = {}
            for i, j in left:
                step = np.zeros(n)
                for p in range(2, n):
                    step += (v2[i] - v2[j]) * (vectors[i, p] - vectors[j, p]) / (values[1] - values[p]) * vectors[:, p]
                scores[i, j] = abs(step[least]) if rule == "iu-red" else float(np.linalg.norm(step))
            best = max(scores.values())
            if best < NOTHING:
                break
            pair = min(one for one, score in scores.items() if score >= best * (1 - 1e-6))
        left.remove(pair)
        asked.append(pair)
        known[pair] = known[pair[::-1]] = w[pair]
    return asked, known


Told = dict[tuple[int, int], list[float]]


def three_ratings(w: Floats, noise: float) -> Told:
    """What three people say of every pair; without noise they agree."""
    random = np.random.default_rng(1)
    return {pair: [float(np.clip(w[pair] + step, 0, 1)) for step in noise * random.standard_normal(3)]
            for pair in combinations(range(len(w)), 2)}  # fmt: skip


def section_5(told: Told, items: int, rule: str, *, interleaved: bool) -> tuple[Pairs, Floats, int]:
    """Return every measurement in its order, the medians, and how many repeats a score (not chance) chose.

    The score of a pair is σ |dv2(kmin)/dw|, with σ = √(1/12) without a measurement and s/√m after m of up to three. s is not
    printed: here .2, worth two repeats, pooled with the repeats that there are whenever their number gets
    another binary digit.
    """
    said: Told = {}
    asked: Pairs = []
    spread, before, chosen = 0.2, (0, False), 0
    while True:
        known = np.eye(items)
        for (u, v), ratings in said.items():
            known[u, v] = known[v, u] = median(ratings)
        values, vectors = np.linalg.eigh(np.diag(known.sum(axis=1)) - known)
        simple = values[1] > 1e-9 and values[2] - values[1] > 1e-8 * values[2]
        pair = None
        if not simple or (interleaved and len(asked) % 2):
            pair = random_pair(items, {*said}, generator(SEED, len(asked)))
        if simple and pair is None:
            v2 = vectors[:, 1]
            least = int(np.argmax(np.abs(v2) <= np.abs(v2).min() + 1e-9 * np.abs(v2).max()))
            scores = {}
            for i, j in told:
                times = len(said.get((i, j), ()))
                sigma = spread / math.sqrt(times) if times else math.sqrt(1 / 12)
                step = sum(((v2[i] - v2[j]) * (vectors[i, p] - vectors[j, p]) / (values[1] - values[p]) * vectors[:, p]
                            for p in range(2, items)), np.zeros(items))  # fmt: skip
                if times < 3:
                    scores[i, j] = sigma * (abs(step[least]) if rule == "iu-red" else float(np.linalg.norm(step)))
            if scores and max(scores.values()) >= NOTHING:
                pair = min(one for one, score in scores.items() if score >= max(scores.values()) * (1 - 1e-6))
                chosen += pair in said
        if pair is None:
            return asked, known, chosen
        asked.append(pair)
        said.setdefault(pair, []).append(told[pair][len(said.get(pair, ()))])
        repeats = sum(len(ratings) - 1 for ratings in said.values())
        if (state := (repeats.bit_length(), any(0 < one < 1 for ratings in said.values() for one in ratings))) != before:
            before = state
            squares = sum((one - fmean(ratings)) ** 2 for ratings in said.values() for one in ratings)
            spread = math.sqrt((2 * 0.2**2 + squares) / (2 + repeats))


def sampler_of(method: str, preset: str, told: dict[str, Scalar] | None = None) -> Sampler[Grouping]:
    known = grouping_method(method)
    parameters = known.preset(preset, told) | (told or {})
    return make_grouper(method, without_vectors(np.ones(9, np.bool_), SEED, 2, parameters))


def follow(sampler: Sampler[Grouping], w: Floats, steps: int) -> Pairs:
    asked: Pairs = []
    while len(asked) < steps and (questions := sampler.ask(3)):
        (question,) = questions
        asked.append((question.u, question.v))
        sampler.tell([Answer(question.id, question.u, question.v, float(w[question.u, question.v]))])
    return asked


@pytest.mark.parametrize("name", ["plain", "ties"])
@pytest.mark.parametrize(("method", "rule", "interleaved"), WAYS)
def test_the_preset_measures_what_the_algorithm_measures(name: str, method: str, rule: str, interleaved: bool) -> None:
    w = similarities(name)
    expected, _ = algorithm(w, rule, 36, interleaved=interleaved)
    assert len(expected) >= 25
    sampler = sampler_of(method, PAPER)
    assert follow(sampler, w, len(expected)) == expected
    rest = follow(sampler, w, 36)
    assert sorted(expected + rest) == list(combinations(range(9), 2))
    assert sampler.done
    known = w
    values, vectors = np.linalg.eigh(np.diag(known.sum(axis=1)) - known)
    if values[2] - values[1] > 1e-8:
        side = vectors[:, 1] > 1e-12  # equation 2
        labels = sampler.result().labels
        assert len(np.unique(labels)) == 2
        assert np.array_equal(labels == labels[0], side == side[0])


def test_half_measured_the_groups_are_the_signs_of_the_second_eigenvector_with_0_for_what_is_missing() -> None:
    w = similarities("plain")
    expected, known = algorithm(w, "iu-red", 24, interleaved=False)
    sampler = sampler_of("iu-red-pure", PAPER)
    assert follow(sampler, w, 24) == expected
    _, vectors = np.linalg.eigh(np.diag(known.sum(axis=1)) - known)
    labels = sampler.result().labels
    assert np.array_equal(labels == labels[0], (vectors[:, 1] > 0) == (vectors[0, 1] > 0))


@pytest.mark.parametrize(("method", "rule", "interleaved"), WAYS)
def test_the_median_of_three_is_always_taken_where_that_is_wanted(method: str, rule: str, interleaved: bool) -> None:
    w = similarities("plain")
    told = three_ratings(w, 0.1)
    medians = w.copy()
    for (u, v), ratings in told.items():
        medians[u, v] = medians[v, u] = median(ratings)
    expected, _ = algorithm(medians, rule, 36, interleaved=interleaved, each=3)
    assert len(expected) >= 25
    asked = follow_ratings(sampler_of(method, "paper-median"), told, 3 * len(expected))
    assert asked == [pair for pair in expected for _ in range(3)]


def follow_ratings(sampler: Sampler[Grouping], told: Told, steps: int) -> Pairs:
    asked: Pairs = []
    while len(asked) < steps and (questions := sampler.ask(2)):
        (question,) = questions
        pair = (question.u, question.v)
        sampler.tell([Answer(question.id, *pair, told[pair][asked.count(pair)])])
        asked.append(pair)
    return asked


@pytest.mark.parametrize("noise", [0.1, 0.0])
@pytest.mark.parametrize("name", ["plain", "ties"])
@pytest.mark.parametrize(("method", "rule", "interleaved"), WAYS)
def test_repeats_are_chosen_as_section_5_says(method: str, rule: str, interleaved: bool, name: str, noise: float) -> None:
    told = three_ratings(similarities(name), noise)
    expected, known, chosen = section_5(told, 9, rule, interleaved=interleaved)
    assert chosen >= 5
    sampler = sampler_of(method, "paper-noisy")
    asked = follow_ratings(sampler, told, len(expected))
    assert asked == expected
    values, vectors = np.linalg.eigh(np.diag(known.sum(axis=1)) - known)
    if values[2] - values[1] > 1e-8:
        labels = sampler.result().labels
        assert np.array_equal(labels == labels[0], (vectors[:, 1] > 0) == (vectors[0, 1] > 0))


@pytest.mark.parametrize(("preset", "each"), [(PAPER, 1), ("paper-noisy", 1), ("paper-median", 3)])
def test_random_ratings_draws_among_the_pairs_that_are_left(preset: str, each: int) -> None:
    told = three_ratings(similarities("ties"), 0.1)
    expected: Pairs = []
    while (pair := random_pair(9, {*expected}, generator(SEED, each * len(expected)))) is not None:
        expected.append(pair)
    sampler = sampler_of("random-ratings", preset)
    assert follow_ratings(sampler, told, 1000) == [pair for pair in expected for _ in range(each)]
    assert sorted(expected) == sorted(told)
    assert sampler.done


def test_pairs_that_cannot_be_measured_are_never_asked_and_count_as_0() -> None:
    w = similarities("plain")
    gone = [(0, 3), (2, 8), (4, 5)]
    expected, _ = algorithm(w, "iu-red", 36, interleaved=False, without=gone)
    sampler = sampler_of("iu-red-pure", PAPER, {"unavailable": "3-0,2-8, 4-5"})
    assert follow(sampler, w, 36) == expected
    assert len(expected) == 33
    assert sampler.done
    free = sampler_of("iu-red", "paper-noisy", {"unavailable": "3-0,2-8,4-5", "begin": "connect"})
    asked = follow(free, w, 60)
    assert not {*asked} & {*gone}


@pytest.mark.parametrize("text", ["3", "3-3", "a-b", "1-2-3", "1-2,"])
def test_a_text_that_names_no_pairs_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="write pairs of two different item numbers"):
        read_pairs(text)
    with pytest.raises(InputError, match="write pairs"):
        SpectralParameters.read({"unavailable": text})

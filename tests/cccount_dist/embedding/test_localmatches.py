"""Local features and their matches: against a slow, obvious reference, and on pictures that are known to show the same."""

import builtins
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_sample_images

from cccount_dist.embedding.localfeatures import local_features, require_opencv
from cccount_dist.embedding.localshard import matches_of
from cccount_dist.similarity.localmatches import (
    AGREE,
    COLUMNS,
    FEWEST,
    LARGER,
    POINTS,
    RATIO,
    SIDE,
    TOLERANCE,
    Features,
    count_matches,
    matched_points,
    places,
)
from storage.errors import InputError


def slow_matches(first: Features, second: Features) -> list[tuple[int, int]]:
    """The definition, written down plainly with complex numbers."""
    a = [(i, row[2:].astype(int)) for i, row in enumerate(first) if row[2:].any()]
    b = [(j, row[2:].astype(int)) for j, row in enumerate(second) if row[2:].any()]
    if min(len(a), len(b)) < FEWEST:
        return []
    nearest: dict[int, tuple[float, int, float]] = {}
    for i, mine in a:
        away = sorted((float(((mine - other) ** 2).sum()), j) for j, other in b)
        if away[0][0] < RATIO**2 * away[1][0]:
            j = away[0][1]
            if j not in nearest or away[0][0] < nearest[j][0]:
                nearest[j] = away[0][0], i, away[0][0] / away[1][0]
    found = sorted((ratio, j, i) for j, (_, i, ratio) in nearest.items())
    pairs = [(i, j) for _, j, i in found]
    p = [complex(*places(first)[i]) for i, _ in pairs]
    q = [complex(*places(second)[j]) for _, j in pairs]
    best: list[int] = []
    for one, two in combinations(range(min(len(pairs), AGREE)), 2):
        across, over = p[two] - p[one], q[two] - q[one]
        if across == 0 or not 1 / LARGER <= abs(over / across) <= LARGER:
            continue
        agree = [c for c in range(len(pairs)) if abs(q[one] + over / across * (p[c] - p[one]) - q[c]) <= TOLERANCE + 1e-9]
        best = agree if len(agree) > max(len(best), FEWEST - 1) else best
    return [pairs[c] for c in best]


def scattered(seed: int, points: int, shared: int) -> tuple[Features, Features]:
    """Two pictures of random points, the first of which are the same ones, turned, shifted and described almost alike."""
    rng = np.random.default_rng(seed)
    pictures = np.zeros((2, POINTS, COLUMNS), np.int8)
    pictures[:, :points, :2] = rng.integers(0, SIDE // 2, (2, points, 2))
    pictures[:, :points, 2:] = rng.integers(0, 90, (2, points, COLUMNS - 2))
    turn = 0.9 * np.exp(1j * rng.uniform(-0.3, 0.3))
    place = turn * (pictures[0, :shared, 0] + 1j * pictures[0, :shared, 1] - 56 - 56j) + 56 + 56j
    pictures[1, :shared, 0], pictures[1, :shared, 1] = np.clip(place.real, 0, 111), np.clip(place.imag, 0, 111)
    pictures[1, :shared, 2:] = pictures[0, :shared, 2:] + rng.integers(0, 20, (shared, COLUMNS - 2))
    return pictures[0], pictures[1]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20), st.integers(0, 24), st.integers(0, 12))
def test_matches_are_those_of_the_slow_reference(seed: int, points: int, shared: int) -> None:
    first, second = scattered(seed, points, min(shared, points))
    assert [(int(i), int(j)) for i, j in matched_points(first, second)] == slow_matches(first, second)


def test_points_that_lie_alike_are_found_and_others_are_not() -> None:
    first, second = scattered(3, 40, 25)
    assert {(int(i), int(j)) for i, j in matched_points(first, second)} == {(i, i) for i in range(25)}
    assert count_matches(*scattered(4, 40, 0)) == 0


def photograph(number: int) -> Image.Image:
    return Image.fromarray(load_sample_images().images[number]).crop((150, 60, 450, 360))


def seen(picture: Image.Image) -> NDArray[np.uint8]:
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR))


def test_a_turned_and_smaller_view_of_a_photograph_has_many_matches_and_another_one_few() -> None:
    one, other = photograph(0), photograph(1)
    features = [local_features(seen(p)) for p in (one, one.rotate(12).crop((30, 30, 270, 270)), other)]
    assert count_matches(features[0], features[1]) > 30
    assert count_matches(features[0], features[2]) < 10
    points = matched_points(features[0], features[1])
    assert len(np.unique(points[:, 0])) == len(np.unique(points[:, 1])) == len(points), "no point matches twice"


@pytest.mark.parametrize("grey", [0, 128, 255])
def test_a_picture_without_texture_has_no_points_and_matches_nothing(grey: int) -> None:
    plain = local_features(np.full((SIDE, SIDE, 3), grey, np.uint8))
    assert not plain.any()
    assert count_matches(plain, local_features(seen(photograph(0)))) == count_matches(plain, plain) == 0


def test_features_are_the_same_every_time_and_never_negative() -> None:
    again = [local_features(seen(photograph(0))) for _ in range(2)]
    np.testing.assert_array_equal(again[0], again[1])
    assert again[0].min() >= 0


def test_both_items_of_a_pair_find_the_same_number_and_who_has_no_neighbour_has_none() -> None:
    first, second = scattered(5, 60, 9)
    found = matches_of(np.stack([first, second]), np.array([[1, -1], [0, -1]], np.int32))
    assert found[0, 0] == found[1, 0] >= FEWEST
    assert (found[:, 1] == -1).all()


def test_without_opencv_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def lacking(name: str, *rest: Any, **more: Any) -> Any:
        if name == "cv2":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(InputError, match=r"^local matches need OpenCV: pip install 'cccount\[local\]'$"):
        require_opencv()

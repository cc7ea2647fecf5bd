"""The chart: the same bytes for the same data, the last interval always in the picture, colours only from the page."""

import math
import re
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.report.chart import MOST_POINTS, _vertical, chart
from cccount_dist.report.facts import Estimate
from cccount_dist.report.style import CSS
from cccount_dist.report.svg import clipped, cut_band, ticks
from tests.cccount_dist.report.reading import Page

COURSE = [Estimate(256 * step, 10 + 5 / step, 10 - 4 / step, 10 + 15 / step) for step in range(1, 12)]


def test_the_same_data_give_the_same_bytes() -> None:
    assert chart(COURSE, 10, "described") == chart(COURSE, 10, "described")


def test_the_chart_names_estimate_truth_and_axis_and_describes_itself() -> None:
    page = Page(chart(COURSE, 10, "from 15 to <10.5>"))
    for frame in ("wide", "narrow"):
        assert sum(svg["class"] == frame for svg in page.all("svg")) == 1
    for said in ("10", "truth 10", "answers", "from 15 to <10.5>"):
        assert [text for _, text in page.texts].count(said) in (2, 4)  # a tick may say the same
    assert "truth" not in Page(chart(COURSE, None, "x")).text


def test_every_colour_is_one_of_the_page() -> None:
    drawn = chart(COURSE, 10, "described")
    assert not re.findall(r"#[0-9a-f]{6}", drawn)
    used = set(re.findall(r"var\((--\w+)\)", drawn))
    assert {"--accent", "--band", "--truth", "--soft", "--line"} <= used
    assert all(f"{name}:" in CSS for name in used)


def test_one_estimate_and_thousands_of_them_can_be_drawn() -> None:
    assert "var(--band)" in chart(COURSE[:1], None, "one")
    many = [Estimate(step, 50.0, 40.0, 60.0) for step in range(5000)]
    assert len(chart(many, 50, "many")) < 200 * MOST_POINTS


_NUMBERS = st.floats(0.0, 1e6)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS), min_size=1, max_size=8), truth=st.none() | st.integers(1, 10**6))
def test_the_last_interval_and_the_truth_are_always_in_the_picture(
    rows: list[tuple[float, float, float]], truth: int | None
) -> None:
    estimates = [Estimate(n, middle, low, high) for n, (low, middle, high) in enumerate(sorted(row) for row in rows)]
    bottom, top = _vertical(estimates, truth)
    last = estimates[-1]
    assert 0 <= bottom <= last.low <= last.estimate <= last.high < top
    assert truth is None or bottom <= truth < top


_HEIGHTS = st.integers(-4, 8).map(float)


@settings(max_examples=100, deadline=None)
@given(st.lists(_HEIGHTS, min_size=2, max_size=8), st.integers(-3, 1), st.integers(2, 6))
def test_a_line_is_drawn_where_it_is_in_the_picture_and_nowhere_else(heights: list[float], bottom: int, top: int) -> None:
    """Against the obvious way: look at many places whether the line is in the picture, and whether it is drawn there."""
    x = np.arange(len(heights))
    runs = clipped(list(zip(x.tolist(), heights, strict=True)), bottom, top)
    for place in np.arange(0.01, len(heights) - 1, 0.0173):
        height = float(np.interp(place, x, heights))
        here = [np.array(run) for run in runs if run[0][0] <= place <= run[-1][0]]
        drawn = [float(np.interp(place, run[:, 0], run[:, 1])) for run in here]
        if min(abs(height - bottom), abs(height - top)) > 1e-9:
            assert bool(drawn) == (bottom < height < top)
        assert all(math.isclose(one, height, abs_tol=1e-9) for one in drawn)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(_HEIGHTS, _HEIGHTS), min_size=2, max_size=8), st.integers(-3, 1), st.integers(2, 6))
def test_a_band_ends_at_the_edge_of_the_picture(ends: list[tuple[float, float]], bottom: int, top: int) -> None:
    rows = [(float(place), min(pair), max(pair)) for place, pair in enumerate(ends)]
    x, low, high = (np.array(column) for column in zip(*rows, strict=True))
    cut_x, cut_low, cut_high = (np.array(column) for column in zip(*cut_band(rows, bottom, top), strict=True))
    places = np.arange(0.01, len(rows) - 1, 0.0173)
    for whole, cut in ((low, cut_low), (high, cut_high)):
        assert np.allclose(np.interp(places, cut_x, cut), np.clip(np.interp(places, x, whole), bottom, top))


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1e9), st.floats(1e-3, 1e9), st.integers(2, 7), st.booleans())
def test_ticks_are_few_round_and_inside(low: float, span: float, most: int, whole: bool) -> None:
    high = low + span
    found = [value for value, _ in ticks(low, high, most, whole=whole)]
    assert len(found) <= most + 1
    assert all(low - 1e-6 * span <= value <= high + 1e-6 * span for value in found)
    assert not whole or all(value == round(value) for value in found)
    assert len({words for _, words in ticks(low, high, most, whole=whole)}) == len(found) or not whole
    assert all(a < b for a, b in pairwise(found))

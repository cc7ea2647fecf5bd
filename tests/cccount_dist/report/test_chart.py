"""The chart: the same bytes for the same data, the last interval always in the picture, colours only from the page."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.report.chart import MOST_POINTS, _vertical, chart
from cccount_dist.report.facts import Estimate
from cccount_dist.report.style import CSS
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

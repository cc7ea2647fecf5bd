"""What answers take people is learnt from made logs: right with many answers, careful with few, and lunch is no work."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from cccount_dist.campaign.activity import Activity, costs_of
from cccount_dist.campaign.costs import PageLook, learn_costs
from cccount_dist.sampling.ledger import LoggedAnswer
from storage.settings import Goal


def pages(random: Generator, count: int, page: float, cell: float, click: float) -> list[PageLook]:
    """Pages of people who take so long on average, and half as much again now and then."""
    cells, clicks = random.integers(4, 25, count), random.integers(0, 10, count)
    usual = page + cell * cells + click * clicks
    took = usual * random.lognormal(-0.125 / 2, 0.125**0.5, count)
    return [PageLook(*look) for look in zip(took.tolist(), cells.tolist(), clicks.tolist(), strict=True)]


def test_many_answers_tell_what_each_part_takes() -> None:
    errors = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        costs = learn_costs(random.exponential(4.0, 1000).tolist(), pages(random, 1000, 10.0, 0.4, 1.5))
        errors.append([costs.pair - 4.0, costs.page - 10.0, costs.cell - 0.4, costs.click - 1.5])
    bias, spread = np.mean(errors, axis=0), np.std(errors, axis=0)
    assert (np.abs(bias) < [0.3, 1.0, 0.06, 0.15]).all()
    assert (spread < [0.3, 0.8, 0.05, 0.15]).all()


def test_the_whole_is_what_pages_took_on_average() -> None:
    looks = pages(np.random.default_rng(3), 400, 3.0, 0.2, 0.3)
    assert learn_costs([], looks).whole_page == pytest.approx(np.mean([look.seconds for look in looks]), rel=0.08)


def test_few_answers_move_little_and_more_move_more() -> None:
    found = [learn_costs([3.0] * count, [PageLook(60.0, 24, 7)] * count) for count in (0, 1, 5, 20, 200)]
    assert (found[0].pair, found[0].whole_page, found[0].pages) == (9.0, 30.0, 0)
    assert [found[0].page, found[0].cell, found[0].click] == pytest.approx([6.0, 0.8, 0.7], rel=0.01)
    assert all(more.pair < fewer.pair and more.whole_page > fewer.whole_page for fewer, more in pairwise(found))
    assert found[1].pair > 8.0
    assert found[1].whole_page < 36.0
    assert found[4].pair == pytest.approx(3.0, abs=0.4)
    assert found[4].whole_page == pytest.approx(60.0, abs=3.0)


def test_a_lunch_break_is_no_work() -> None:
    looks = pages(np.random.default_rng(1), 60, 6.0, 0.8, 0.7)
    worked = learn_costs([5.0] * 60, looks)
    lunch = learn_costs([5.0] * 59 + [600.0], [*looks[:-1], PageLook(3600.0, 24, 2)])
    assert lunch.pair == pytest.approx(worked.pair, rel=0.1)
    assert lunch.whole_page == pytest.approx(worked.whole_page, rel=0.1)


def test_the_campaigns_own_numbers_hold_first() -> None:
    costs = learn_costs([], [], pair_seconds=4.0, page_seconds=60.0)
    assert costs.seconds(10, 2) == 160.0
    assert costs.of_page(24, 7) == pytest.approx(60.0)


@given(
    st.lists(st.floats(0.01, 1e5), max_size=40),
    st.lists(st.builds(PageLook, st.floats(0.01, 1e5), st.integers(1, 24), st.integers(0, 500)), max_size=40),
)
@settings(max_examples=60, deadline=None)
def test_no_log_makes_an_answer_free_or_endless(pairs: list[float], looks: list[PageLook]) -> None:
    costs = learn_costs(pairs, looks)
    assert 0.0 < costs.pair <= max(9.0, *pairs, 9.0)
    assert min(costs.page, costs.cell, costs.click) >= 0.0
    assert 0.0 < costs.whole_page < 2e6
    assert (costs.pairs, costs.pages) == (len(pairs), len(looks))


def row(
    number: int, page: int | None, seconds: float, value: float = 0.0, clicks: int | None = None, source: str = "people"
) -> LoggedAnswer:
    return LoggedAnswer(f"a{number}", number, 1, 2 + number, value, source, "ana", None, page, seconds, number, clicks)


def test_pages_are_put_together_also_where_they_come_in_two_parts() -> None:
    rows = [row(place, 7, 2.0, clicks=place % 2) for place in range(12)]
    whole, parts = Activity(), Activity()
    whole.take(rows)
    parts.take(rows[:5])
    parts.take(rows[5:])
    goal = Goal(100, "people")
    assert whole.costs(goal) == parts.costs(goal) == learn_costs([], [PageLook(24.0, 12, 6)])
    assert whole.seconds_per_page == parts.seconds_per_page == 24.0


def test_clicks_that_nobody_counted_are_the_marks_and_files_and_labels_tell_nothing() -> None:
    goal = Goal(100, "people")
    rows = [row(place, 7, 2.0, value=float(place < 3)) for place in range(12)]
    assert costs_of(rows, goal) == learn_costs([], [PageLook(24.0, 12, 3)])
    others = [row(0, None, 5.0, source="file"), row(1, None, 0.0, source="labels"), row(2, None, 5.0, source="inferred")]
    assert costs_of(others, goal) == learn_costs([], [])

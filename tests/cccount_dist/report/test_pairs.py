"""Which pairs a report shows."""

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.report.shownpairs import MOST_PAIRS, choose_pairs


@dataclass(frozen=True)
class Judged:
    number: int
    value: float | None


def judged(values: list[float | None]) -> list[Judged]:
    return [Judged(number, value) for number, value in enumerate(values)]


def test_a_rare_answer_gets_its_share() -> None:
    rows = judged([1.0 if number % 100 == 0 else 0.0 for number in range(3000)])
    chosen = choose_pairs(rows)
    assert len(chosen) == MOST_PAIRS
    assert sum(row.value == 1.0 for row in chosen) == MOST_PAIRS // 2


def test_pairs_come_from_the_whole_campaign() -> None:
    chosen = [row.number for row in choose_pairs(judged([0.0] * 4800))]
    assert chosen[0] == 0
    assert chosen[-1] == 4799
    steps = [after - before for before, after in pairwise(chosen)]
    assert max(steps) - min(steps) <= 1


@settings(max_examples=200, deadline=None)
@given(values=st.lists(st.sampled_from([1.0, 0.0, None, 0.5]), max_size=200), most=st.integers(0, 60))
def test_as_many_as_there_are_in_order_and_none_twice(values: list[float | None], most: int) -> None:
    rows = judged(values)
    chosen = [row.number for row in choose_pairs(rows, most)]
    assert len(chosen) == min(most, len(rows))
    assert chosen == sorted(set(chosen))
    assert [row.number for row in choose_pairs(rows, most)] == chosen

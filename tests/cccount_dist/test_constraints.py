"""The closure against a slow one that keeps an n x n table and closes it again after each answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from storage.errors import InputError

ITEMS = 7
Link = tuple[int, int, float]


class SlowClosure:
    """The same rules, Warshall-like: what contradicts the closure at the time when it comes is a conflict."""

    def __init__(self) -> None:
        self.answers: dict[str, Link] = {}
        self.conflicts: list[str] = []
        self.same: NDArray[np.bool_] = np.eye(ITEMS, dtype=bool)
        self.different: NDArray[np.bool_] = np.zeros((ITEMS, ITEMS), dtype=bool)

    def known(self, u: int, v: int) -> float | None:
        return 1.0 if self.same[u, v] else 0.0 if self.different[u, v] else None

    def add(self, u: int, v: int, value: float, answer_id: str) -> bool:
        self.answers[answer_id] = (u, v, value)
        if self.known(u, v) not in (None, value):
            self.conflicts.append(answer_id)
            return False
        table = self.same if value else self.different
        table[u, v] = table[v, u] = True
        for k in range(ITEMS):
            self.same |= np.outer(self.same[:, k], self.same[k])
        same = self.same.astype(int)
        self.different = (same @ self.different.astype(int) @ same) > 0
        return True

    def remove(self, answer_id: str) -> None:
        del self.answers[answer_id]
        remaining = self.answers
        self.__init__()  # type: ignore[misc]
        for name, (u, v, value) in remaining.items():
            self.add(u, v, value, name)


def closure_of(answers: dict[str, Link]) -> Constraints:
    closure = Constraints()
    for name, (u, v, value) in answers.items():
        closure.add(u, v, value, name)
    return closure


def assert_agree(fast: Constraints, slow: SlowClosure) -> None:
    table = [[fast.known(u, v) for v in range(ITEMS)] for u in range(ITEMS)]
    assert table == [[slow.known(u, v) for v in range(ITEMS)] for u in range(ITEMS)]
    assert [conflict.answer_id for conflict in fast.conflicts] == slow.conflicts
    groups = {tuple(np.flatnonzero(row).tolist()) for row in slow.same}
    assert fast.groups() == sorted(list(group) for group in groups if len(group) > 1)
    assert fast.clusters(ITEMS) == len(groups)
    assert fast.complete(ITEMS) == (None not in {value for row in table for value in row})


item = st.integers(0, ITEMS - 1)
link = st.tuples(item, item, st.sampled_from([0.0, 1.0]))
# An integer takes one of the answers that are held back again.
steps = st.lists(st.one_of(link, link, link, st.integers(0, 50)), max_size=40)


@settings(max_examples=300, deadline=None)
@given(steps)
def test_the_closure_equals_a_slow_one_with_contradictions_and_removals(actions: list[Link | int]) -> None:
    fast, slow = Constraints(), SlowClosure()
    for number, action in enumerate(actions):
        if isinstance(action, tuple):
            u, v, value = action
            assert fast.add(u, v, value, f"a{number}") == slow.add(u, v, value, f"a{number}")
        elif slow.answers:
            name = sorted(slow.answers)[action % len(slow.answers)]
            fast.remove(name)
            slow.remove(name)
        if number % 5 == 0:
            assert_agree(fast, slow)
    assert_agree(fast, slow)
    assert len(fast) == len(slow.answers)


@settings(max_examples=200, deadline=None)
@given(st.lists(link, max_size=25))
def test_the_answers_named_by_why_are_enough_and_each_of_them_is_needed(answers: list[Link]) -> None:
    named = {f"a{number}": answer for number, answer in enumerate(answers)}
    closure = closure_of(named)
    for u in range(ITEMS):
        for v in range(ITEMS):
            reasons = closure.why(u, v)
            assert closure_of({name: named[name] for name in reasons}).known(u, v) == closure.known(u, v)
            for reason in reasons:
                fewer = closure_of({name: named[name] for name in reasons if name != reason})
                assert fewer.known(u, v) is None
    for conflict in closure.conflicts:
        against = closure_of({name: named[name] for name in conflict.against})
        assert against.known(conflict.u, conflict.v) == 1.0 - conflict.value


def test_a_conflict_keeps_both_sides_and_changes_nothing() -> None:
    closure = closure_of({"a": (0, 1, 1.0), "b": (1, 2, 1.0), "c": (0, 2, 0.0)})
    (conflict,) = closure.conflicts
    assert (conflict.answer_id, conflict.u, conflict.v, conflict.value, conflict.against) == ("c", 0, 2, 0.0, ("a", "b"))
    assert closure.known(0, 2) == 1.0


def test_taking_an_answer_out_lets_an_earlier_conflict_in() -> None:
    closure = closure_of({"a": (0, 1, 1.0), "b": (1, 2, 1.0), "c": (0, 2, 0.0)})
    closure.remove("a")
    assert closure.conflicts == []
    assert (closure.known(0, 2), closure.known(0, 1)) == (0.0, 0.0)


def test_a_conflict_that_is_taken_out_is_gone() -> None:
    closure = closure_of({"a": (0, 1, 1.0), "c": (1, 0, 0.0)})
    closure.remove("c")
    assert closure.conflicts == []
    assert len(closure) == 1


def test_an_item_differs_from_itself_only_in_a_conflict() -> None:
    closure = Constraints()
    assert closure.add(4, 4, 1.0, "a")
    assert not closure.add(4, 4, 0.0, "b")
    assert closure.conflicts[0].against == ()
    assert closure.why(4, 4) == closure.why(99, 99) == []


def test_the_same_answer_twice_changes_nothing_and_another_one_under_its_id_is_refused() -> None:
    closure = closure_of({"a": (0, 1, 1.0), "b": (1, 0, 0.0)})
    assert closure.add(0, 1, 1.0, "a")
    assert not closure.add(1, 0, 0.0, "b")
    assert len(closure) == 2
    with pytest.raises(InputError, match="'a' was"):
        closure.add(0, 2, 1.0, "a")


@pytest.mark.parametrize(("u", "v", "value"), [(0, 1, 0.5), (0, 1, float("nan")), (-1, 1, 1.0), (0, 2**31, 1.0)])
def test_what_is_no_link_is_refused_and_leaves_nothing_behind(u: int, v: int, value: float) -> None:
    closure = Constraints()
    with pytest.raises(InputError, match="'a'"):
        closure.add(u, v, value, "a")
    assert len(closure) == 0


def test_an_answer_may_be_taken_out_twice_and_given_again() -> None:
    closure = closure_of({"a": (0, 1, 1.0), "b": (1, 2, 1.0)})
    closure.remove("a")
    closure.remove("a")
    assert (closure.known(0, 2), len(closure)) == (None, 1)
    assert closure.add(0, 1, 0.0, "a")
    assert (closure.known(0, 2), closure.why(2, 0)) == (0.0, ["b", "a"])


def test_many_at_once_are_the_same_as_one_by_one_up_to_the_first_that_is_refused() -> None:
    named = {f"a{number}": (number % 5, number * number % 7, float(number % 3 > 0)) for number in range(40)}
    one_by_one, at_once = closure_of(named), Constraints()
    links = [(u, v, value, name) for name, (u, v, value) in named.items()]
    with pytest.raises(InputError, match="'wrong'"):
        at_once.extend([*links, (0, 1, 0.5, "wrong"), (100, 200, 1.0, "later")])
    assert at_once.conflicts == one_by_one.conflicts
    assert at_once.groups() == one_by_one.groups()
    assert at_once.known(100, 200) is None


def test_untouched_items_are_sets_of_their_own() -> None:
    closure = Constraints()
    assert closure.known(10**9, 3) is None
    assert (closure.clusters(5), closure.complete(5), closure.complete(1), closure.groups()) == (5, False, True, [])


def test_a_long_chain_and_a_star_of_cannot_links_take_near_linear_time() -> None:
    # Adversarial for a naive closure: one set that grows link by link while every item has a cannot-link to one other item.
    closure = Constraints()
    count = 20_000
    for number in range(count):
        closure.add(number, count, 0.0, f"d{number}")
    for number in range(count - 1):
        closure.add(number, number + 1, 1.0, f"s{number}")
    assert closure.complete(count + 1)
    assert closure.clusters(count + 1) == 2
    assert closure.why(3, 5) == ["s3", "s4"]

"""Numbers of individuals outlive results."""

from hypothesis import given
from hypothesis import strategies as st

from cccount_dist.individuals.numbering import Remembered, absorbed, numbers_of, parted, released, remembered

_partitions = st.lists(st.integers(0, 5), min_size=1, max_size=24)


def _groups(labels: list[int]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for item, label in enumerate(labels):
        found.setdefault(label, []).append(item)
    return list(found.values())


def _nothing(groups: list[list[int]]) -> list[tuple[int, ...]]:
    return [() for _ in groups]


@given(_partitions, _partitions)
def test_no_two_groups_have_one_number_and_none_is_given_again_to_somebody_else(first: list[int], second: list[int]) -> None:
    before = _groups(first)
    memory = remembered(before, _nothing(before), numbers_of(before, []), [])
    after = _groups(second)
    numbers = numbers_of(after, memory)
    assert len(set(numbers)) == len(numbers)
    for group, number in zip(after, numbers, strict=True):
        old = next((one for one in memory if one.individual == number), None)
        if old is not None:  # by the slow, plain rule: more than half of its pictures that are grouped
            grouped = [item for item in old.items if item < len(second)]
            assert 2 * len(set(group) & set(grouped)) > len(grouped)


@given(_partitions)
def test_the_same_groups_in_any_order_keep_their_numbers(labels: list[int]) -> None:
    groups = _groups(labels)
    numbers = numbers_of(groups, [])
    memory = remembered(groups, _nothing(groups), numbers, [])
    assert numbers_of(groups[::-1], memory) == numbers[::-1]
    assert remembered(groups[::-1], _nothing(groups), numbers[::-1], memory) == memory


def test_the_number_follows_the_checked_pictures_not_the_guessed_ones() -> None:
    memory = [Remembered(1, (0, 1, 2, 3, 4), (0, 1))]
    assert numbers_of([[2, 3, 4], [0, 1]], memory) == [2, 1]


def test_somebody_who_was_not_looked_at_this_time_keeps_number_and_pictures() -> None:
    memory = [Remembered(1, (0, 1)), Remembered(2, (7, 8))]
    numbers = numbers_of([[0, 1]], memory)
    assert remembered([[0, 1]], [()], numbers, memory) == memory


def test_what_is_parted_again_after_a_merge_is_who_it_was() -> None:
    memory = absorbed([Remembered(1, (0,)), Remembered(2, (3, 4, 5))], 1, [2])
    together = [[0, 3, 4, 5]]
    numbers = numbers_of(together, memory)
    assert numbers == [1]
    after = released(remembered(together, [(0, 3, 4, 5)], numbers, memory), [0, 3, 4, 5])
    assert numbers_of([[0], [3, 4, 5]], after) == [1, 2]


def test_a_split_leaves_the_number_with_the_pictures_that_were_not_marked() -> None:
    memory = parted([Remembered(1, (0, 1, 2, 3))], 1, [1, 2, 3])
    assert numbers_of([[0], [1, 2, 3]], memory) == [1, 2]


def test_one_with_a_name_keeps_its_number_when_two_become_one() -> None:
    memory = [Remembered(1, (0, 1, 2)), Remembered(2, (3,))]
    assert numbers_of([[0, 1, 2, 3]], memory, named=[2]) == [2]
    assert numbers_of([[0, 1, 2, 3]], memory) == [1]

"""Numbers that outlive results: a group is the individual that most of its pictures were before.

Pure: groups and what is remembered in, numbers out. Time and memory: O(pictures in groups + pictures remembered).
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

Items = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an individual was when it was last listed. One that is not live comes back if its pictures are parted again."""

    individual: int
    items: Items
    checked: Items = ()  # those that people's answers join
    live: bool = True


Change = Callable[[Sequence[Remembered]], list[Remembered]]


def numbers_of(
    groups: Sequence[Sequence[int]], memory: Sequence[Remembered], named: Collection[int] = (), *, first: int = 1
) -> list[int]:
    """Return the number of every group. One that was nobody before gets the next number; none is given twice.

    An individual goes where more than half of its checked pictures are, of those that are grouped at all; without checked ones,
    of its pictures. Where several go to one group, the oldest of those with a name keeps it, or the oldest of all.

    >>> before = [Remembered(1, (0, 1, 2), (0, 1)), Remembered(2, (3, 4)), Remembered(3, (5,))]
    >>> numbers_of([[0, 1], [2], [3, 4, 5]], before)
    [1, 4, 2]
    """
    group_of = {item: number for number, group in enumerate(groups) for item in group}
    claims: dict[int, list[tuple[bool, bool, int]]] = {}
    for one in memory:
        if (group := _claimed(one, group_of)) is not None:
            claims.setdefault(group, []).append((not one.live, one.individual not in named, one.individual))
    fresh = max([first - 1, *(one.individual for one in memory)]) + 1
    numbers = []
    for number in range(len(groups)):
        if number in claims:
            numbers.append(min(claims[number])[-1])
        else:
            numbers.append(fresh)
            fresh += 1
    return numbers


def _claimed(one: Remembered, group_of: dict[int, int]) -> int | None:
    """The group that more than half of an individual's pictures are in; None if there is no such group."""
    for basis in (one.checked, one.items):
        there = Counter(group_of[item] for item in basis if item in group_of)
        if there:
            group, pictures = there.most_common(1)[0]
            return group if 2 * pictures > there.total() else None
    return None


def remembered(
    groups: Sequence[Sequence[int]], checked: Sequence[Sequence[int]], numbers: Sequence[int], memory: Sequence[Remembered]
) -> list[Remembered]:
    """Return what is remembered after this listing, by number. Pictures that were not grouped this time stay with theirs."""
    grouped = {item for group in groups for item in group}
    found = {one.individual: one for one in memory}
    for one in memory:  # those whose pictures went elsewhere keep them in mind, in case they come back
        found[one.individual] = replace(one, live=one.live and not grouped & set(one.items))
    for group, sure, number in zip(groups, checked, numbers, strict=True):
        before = found.get(number)
        left = [] if before is None else [item for item in before.items if item not in grouped]
        left_sure = [] if before is None else [item for item in before.checked if item not in grouped]
        found[number] = Remembered(number, tuple(sorted({*group, *left})), tuple(sorted({*sure, *left_sure})))
    return [found[number] for number in sorted(found)]


def absorbed(memory: Sequence[Remembered], into: int, parts: Collection[int]) -> list[Remembered]:
    """Return the memory after somebody said that some individuals are one of them: that one has the pictures of all.

    >>> [(one.individual, one.items, one.live) for one in absorbed([Remembered(1, (0,)), Remembered(2, (3, 4))], 1, [2])]
    [(1, (0, 3, 4), True), (2, (3, 4), False)]
    """
    gone = {item for one in memory if one.individual in parts for item in one.items}
    return [
        Remembered(into, tuple(sorted({*one.items, *gone})))
        if one.individual == into
        else replace(one, live=one.live and one.individual not in parts)
        for one in memory
    ]


def released(memory: Sequence[Remembered], items: Collection[int]) -> list[Remembered]:
    """Return the memory after somebody took back that these pictures are one: who was absorbed with them is there again.

    >>> before = absorbed([Remembered(1, (0,)), Remembered(2, (3, 4))], 1, [2])
    >>> [(one.individual, one.items, one.live) for one in released(before, [0, 3, 4])]
    [(1, (0,), True), (2, (3, 4), True)]
    """
    about = set(items)
    back = [one for one in memory if not one.live and one.items and set(one.items) <= about]
    theirs = {item for one in back for item in one.items}
    return [
        replace(one, live=True)
        if one in back
        else _without(one, theirs)
        if one.live and set(one.items) & theirs and set(one.items) - theirs
        else one
        for one in memory
    ]


def parted(memory: Sequence[Remembered], individual: int, marked: Collection[int]) -> list[Remembered]:
    """Return the memory after somebody said that some pictures show another one: the number stays with the others."""
    return [_without(one, marked) if one.individual == individual else one for one in memory]


def forgotten(memory: Sequence[Remembered], picture: int) -> list[Remembered]:
    """Return the memory in which nobody is known by a picture that was moved and is moved back, unless they have no other."""
    return [_without(one, [picture]) if picture in one.items and len(one.items) > 1 else one for one in memory]


def _without(one: Remembered, items: Collection[int]) -> Remembered:
    left = set(items)
    items, checked = (tuple(item for item in some if item not in left) for some in (one.items, one.checked))
    return replace(one, items=items, checked=checked)


__all__ = ["Change", "Items", "Remembered", "absorbed", "forgotten", "numbers_of", "parted", "released", "remembered"]

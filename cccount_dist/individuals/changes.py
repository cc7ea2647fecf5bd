"""What changed since the individuals were listed last, by photographs, answers or corrections. Pure; time: the pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cccount_dist.individuals.roster import Individual


@dataclass(frozen=True, slots=True)
class Change:
    """What happened to one individual. `pictures`: those that it is about."""

    individual: int
    title: str
    what: str
    pictures: tuple[int, ...]


def changes(before: Mapping[int, Sequence[int]], now: Sequence[Individual]) -> list[Change]:
    """Return what is not as it was, by individual. `before`: pictures of each number then."""
    was = {item: number for number, pictures in before.items() for item in pictures}
    there = {one.individual: one for one in now}
    found: list[Change] = []
    for one in now:
        added = tuple(item for item in one.items if item not in was)
        came: dict[int, list[int]] = {}
        for item in one.items:
            if item in was and was[item] != one.individual:
                came.setdefault(was[item], []).append(item)
        if one.individual not in before and not came:
            found.append(Change(one.individual, one.title, "new", one.items))
            continue
        if added:
            found.append(Change(one.individual, one.title, "seen again", added))
        for number, taken in sorted(came.items()):
            gone = number not in there
            what = f"has the pictures of individual {number}, which is gone" if gone else f"has pictures of individual {number}"
            found.append(Change(one.individual, one.title, what, tuple(taken)))
    grouped = {item for one in now for item in one.items}
    for number, pictures in sorted(before.items()):
        lost = tuple(item for item in pictures if item not in grouped)
        if lost:
            what = "is gone: its pictures belong to nobody" if number not in there else "lost pictures to nobody"
            found.append(Change(number, there[number].title if number in there else f"individual {number}", what, lost))
    return sorted(found, key=lambda one: (one.individual, one.what))


__all__ = ["Change", "changes"]

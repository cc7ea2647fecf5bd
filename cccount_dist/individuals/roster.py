"""The table of individuals, from groups, what is known of their pictures, and what people said about them.

Pure. Time: O(n log n + answers); memory: the pictures and the answers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.individuals.numbering import Items
from cccount_dist.sampling.types import DIFFERENT, SAME

GAP_MINUTES = 30.0  # pictures of one individual at one place with less between them are one encounter
CONFIRMED, CHECKED, PARTLY, LOOKS, ALONE = "confirmed", "checked", "partly checked", "by looks", "one picture"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of every picture of a collection."""

    ids: Sequence[str]
    places: Sequence[str | None]
    moments: NDArray[np.int64]  # (n,) microseconds since 1970
    timed: NDArray[np.bool_]  # (n,) whether there is a time
    area: NDArray[np.int64]  # (n,) pixels; 0 if not known

    @classmethod
    def of(cls, table: pa.Table) -> "Facts":
        """Read them from a collection table."""
        moments = table.column("taken_at").cast(pa.int64())
        width, height = (table.column(name).cast(pa.int64()).fill_null(0).to_numpy() for name in ("width", "height"))
        return cls(
            table.column("id").to_pylist(),
            table.column("group").to_pylist(),
            moments.fill_null(0).to_numpy(),
            moments.is_valid().to_numpy(),
            width * height,
        )

    def when(self, item: int) -> datetime | None:
        """When a picture was taken."""
        return _EPOCH + timedelta(microseconds=int(self.moments[item])) if self.timed[item] else None


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said about two pictures."""

    u: int
    v: int
    value: float  # 1 same, 0 different
    who: str
    by_hand: bool = False  # a correction, or what a catalogue says


@dataclass(frozen=True, slots=True)
class Individual:
    """A row of the census."""

    individual: int
    name: str | None
    note: str | None
    items: Items  # its pictures, the earliest first
    encounters: int
    first_seen: datetime | None
    last_seen: datetime | None
    places: tuple[str, ...]
    key_item: int
    checked_items: Items  # the pictures that people's answers join, with the key picture where they can
    sure: str
    checked_by: tuple[str, ...]
    against: int
    sides: tuple[str, ...] = ()
    known: bool = False

    @property
    def photos(self) -> int:
        return len(self.items)

    @property
    def title(self) -> str:
        """What to call it: its name, or its number."""
        return self.name or f"individual {self.individual}"


@dataclass(frozen=True, slots=True)
class Described:
    """What people call individuals, by their numbers."""

    names: Mapping[int, str] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)


def groups_of(labels: NDArray[np.int64], without: Iterable[int] = ()) -> list[list[int]]:
    """Return the items of every label from 0 on, in the order of their smallest item; `without`: items that are left out.

    >>> groups_of(np.array([1, 0, 1, -1]), without=[1])
    [[0, 2]]
    """
    left_out = set(without)
    found: dict[int, list[int]] = {}
    for item in np.flatnonzero(labels >= 0).tolist():
        if item not in left_out:
            found.setdefault(int(labels[item]), []).append(item)
    return list(found.values())


def joined(groups: Sequence[Sequence[int]], said: Iterable[Said]) -> list[Items]:
    """Return for every group the largest set of its pictures that people's answers join; () if none are joined.

    Nobody needs a chain of answers through other groups: only answers about two pictures of one group count.
    """
    root: dict[int, int] = {item: item for group in groups for item in group}
    group_of = {item: number for number, group in enumerate(groups) for item in group}

    def find(item: int) -> int:
        while root[item] != item:
            root[item] = root[root[item]]
            item = root[item]
        return item

    for one in said:
        if one.value == SAME and one.u != one.v and group_of.get(one.u, -1) == group_of.get(one.v, -2):
            root[find(one.u)] = find(one.v)
    found: list[Items] = []
    for group in groups:
        sets: dict[int, list[int]] = defaultdict(list)
        for item in group:
            sets[find(item)].append(item)
        largest = max(sets.values(), key=lambda items: (len(items), -items[0]))
        found.append(tuple(largest) if len(largest) > 1 else ())
    return found


def encounters_of(items: Sequence[int], facts: Facts, gap_minutes: float = GAP_MINUTES) -> list[Items]:
    """Return the pictures of each encounter: of one place, each within some minutes of the one before it.

    A picture without a time is an encounter of its own: nothing says that it belongs to another one.
    """
    timed = sorted((facts.places[item] or "", int(facts.moments[item]), item) for item in items if facts.timed[item])
    runs: list[list[int]] = []
    before: tuple[str, int] | None = None
    for place, moment, item in timed:
        if before is not None and before[0] == place and moment - before[1] <= gap_minutes * 60e6:
            runs[-1].append(item)
        else:
            runs.append([item])
        before = place, moment
    runs.sort(key=lambda run: (int(facts.moments[run[0]]), run[0]))
    return [tuple(run) for run in [*runs, *([item] for item in items if not facts.timed[item])]]


def roster(
    groups: Sequence[Sequence[int]],
    numbers: Sequence[int],
    sure: Sequence[Items],
    facts: Facts,
    said: Sequence[Said],
    described: Described,
    *,
    known: Mapping[int, str] | None = None,
    sides: Mapping[int, str] | None = None,
    gap_minutes: float = GAP_MINUTES,
) -> list[Individual]:
    """Return the individuals, by number.

    `sure`: what people's answers join in each group (`joined`); `known`: the name of pictures in a catalogue; `sides`: what
    pictures show.
    """
    group_of = {item: number for number, group in enumerate(groups) for item in group}
    people: list[set[str]] = [set() for _ in groups]
    by_hand: list[set[int]] = [set() for _ in groups]
    against = [0] * len(groups)
    for one in said:
        group = group_of.get(one.u, -1)
        if group < 0 or group != group_of.get(one.v) or one.u == one.v:
            continue
        if one.value == SAME:
            people[group].add(one.who)
            if one.by_hand:
                by_hand[group] |= {one.u, one.v}
        elif one.value == DIFFERENT:
            against[group] += 1
    rows = [
        _row(group, number, facts, described, together, people[place], by_hand[place], against[place], known or {}, sides or {},
             gap_minutes)
        for place, (group, number, together) in enumerate(zip(groups, numbers, sure, strict=True))
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row.individual)


def _row(
    group: Sequence[int], number: int, facts: Facts, described: Described, checked: Items, people: set[str], by_hand: set[int],
    against: int, known: Mapping[int, str], sides: Mapping[int, str], gap_minutes: float,
) -> Individual:  # fmt: skip
    items = tuple(sorted(group, key=lambda item: (not facts.timed[item], int(facts.moments[item]), item)))
    timed = [item for item in items if facts.timed[item]]
    catalogued = sorted({known[item] for item in items if item in known})
    return Individual(
        individual=number,
        name=described.names.get(number) or (catalogued[0] if catalogued else None),
        note=described.notes.get(number),
        items=items,
        encounters=len(encounters_of(items, facts, gap_minutes)),
        first_seen=facts.when(timed[0]) if timed else None,
        last_seen=facts.when(timed[-1]) if timed else None,
        places=tuple(sorted({place for item in items if (place := facts.places[item])})),
        key_item=max(checked or items, key=lambda item: (int(facts.area[item]), -item)),
        checked_items=tuple(sorted(checked)),
        sure=_sure(items, checked, by_hand),
        checked_by=tuple(sorted(people)),
        against=against,
        sides=tuple(sorted({sides[item] for item in items if item in sides})),
        known=bool(catalogued),
    )


def _sure(items: Items, checked: Items, by_hand: set[int]) -> str:
    """How sure it is that the pictures show one animal, in a word."""
    if len(items) == 1:
        return ALONE
    if by_hand >= set(items):
        return CONFIRMED
    if len(checked) == len(items):
        return CHECKED
    return PARTLY if checked else LOOKS


__all__ = [
    "ALONE", "CHECKED", "CONFIRMED", "GAP_MINUTES", "LOOKS", "PARTLY", "Described", "Facts", "Individual", "Said",
    "encounters_of", "groups_of", "joined", "roster",
]  # fmt: skip

"""The registry of what is stored: every kind of file that may lie in a workspace is declared once, with how it is checked.

`inventory.py` declares what cccount itself writes; whoever adds a kind of campaign declares its files with `register`, and
`cccount verify` checks them like all others:

    register(Stored(("campaigns/{campaign}/results/map.parquet",), "where each cluster was seen", "`cccount map`",
                    table(MAP), "`cccount map --campaign {campaign}` writes it again"))

To find the declaration of a key costs the declarations that share its first name, some dozens.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from storage.errors import InputError
from storage.objects import Objects
from storage.problems import Problem

# What a name in braces stands for; any other stands for one name without a slash.
_PLACES = {"campaign": r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", "number": r"\d+", "last": r"\d+", "path": r".+"}


@dataclass(frozen=True, slots=True)
class Place:
    """What a check looks at: the objects of a workspace (or of this host's part of it), and the campaign that it is about."""

    objects: Objects
    keys: frozenset[str]  # everything that is there
    campaign: str = ""
    journal: Path | None = None  # of the campaign, if it lies on this host
    checked: Callable[[], None] = lambda: None  # called for each shard: it is how a caller shows progress

    def where(self, key: str) -> str:
        return f"{self.objects.location}/{key}"

    def named(self, text: str) -> str:
        """Return a pattern or a sentence with the campaign's name in it."""
        return text.replace("{campaign}", self.campaign)


Check: TypeAlias = "Callable[[Place, Stored, Sequence[str]], Iterator[Problem]]"
Expected: TypeAlias = "Callable[[Place], bool]"


def never(place: Place) -> bool:  # noqa: ARG001
    """It may be there or not."""
    return False


def always(place: Place) -> bool:  # noqa: ARG001
    """A workspace, or a campaign, without it is damaged."""
    return True


@dataclass(frozen=True, slots=True)
class Beside:
    """Expected where one of these is: they are written after it."""

    patterns: tuple[str, ...]

    def __call__(self, place: Place) -> bool:
        return any(place.named(pattern) in place.keys for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Stored:
    """One kind of thing that is stored, in one file or in several that make sense only together.

    A pattern is a key with names in braces: {campaign}, {number} and {last} (digits), {path} (anything), others (one name).
    `check` yields what is wrong with those of its keys that are there; it must not raise for damage. `remedy` says how a lost
    one comes back; what is `rebuilt` follows from the rest of the workspace, and is deleted first when it is damaged.
    """

    patterns: tuple[str, ...]
    meaning: str
    made_by: str
    check: Check
    remedy: str
    rebuilt: bool = True
    expected: Expected = field(default=never)

    @property
    def of_campaign(self) -> bool:
        """Whether there is one for each campaign."""
        return "{campaign}" in self.patterns[0]

    def problem(self, place: Place, key: str, what: str) -> Problem:
        """Return the report of a damaged file, with its repair."""
        remedy = place.named(self.remedy)
        return Problem(place.where(key), what, f"delete it: {remedy}" if self.rebuilt else remedy)

    def missing(self, place: Place) -> Iterator[Problem]:
        """Report the first file of this thing if it is expected and not there."""
        key = place.named(self.patterns[0])
        if key not in place.keys and self.expected(place):
            yield Problem(place.where(key), "the file is missing", place.named(self.remedy))


@dataclass(frozen=True, slots=True)
class Match:
    """What a key was declared as, and what the names in braces stand for in it."""

    stored: Stored
    names: Mapping[str, str]


STORED: list[Stored] = []  # in the order in which `verify` goes through them


def register(*things: Stored) -> None:
    """Declare what may lie in a workspace; `InputError` for a pattern that is declared already."""
    for thing in things:
        taken = {pattern for other in STORED for pattern in other.patterns}
        for pattern in thing.patterns:
            if pattern in taken:
                raise InputError(f"{pattern} is declared already: choose another name for the file")
        STORED.append(thing)


def unregister(*things: Stored) -> None:
    """Take declarations back, for tests and for a plug-in that is unloaded."""
    for thing in things:
        STORED.remove(thing)


def declared(key: str) -> list[Match]:
    """Return every declaration that a key matches; exactly one, unless nobody declared it.

    >>> register(thing := Stored(("notes/{number}.txt",), "notes", "you", lambda place, stored, keys: iter(()), "-"))
    >>> [match.names for match in declared("notes/7.txt")], declared("notes/seven.txt")
    ([{'number': '7'}], [])
    >>> unregister(thing)
    """
    first = key.partition("/")[0]
    near = [(thing, pattern) for thing in STORED for pattern in thing.patterns if pattern.partition("/")[0] == first]
    matches = ((thing, _expression(pattern).fullmatch(key)) for thing, pattern in near)
    return [Match(thing, match.groupdict()) for thing, match in matches if match is not None]


def tops() -> list[str]:
    """Return the first names of all keys that can lie in a workspace, without hidden ones."""
    names = dict.fromkeys(pattern.partition("/")[0] for thing in STORED for pattern in thing.patterns)
    return [name for name in names if not name.startswith(".")]


@lru_cache(maxsize=1024)
def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern; a name that comes twice must stand for the same."""
    parts, seen = [], set()
    for literal, name in re.findall(r"([^{]*)(?:\{(\w+)\})?", pattern):
        parts.append(re.escape(literal))
        if name in seen:
            parts.append(f"(?P={name})")
        elif name:
            parts.append(f"(?P<{name}>{_PLACES.get(name, '[^/]+')})")
            seen.add(name)
    return re.compile("".join(parts))


__all__ = [
    "STORED", "Beside", "Check", "Match", "Place", "Stored", "always", "declared", "never", "register", "tops", "unregister",
]  # fmt: skip

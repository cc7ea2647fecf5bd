"""The formats of what is stored, each with its number: which ones are read, since when, and how an older one is migrated.

A file says its number and the cccount that wrote it; one that says nothing is older than numbers, and its number is 1. A new
number is needed where an older reader would go wrong. A column of the log that may be empty needs none: readers keep one that
they do not know and ignore it, and the chain covers a list of columns that belongs to its own number (`chain.py`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from storage.errors import FormatError
from storage.migrations import Migration, numbers_and_stamps
from storage.problems import Problem


@dataclass(frozen=True, slots=True)
class Format:
    """One thing that has a number.

    where : where the number stands
    since : every number that this version reads, with the cccount that introduced it; it writes the largest
    migrations : by the number that each one leaves behind
    """

    name: str
    where: str
    since: Mapping[int, str]
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """The number that is written."""
        return max(self.since)

    def check(self, number: object, where: str, writer: object = None) -> int:
        """Return the number of what lies at `where`; `FormatError` unless it is read. `writer`: the cccount that wrote it."""
        if isinstance(number, int) and not isinstance(number, bool) and number in self.since:
            return number
        raise FormatError(self._refused(number, where, writer))

    def _refused(self, number: object, where: str, writer: object) -> Problem:
        newer = isinstance(number, int) and number > self.present
        kind = "" if self.name == "workspace" else f" of the {self.name}"
        what = f"made by {'a newer' if newer else 'another'} cccount: format {number}{kind}, this one reads {_listed(self.since)}"
        if number in self.migrations:
            return Problem(where, what, "run `cccount upgrade` on the workspace")
        return Problem(where, what, f"use {reader(writer if newer else None)}")


def reader(writer: object) -> str:
    """Return what reads a file that this version wrote, if the file says so.

    >>> reader("0.5.0"), reader(None)
    ('cccount 0.5.0 or newer', 'the version that made it')
    """
    return f"cccount {writer} or newer" if isinstance(writer, str) else "the version that made it"


def _listed(numbers: Iterable[int]) -> str:
    """
    >>> _listed([1]), _listed([1, 2, 3])
    ('1', '1, 2 and 3')
    """
    *first, last = map(str, sorted(numbers))
    return f"{', '.join(first)} and {last}" if first else last


WORKSPACE = Format("workspace", "`format` in workspace.toml", {1: "0.1.0", 2: "0.2.0"}, {1: numbers_and_stamps})
CAMPAIGN = Format("campaign", "`format` in campaign.toml and goal.toml", {1: "0.1.0"})
QUESTIONS = Format("questions", "`cccount.format` in the footer of each part", {1: "0.1.0"})
ANSWERS = Format("answers", "`cccount.format` in the footer of each part", {1: "0.1.0"})
CHAIN = Format("chain", "`cccount.chain` in the footer of each part of the answers, and in front of a digest", {1: "0.1.0"})
JOURNAL = Format("journal", "`PRAGMA user_version`", {1: "0.1.0"})
ARRAYS = Format("arrays", "the attribute `cccount` in zarr.json", {1: "0.1.0"})

FORMATS = {one.name: one for one in (WORKSPACE, CAMPAIGN, QUESTIONS, ANSWERS, CHAIN, JOURNAL, ARRAYS)}


def as_table() -> str:
    """Return the table of `docs/reference/workspace.md`."""
    lines = ["| format | number | since cccount | read | where the number stands |", "|---|---|---|---|---|"]
    lines += [
        f"| {one.name} | {one.present} | {one.since[one.present]} | {_listed(one.since)} | {one.where} |"
        for one in FORMATS.values()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(as_table())


__all__ = [
    "ANSWERS",
    "ARRAYS",
    "CAMPAIGN",
    "CHAIN",
    "FORMATS",
    "JOURNAL",
    "QUESTIONS",
    "WORKSPACE",
    "Format",
    "as_table",
    "reader",
]

"""The journal of names and notes: one small file for an entry, created once; checked when it is read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from storage.errors import CorruptionError, InputError
from storage.layout import read_or_none
from storage.problems import Problem
from storage.reading import damage, known_errors, reason
from storage.stamp import intact
from storage.stored import Place, Stored
from storage.typed import made

FOLDER = "individuals"
NAMES = f"{FOLDER}/names"
NAME, NOTE = "name", "note"  # what an entry says
REPAIR = "restore it from a backup"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the journal: somebody gave an individual a name or a note, or took an entry back."""

    id: str
    individual: int
    field: str
    text: str  # "": no name, no note
    annotator: str
    at: str  # ISO 8601
    undoes: str | None = None

    def __post_init__(self) -> None:
        if self.field not in (NAME, NOTE):
            raise ValueError(f"field must be {NAME} or {NOTE}, not {self.field!r}")
        datetime.fromisoformat(self.at)


def now() -> str:
    """The time of an entry that is made now."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def read_entry(data: bytes, where: str) -> Entry:
    """Return the entry that a file holds; `CorruptionError` for what is none."""
    try:
        return made(Entry, json.loads(data))
    except known_errors() as error:
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {REPAIR}") from error


def names_check(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """Every entry is whole, and none is missing between others."""
    for number, key in enumerate(sorted(keys)):
        if key != f"{NAMES}/{number:06d}.json":
            yield Problem(place.where(f"{NAMES}/{number:06d}.json"), "an entry of the journal of names is missing", REPAIR)
            return
        data = read_or_none(place.objects, key)
        if data is None:
            continue
        if intact(data) is False:
            yield stored.problem(place, key, "its bytes are not those that were written")
            continue
        try:
            read_entry(data, place.where(key))
        except damage() as error:
            yield stored.problem(place, key, reason(error))


def check_text(text: str, what: str, longest: int) -> str:
    """Return a name or a note as it is kept: without space around it; `InputError` for what no table could show."""
    said = " ".join(text.split())
    if len(said) > longest:
        raise InputError(f"{what} has at most {longest} characters, not {len(said):,}: {said[:40]!r}…")
    if not said.isprintable():
        raise InputError(f"{what} has a character that cannot be stored: {said[:40]!r}")
    return said


__all__ = ["FOLDER", "NAME", "NAMES", "NOTE", "REPAIR", "Entry", "check_text", "names_check", "now", "read_entry"]

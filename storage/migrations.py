"""What an older workspace is changed into, step by step: each migration says which files it would replace, and by what.

It reads and never writes (`upgrade.py` does, after a backup), and a file that is as it should be is none of its changes: so it
can be asked again at any moment. It never names a part of the log, nor an array, which campaigns know by its fingerprint. What
it does is fixed for ever: a later format is a later migration. Memory: one file; all are small but for the collection.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from storage.errors import CorruptionError, MissingObjectError
from storage.reading import known_errors, reason
from storage.stamp import BLANK, filled, intact
from storage.version import __version__

_SETTINGS = re.compile(r"campaigns/[^/]+/(campaign|goal)\.toml")
_STAMP = f"# {BLANK.partition(':')[0]}:"


@dataclass(frozen=True, slots=True)
class Change:
    """A file that a migration replaces."""

    key: str
    before: bytes
    after: bytes


class Readable(Protocol):
    """What a migration needs of the objects of a workspace."""

    @property
    def location(self) -> str: ...

    def read(self, key: str) -> bytes: ...

    def keys(self, prefix: str) -> list[str]: ...


Migration: TypeAlias = "Callable[[Readable], Iterator[Change]]"


def numbers_and_stamps(objects: Readable) -> Iterator[Change]:
    """Workspace 1 to 2: settings and goals say their format, and what cannot be made again carries a stamp.

    `workspace.toml` comes last: until then the workspace is of format 1.
    """
    settings = [key for key in objects.keys("campaigns") if _SETTINGS.fullmatch(key)]
    steps = [(key, _settings_2) for key in settings]
    steps += [("annotators.json", _annotators_2), ("gold.parquet", _table_2), ("collection.parquet", _table_2)]
    for key, change in [*steps, ("workspace.toml", _workspace_2)]:
        try:
            before = objects.read(key)
        except MissingObjectError:
            continue
        after = _changed(before, change, f"{objects.location}/{key}")
        if after != before:
            yield Change(key, before, after)


def _changed(before: bytes, change: Callable[[bytes], bytes], where: str) -> bytes:
    repair = "restore it from a backup before the upgrade"
    if intact(before) is False:
        raise CorruptionError(f"{where} is damaged (its bytes are not those that were written): {repair}")
    try:
        return change(before)
    except known_errors() as error:
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {repair}") from error


def _settings_2(before: bytes) -> bytes:
    return _toml(before, {} if "format" in tomllib.loads(before.decode()) else {"format": 1, "cccount": __version__})


def _workspace_2(before: bytes) -> bytes:
    return _toml(before, {"format": 2, "cccount": __version__})


def _toml(before: bytes, said: dict[str, int | str]) -> bytes:
    """Return the file with these lines first, and a new stamp; all else stays as it is."""
    if not said and intact(before):
        return before
    own = re.compile("|".join((re.escape(_STAMP), *(rf"{name}\s*=" for name in said))))
    lines = [line for line in before.decode().splitlines() if not own.match(line)]
    title = [line for line in lines[:1] if line.startswith("#")]
    new = [f"{name} = {json.dumps(value)}" for name, value in said.items()]
    after = "\n".join([*title, f"# {BLANK}", *new, *lines[len(title) :]]) + "\n"
    tomllib.loads(after)
    return filled(after.encode())


def _annotators_2(before: bytes) -> bytes:
    found = json.loads(before)
    if intact(before) or not found:
        return before
    next(iter(found.values()))["stamp"] = BLANK  # where `cccount annotators` puts it
    return filled(json.dumps(found, indent=1).encode())


def _table_2(before: bytes) -> bytes:
    from storage import parquet  # loads Arrow: `cccount --help` reads the registry of formats, too

    return before if intact(before) else parquet.to_bytes(parquet.from_bytes(before))


__all__ = ["Change", "Migration", "Readable", "numbers_and_stamps"]

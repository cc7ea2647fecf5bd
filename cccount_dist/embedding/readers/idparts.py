"""A part of an id that says something about its picture: a folder of its path, or what a pattern finds in it."""

import re
from collections.abc import Callable

from storage.errors import InputError


def finder(wanted: str, option: str) -> Callable[[str], str | None]:
    """Return what finds a part of an id; `option` is what errors name."""
    if wanted.isdecimal():
        level = int(wanted)
        if level < 1:
            raise InputError(f"{option} 0: the folders of a path are counted from 1")

        def by_level(name: str) -> str | None:
            folders = name.split("/")[:-1]
            return folders[level - 1] if level <= len(folders) else None

        return by_level
    try:
        pattern = re.compile(wanted)
    except re.error as error:
        raise InputError(f"{option} {wanted!r} is no folder level and no regular expression: {error}") from error

    def by_pattern(name: str) -> str | None:
        found = pattern.search(name)
        return None if found is None else (found[1] if pattern.groups else found[0]) or None

    return by_pattern


__all__ = ["finder"]

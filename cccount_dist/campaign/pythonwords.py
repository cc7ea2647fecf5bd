"""Errors of Python calls in Python's words: options have one declaration, which speaks of `--target-width`; a caller wrote
`target_width=`. Whoever is called from Python is wrapped in `speaks_python`, so that no refusal can be forgotten.
"""

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import ParamSpec, TypeVar

from storage.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
_NAMED = re.compile(r"--parameter (\w+)=(?:(\S+)\b)?")
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")


def in_python(text: str, names: Mapping[str, str] | None = None) -> str:
    """Return a message with parameters instead of options; `names`: those that Python calls otherwise.

    >>> in_python("--target-width must lie between 0 and 1, not 3: see --clusters", {"clusters": "n_clusters"})
    'target_width must lie between 0 and 1, not 3: see n_clusters'
    >>> in_python("it was started with --parameter ratio=5, not 6")
    'it was started with the parameter ratio=5, not 6'
    """
    known = names or {}

    def parameter(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return known.get(name, name)

    return _FLAG.sub(parameter, _NAMED.sub(lambda match: f"the parameter {match[0].removeprefix('--parameter ')}", text))


def speaks_python(names: Mapping[str, str] | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a function that Python callers call: what it refuses is said in their words."""

    def wrapped(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except InputError as error:
                said = in_python(str(error), names)
                if said == str(error):
                    raise
                raise InputError(said) from error

        return called

    return wrapped


__all__ = ["in_python", "speaks_python"]

"""Registries of named things, and the plug-ins that add to them: a new method or kind of campaign is one file.

Our own kinds and methods register themselves as the first plug-in (`cccount_dist.kinds`). Others are found in the entry-point
group `cccount.plugins` of installed packages, and in `CCCOUNT_PLUGINS`: names of modules or paths of Python files, separated as
in PATH. A plug-in is Python that runs with the rights of whoever runs cccount.
"""

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Generic, TypeVar

from storage.errors import InputError

PLUGINS = "CCCOUNT_PLUGINS"
GROUP = "cccount.plugins"
_OURS = "cccount_dist.kinds"
T = TypeVar("T")
_loaded: set[str] = set()


class Registry(Generic[T]):
    """Things by name, in the order in which they were registered.

    >>> words = Registry[int]("number")
    >>> words.add("one", 1)
    >>> words.get("one"), words.names()
    (1, ['one'])
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> None:
        """Register a thing; `InputError` for a name that another one has. The same one twice changes nothing."""
        if self._things.setdefault(name, thing) != thing:
            raise InputError(f"there is another {self.what} with the name {name!r}: give this one another name")

    def get(self, name: str) -> T:
        """Return the thing of this name; `InputError` that lists the names if there is none."""
        if name not in self._things:
            load_plugins()
        if name not in self._things:
            raise InputError(f"there is no {self.what} {name!r} (there are: {', '.join(sorted(self._things))})")
        return self._things[name]

    @contextmanager
    def having(self, name: str, thing: T) -> Iterator[None]:
        """Have this thing by this name for a while, whatever was there: for whoever tests one."""
        before = dict(self._things)
        self._things[name] = thing
        try:
            yield
        finally:
            self._things = before

    def names(self) -> list[str]:
        load_plugins()
        return list(self._things)

    def __iter__(self) -> Iterator[T]:
        load_plugins()
        return iter(list(self._things.values()))


def load_plugins() -> None:
    """Import what registers itself; each once in a process."""
    _load(_OURS)
    if GROUP not in _loaded:
        _loaded.add(GROUP)
        for found in entry_points(group=GROUP):
            _load(found.value)
    for place in os.environ.get(PLUGINS, "").split(os.pathsep):
        if place:
            _load(place)


def _load(place: str) -> None:
    if place in _loaded:
        return
    _loaded.add(place)  # first: what is imported may ask a registry
    try:
        if place.endswith(".py"):
            _run_file(Path(place))
        else:
            importlib.import_module(place)
    except (ImportError, OSError, SyntaxError) as error:
        _loaded.discard(place)
        if place == _OURS:
            raise
        raise InputError(f"the plug-in {place} cannot be loaded: {error}; correct it, or take it out of {PLUGINS}") from error


def _run_file(path: Path) -> None:
    name = f"cccount_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


__all__ = ["Registry", "load_plugins"]

"""The state of a sampler as plain data: what `freezing.py` makes and `thawing.py` reads, and what both agree on.

Known are numbers, text, None, arrays (views keep sharing memory), the containers of the standard library, random generators,
sparse matrices, and objects, functions and bound methods of the packages that decide questions and of plug-ins. What a sampler
was made from (`given`) is named and not copied. A class names in `__unsaved__` what it makes again when it is wanted: those
attributes come back as None. Memory: the state without what was given.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from numpy.typing import NDArray

from storage.errors import InputError

Node = Any  # plain JSON
Array = NDArray[Any]
DECIDING = tuple(f"cccount_dist.{room}" for room in ("sampling", "counting", "clustering", "subclustering", "similarity"))
PLAIN = (type(None), bool, int, float, str)
FACTORIES: dict[str, Callable[[], Any]] = {"list": list, "dict": dict, "set": set, "int": int, "float": float, "deque": deque}
SPARSE = ("csr_matrix", "csr_array")  # of scipy, which takes long to load: it is named, and loaded where one is made


class UnfrozenError(InputError):
    """A sampler holds something that no snapshot can keep; says where."""


@dataclass
class Frozen:
    """A graph of plain JSON, and the arrays that it names by number; they are the sampler's own: write them before it goes on."""

    graph: Node
    arrays: list[Array] = field(default_factory=list)


def named(thing: type | FunctionType) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def attributes(thing: object) -> dict[str, Any]:
    """Return everything that an object holds, from its slots and its dictionary."""
    slots = [name for cls in type(thing).__mro__ for name in slots_of(cls)]
    found = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return found | getattr(thing, "__dict__", {})


def slots_of(cls: type) -> Iterable[str]:
    declared = cls.__dict__.get("__slots__", ())
    names = (declared,) if isinstance(declared, str) else declared
    return (name for name in names if name not in ("__dict__", "__weakref__"))


def unsaved_by(cls: type) -> frozenset[str]:
    return frozenset(getattr(cls, "__unsaved__", ()))


def is_in(module: str, rooms: Sequence[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def is_plain_class(cls: type) -> bool:
    """Whether all that an object of a class holds is in its attributes: nothing built in but `object` is below it."""
    return all(base is object or not is_in(base.__module__, ("builtins", "collections", "numpy")) for base in cls.__mro__)

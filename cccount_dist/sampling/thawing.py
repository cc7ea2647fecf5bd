"""From plain data back to the objects of a sampler: runs no foreign code, whatever the data say.

An object is made without its `__init__`; only classes and functions of the packages that decide questions, and of plug-ins that
are loaded, can be named. Time and memory: the state without what was given.
"""

import functools
import importlib
import math
import random
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from cccount_dist.sampling.columns import values_of
from cccount_dist.sampling.frozen import (
    DECIDING,
    FACTORIES,
    PLAIN,
    SPARSE,
    Array,
    Frozen,
    Node,
    is_in,
    is_plain_class,
    slots_of,
    unsaved_by,
)
from storage.errors import CorruptionError

_BITS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}


def thaw(frozen: Frozen, given: Mapping[str, object] | None = None, rooms: Sequence[str] = ()) -> Any:
    """Return what was frozen; `CorruptionError` if the data cannot be that.

    Frozen arrays are copied, unless they own their memory and may be changed: those are taken.
    """
    walk = _Thawer(frozen.arrays, given or {}, (*DECIDING, *rooms))
    try:
        return walk.value(frozen.graph)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError, ImportError) as error:
        raise CorruptionError(f"a snapshot cannot be read ({type(error).__name__}: {error}): it is made again") from error


def _numpy_state(state: Any) -> Any:
    if isinstance(state, dict) and set(state) == {"numbers", "dtype"}:
        return np.array(state["numbers"], np.dtype(str(state["dtype"])))
    return {name: _numpy_state(value) for name, value in state.items()} if isinstance(state, dict) else state


class _Thawer:
    """Numbers objects as `_Freezer` does: in the order in which they begin."""

    def __init__(self, arrays: Sequence[Array], given: Mapping[str, object], rooms: Sequence[str]) -> None:
        self._arrays = arrays
        self._given = given
        self._rooms = rooms
        self._met: list[Any] = []

    def value(self, node: Node) -> Any:
        if type(node) in PLAIN:
            return node
        what = node[0]
        if what == "=":
            return self._met[_index(node[1], len(self._met))]
        if what == "given":
            return self._given[node[1]]
        if what == "view":
            found = self._given[node[1]]
            return found if isinstance(found, np.ndarray) else np.asarray(found)
        make = getattr(self, f"_make_{what}", None)
        if make is None:
            raise ValueError(f"{what!r} is nothing that a snapshot holds")
        number = len(self._met)
        self._met.append(None)
        found = make(number, *node[1:])
        self._met[number] = found
        return found

    # -- containers: those that change later are there before what is in them ----------------------------------------------

    def _many(self, node: Node) -> Iterable[Any]:
        if isinstance(node, dict):
            return values_of(node["column"], self._class, self._column)
        return (self.value(one) for one in node)

    def _column(self, number: int) -> Array:
        return self._arrays[_index(number, len(self._arrays))]

    def _make_list(self, number: int, items: Node) -> list[Any]:
        found: list[Any] = []
        self._met[number] = found
        found.extend(self._many(items))
        return found

    def _make_tuple(self, number: int, items: Node) -> tuple[Any, ...]:  # noqa: ARG002
        return tuple(self._many(items))

    def _make_set(self, number: int, items: Node) -> set[Any]:  # noqa: ARG002
        return set(self._many(items))

    def _make_frozenset(self, number: int, items: Node) -> frozenset[Any]:  # noqa: ARG002
        return frozenset(self._many(items))

    def _make_deque(self, number: int, items: Node, longest: int | None) -> deque[Any]:
        found = self._met[number] = deque(maxlen=longest)
        found.extend(self._many(items))
        return found

    def _make_dict(self, number: int, keys: Node, values: Node) -> Any:
        return self._filled(number, {}, keys, values)

    def _make_OrderedDict(self, number: int, keys: Node, values: Node) -> Any:  # noqa: N802  as the class is called
        return self._filled(number, OrderedDict(), keys, values)

    def _make_Counter(self, number: int, keys: Node, values: Node) -> Any:  # noqa: N802
        return self._filled(number, Counter(), keys, values)

    def _make_defaultdict(self, number: int, keys: Node, values: Node, factory: str) -> Any:
        return self._filled(number, defaultdict(FACTORIES[factory]), keys, values)

    def _filled(self, number: int, found: Any, keys: Node, values: Node) -> Any:
        self._met[number] = found
        names = list(self._many(keys))
        for name, value in zip(names, self._many(values), strict=True):
            found[name] = value
        return found

    def _make_range(self, number: int, *ends: int) -> range:  # noqa: ARG002
        return range(*ends)

    def _make_slice(self, number: int, *ends: Node) -> slice:  # noqa: ARG002
        return slice(*(self.value(end) for end in ends))

    def _make_bytes(self, number: int, text: str) -> bytes:  # noqa: ARG002
        return bytes.fromhex(text)

    # -- numbers and arrays ------------------------------------------------------------------------------------------------

    def _make_scalar(self, number: int, descr: Any, text: str) -> Any:  # noqa: ARG002
        return np.frombuffer(bytes.fromhex(text), dtype_of(descr))[0]

    def _make_generator(self, number: int, state: dict[str, Any]) -> np.random.Generator:  # noqa: ARG002
        bits = _BITS[state["bit_generator"]]()
        bits.state = _numpy_state(state)
        return np.random.Generator(bits)

    def _make_randomstate(self, number: int, state: dict[str, Any]) -> np.random.RandomState:  # noqa: ARG002
        found = np.random.RandomState()
        found.set_state(_numpy_state(state))
        return found

    def _make_random(self, number: int, version: int, numbers: list[int], gauss: float | None) -> random.Random:  # noqa: ARG002
        found = random.Random()  # noqa: S311  no secret
        found.setstate((version, tuple(numbers), gauss))
        return found

    def _make_array(self, *rest: Any) -> Array:
        _, place, shape, order, descr, writeable = rest
        flat = self._column(place)
        dtype = dtype_of(descr)
        if flat.dtype != dtype or order not in ("C", "F") or flat.size != math.prod(shape):
            raise ValueError(f"an array of {flat.dtype} is said to be {dtype}")
        if flat.size and flat.flags.owndata and flat.flags.writeable and order == "C" and flat.ndim == 1:
            # It was read for nobody else.
            found = flat
            found.shape = tuple(shape)
        else:
            found = np.empty(tuple(shape), dtype, order=order)
            found.reshape(-1, order=order)[:] = flat
        found.flags.writeable = bool(writeable)
        return found

    def _make_part(self, *rest: Any) -> Array:
        _, whole, offset, shape, strides, descr, writeable = rest
        base = self.value(whole)
        flat = base.reshape(-1, order="A")
        if not np.shares_memory(flat, base) and base.size:
            raise ValueError("a part of an array that is none")
        found: Array = np.ndarray(tuple(shape), dtype_of(descr), flat, offset, tuple(strides))
        found.flags.writeable = bool(writeable) and bool(base.flags.writeable)
        return found

    def _make_sparse(self, number: int, kind: str, shape: list[int], *parts: Node) -> Any:  # noqa: ARG002
        data, indices, indptr = (self.value(part) for part in parts)
        if kind not in SPARSE:
            raise ValueError(f"{kind} is no sparse matrix that a snapshot holds")
        from scipy import sparse

        return getattr(sparse, kind)((data, indices, indptr), shape=tuple(shape), copy=False)

    # -- our own classes and functions, by name ----------------------------------------------------------------------------

    def _make_object(self, number: int, name: str, state: dict[str, Node], left_out: list[str]) -> Any:
        cls = self._class(name)
        if not is_plain_class(cls) or issubclass(cls, Enum) or frozenset(left_out) != unsaved_by(cls):
            raise ValueError(f"{name} is no class that a snapshot holds in this way")
        found = self._met[number] = object.__new__(cls)
        known = {slot for base in cls.__mro__ for slot in slots_of(base)}
        has_dictionary = hasattr(found, "__dict__")
        for attribute, one in [*state.items(), *((missing, None) for missing in left_out)]:
            value = None if attribute in left_out else self.value(one)
            if attribute in known:
                object.__setattr__(found, attribute, value)
            elif has_dictionary:
                found.__dict__[attribute] = value
            else:
                raise ValueError(f"{name} has no {attribute!r}")
        return found

    def _make_enum(self, number: int, name: str, member: str) -> Any:  # noqa: ARG002
        cls = self._class(name)
        if not issubclass(cls, Enum):
            raise TypeError(f"{name} is no enumeration")
        return cls[member]

    def _make_name(self, number: int, name: str) -> Any:  # noqa: ARG002
        found = self._found(name)
        if not isinstance(found, FunctionType | type):
            raise TypeError(f"{name} is neither a class nor a function")
        return found

    def _make_method(self, number: int, owner: Node, name: str) -> Any:  # noqa: ARG002
        thing = self.value(owner)
        function = getattr(type(thing), name)
        if not isinstance(function, FunctionType) or not is_in(function.__module__, self._rooms):
            raise TypeError(f"{name} is no method of ours")
        return MethodType(function, thing)

    def _make_partial(self, number: int, function: Node, positional: Node, keywords: Node) -> Any:  # noqa: ARG002
        call = self.value(function)
        if not isinstance(call, FunctionType | MethodType | type):
            raise TypeError("a part of a call of something that is no function of ours")
        return functools.partial(call, *self.value(positional), **self.value(keywords))

    def _class(self, name: str) -> type:
        found = self._found(name)
        if not isinstance(found, type):
            raise TypeError(f"{name} is no class")
        return found

    def _found(self, name: str) -> Any:
        """Return a class or function of the rooms; whatever is named otherwise is not even looked for."""
        module, _, inside = str(name).partition(":")
        if not is_in(module, self._rooms) or not all(part.isidentifier() for part in f"{module}.{inside}".split(".")):
            raise ValueError(f"{name!r} is not of the packages that a snapshot may name")
        ours = is_in(module, DECIDING)
        found: Any = importlib.import_module(module) if ours else sys.modules[module]
        for part in inside.split("."):
            found = vars(found)[part]
            if isinstance(found, staticmethod):
                found = found.__func__
        if getattr(found, "__module__", None) != module:
            raise ValueError(f"{name!r} is not of the packages that a snapshot may name")
        return found


def dtype_of(descr: Any) -> np.dtype[Any]:
    found = np.lib.format.descr_to_dtype(_tuples(descr))
    if found.hasobject:
        raise ValueError("an array of objects")
    return found


def _tuples(descr: Any) -> Any:
    """JSON has no tuples: the fields of a structured dtype are tuples in a list."""
    if isinstance(descr, list):
        return [tuple(_tuples(part) if place == 1 else tuple(part) if isinstance(part, list) else part
                      for place, part in enumerate(one)) for one in descr]  # fmt: skip
    return descr


def _index(number: Any, count: int) -> int:
    if type(number) is not int or not 0 <= number < count:
        raise ValueError(f"{number!r} is none of {count}")
    return number


__all__ = ["dtype_of", "thaw"]

"""From the objects of a sampler to plain data: a walk over all that it holds, in which who is who stays as it was.

What cannot be kept is refused, by the way that leads to it. Time and memory: the state without what was given.
"""

import functools
import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from cccount_dist.sampling.columns import column_of
from cccount_dist.sampling.frozen import (
    DECIDING,
    FACTORIES,
    PLAIN,
    SPARSE,
    Array,
    Frozen,
    Node,
    UnfrozenError,
    attributes,
    is_in,
    is_plain_class,
    named,
    unsaved_by,
)

_LONG = 16  # values from which on a list is kept as columns, where it can be


def freeze(thing: object, given: Mapping[str, object] | None = None, rooms: Sequence[str] = ()) -> Frozen:
    """Return the state of a sampler, or of anything alike.

    Parameters
    ----------
    given : what it was made from, by name: arrays and other objects, which are referred to
    rooms : packages beside ours whose objects it may hold: those of a plug-in

    Raises
    ------
    UnfrozenError
        Names the attribute that cannot be kept.
    """
    walk = _Freezer(given or {}, (*DECIDING, *rooms))
    return Frozen(walk.node(thing, "sampler"), walk.arrays)


def _is_value(cls: type) -> bool:
    """Whether objects of a class are values: equal ones cannot be told apart, so they may be kept as columns."""
    return is_dataclass(cls) and cls.__dataclass_params__.frozen and not unsaved_by(cls)  # type: ignore[attr-defined]


class _Freezer:
    """Objects are numbered in the order in which they are met; `["=", number]` is one that was met before."""

    def __init__(self, given: Mapping[str, object], rooms: Sequence[str]) -> None:
        self.arrays: list[Array] = []
        self._rooms = rooms
        self._met: dict[int, int] = {}
        self._keep: list[object] = []  # so that no number of an object is given again
        self._open: set[int] = set()  # tuples and the like that are being written
        self._given = {id(thing): name for name, thing in given.items()}
        self._given_arrays = {
            _place(thing): name for name, thing in given.items() if isinstance(thing, np.ndarray) and thing.size
        }

    def node(self, thing: object, path: str) -> Node:
        if type(thing) in PLAIN:
            return thing
        if (name := self._given.get(id(thing))) is not None:
            return ["given", name]
        if id(thing) in self._met:
            if id(thing) in self._open:
                raise UnfrozenError(f"{path} is inside itself, and cannot be changed later: a snapshot cannot keep it")
            return ["=", self._met[id(thing)]]
        if isinstance(thing, np.ndarray) and thing.size and (name := self._given_arrays.get(_place(thing))) is not None:
            return ["view", name]
        self._met[id(thing)] = len(self._met)
        self._keep.append(thing)
        unchanging = isinstance(thing, tuple | frozenset | functools.partial | MethodType)
        if unchanging:
            self._open.add(id(thing))
        found = self._container(thing, path) or self._number(thing) or self._array(thing, path) or self._object(thing, path)
        self._open.discard(id(thing))
        if found is None:
            raise UnfrozenError(f"{path} is {type(thing).__module__}.{type(thing).__qualname__}: a snapshot cannot keep it")
        return found

    def _container(self, thing: object, path: str) -> Node | None:
        kind = type(thing)
        if kind in (list, tuple, set, frozenset):
            return [kind.__name__, self._many(list(thing), path)]  # type: ignore[call-overload]
        if kind in (dict, OrderedDict, Counter, defaultdict):
            extra = []
            if isinstance(thing, defaultdict):
                factory = getattr(thing.default_factory, "__name__", "")
                if FACTORIES.get(factory) is not thing.default_factory:
                    raise UnfrozenError(f"{path} makes its values by {thing.default_factory}: a snapshot cannot keep it")
                extra = [factory]
            items: dict[Any, Any] = thing  # type: ignore[assignment]
            return [kind.__name__, self._many(list(items), f"{path} keys"), self._many(list(items.values()), path), *extra]
        if isinstance(thing, deque) and kind is deque:
            return ["deque", self._many(list(thing), path), thing.maxlen]
        if isinstance(thing, range):
            return ["range", thing.start, thing.stop, thing.step]
        if isinstance(thing, slice):
            return ["slice", *(self.node(end, path) for end in (thing.start, thing.stop, thing.step))]
        return ["bytes", thing.hex()] if isinstance(thing, bytes) else None

    def _many(self, things: list[Any], path: str) -> Node:
        if len(things) >= _LONG and (found := column_of(things, self._value_class, self._plain_array)) is not None:
            return {"column": found}
        return [self.node(thing, f"{path}[{place}]") for place, thing in enumerate(things)]

    def _value_class(self, cls: type) -> tuple[str, list[str]] | None:
        return (named(cls), [one.name for one in fields(cls)]) if is_in(cls.__module__, self._rooms) and _is_value(cls) else None

    def _plain_array(self, values: Array) -> int:
        self.arrays.append(values)
        return len(self.arrays) - 1

    def _number(self, thing: object) -> Node | None:
        if isinstance(thing, np.generic) and not thing.dtype.hasobject:
            return ["scalar", np.lib.format.dtype_to_descr(thing.dtype), thing.tobytes().hex()]
        if isinstance(thing, np.random.Generator):
            return ["generator", _plain_state(thing.bit_generator.state)]
        if isinstance(thing, np.random.RandomState):
            return ["randomstate", _plain_state(thing.get_state(legacy=False))]
        if type(thing) is random.Random:
            version, numbers, gauss = thing.getstate()
            return ["random", version, list(numbers), gauss]
        return None

    def _array(self, thing: object, path: str) -> Node | None:
        if type(thing).__module__.startswith("scipy.sparse.") and type(thing).__name__ in SPARSE:
            shape = list(getattr(thing, "shape", ()))
            parts = [self.node(getattr(thing, name), f"{path}.{name}") for name in ("data", "indices", "indptr")]
            return ["sparse", type(thing).__name__, shape, *parts]
        if not isinstance(thing, np.ndarray):
            return None
        if thing.dtype.hasobject or type(thing) not in (np.ndarray, np.memmap):
            raise UnfrozenError(f"{path} is an array of {type(thing).__name__} {thing.dtype}: a snapshot cannot keep it")
        base = thing.base
        if isinstance(base, np.ndarray) and type(base) is np.ndarray and base.flags.forc:
            while isinstance(base.base, np.ndarray) and type(base.base) is np.ndarray and base.base.flags.forc:
                base = base.base
            offset = thing.__array_interface__["data"][0] - base.__array_interface__["data"][0]
            whole = self.node(base, path)
            return ["part", whole, offset, list(thing.shape), list(thing.strides), *_kind(thing)]
        if not thing.flags.forc:
            raise UnfrozenError(f"{path} is an array over memory of something else: a snapshot cannot keep it")
        order = "C" if thing.flags.c_contiguous else "F"
        flat = thing.reshape(-1, order=order)  # type: ignore[call-overload]
        return ["array", self._plain_array(flat), list(thing.shape), order, *_kind(thing)]

    def _object(self, thing: object, path: str) -> Node | None:
        if isinstance(thing, functools.partial) and type(thing) is functools.partial:
            parts = [self.node(part, path) for part in (thing.func, thing.args, dict(thing.keywords))]
            return ["partial", *parts]
        if isinstance(thing, MethodType):
            return ["method", self.node(thing.__self__, path), thing.__func__.__name__]
        if isinstance(thing, FunctionType | type):
            known = is_in(thing.__module__, self._rooms) and "<" not in thing.__qualname__
            return ["name", named(thing)] if known else None
        cls = type(thing)
        if not is_in(cls.__module__, self._rooms) or "<" in cls.__qualname__ or isinstance(thing, BuiltinFunctionType):
            return None
        if isinstance(thing, Enum):
            return ["enum", named(cls), thing.name]
        if not is_plain_class(cls):
            return None
        left_out = unsaved_by(cls)
        state = {name: self.node(one, f"{path}.{name}") for name, one in attributes(thing).items() if name not in left_out}
        return ["object", named(cls), state, sorted(left_out)]


def _place(array: Array) -> tuple[object, ...]:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str


def _kind(array: Array) -> tuple[object, bool]:
    return np.lib.format.dtype_to_descr(array.dtype), bool(array.flags.writeable)


def _plain_state(state: Any) -> Any:
    if isinstance(state, Mapping):
        return {name: _plain_state(value) for name, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"numbers": state.tolist(), "dtype": state.dtype.str}
    return state.item() if isinstance(state, np.generic) else state


__all__ = ["freeze"]

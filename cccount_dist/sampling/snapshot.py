"""The state of a sampler as plain data, and back: a walk over its objects that runs no foreign code, whatever the data say.

Known are numbers, text, None, arrays (views keep sharing memory), the containers of the standard library, random generators,
sparse matrices, and objects, functions and bound methods of the packages that decide questions and of plug-ins. An object is made
without its `__init__`; who is who stays as it was. What a sampler was made from (`given`) is named and not copied. A class
names in `__unsaved__` what it makes again when it is wanted: those attributes come back as None. Whatever else is met is
refused, by the way that leads to it. Time and memory: the state without what was given.
"""

import functools
import importlib
import math
import random
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.columns import column_of, values_of
from storage.errors import CorruptionError, InputError

Node = Any  # plain JSON
Array = NDArray[Any]
DECIDING = tuple(f"cccount_dist.{room}" for room in ("sampling", "counting", "clustering", "subclustering", "similarity"))
_PLAIN = (type(None), bool, int, float, str)
_FACTORIES: dict[str, Callable[[], Any]] = {"list": list, "dict": dict, "set": set, "int": int, "float": float, "deque": deque}
_SPARSE = ("csr_matrix", "csr_array")  # of scipy, which takes long to load: it is named, and loaded where one is made
_BITS = {name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}
_LONG = 16  # values from which on a list is kept as columns, where it can be


class UnfrozenError(InputError):
    """A sampler holds something that no snapshot can keep; says where."""


@dataclass
class Frozen:
    """A graph of plain JSON, and the arrays that it names by number; they are the sampler's own: write them before it goes on."""

    graph: Node
    arrays: list[Array] = field(default_factory=list)


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


def thaw(frozen: Frozen, given: Mapping[str, object] | None = None, rooms: Sequence[str] = ()) -> Any:
    """Return what was frozen; `CorruptionError` if the data cannot be that. The frozen arrays are copied."""
    walk = _Thawer(frozen.arrays, given or {}, (*DECIDING, *rooms))
    try:
        return walk.value(frozen.graph)
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError, ImportError) as error:
        raise CorruptionError(f"a snapshot cannot be read ({type(error).__name__}: {error}): it is made again") from error


def named(thing: type | FunctionType) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def attributes(thing: object) -> dict[str, Any]:
    """Return everything that an object holds, from its slots and its dictionary."""
    slots = [name for cls in type(thing).__mro__ for name in _slots(cls)]
    found = {name: getattr(thing, name) for name in slots if hasattr(thing, name)}
    return found | getattr(thing, "__dict__", {})


def _slots(cls: type) -> Iterable[str]:
    declared = cls.__dict__.get("__slots__", ())
    names = (declared,) if isinstance(declared, str) else declared
    return (name for name in names if name not in ("__dict__", "__weakref__"))


def _unsaved(cls: type) -> frozenset[str]:
    return frozenset(getattr(cls, "__unsaved__", ()))


def _is_in(module: str, rooms: Sequence[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def _is_value(cls: type) -> bool:
    """Whether objects of a class are values: equal ones cannot be told apart, so they may be kept as columns."""
    return is_dataclass(cls) and cls.__dataclass_params__.frozen and not _unsaved(cls)  # type: ignore[attr-defined]


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
        if type(thing) in _PLAIN:
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
                if _FACTORIES.get(factory) is not thing.default_factory:
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
        return (named(cls), [one.name for one in fields(cls)]) if _is_in(cls.__module__, self._rooms) and _is_value(cls) else None

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
        if type(thing).__module__.startswith("scipy.sparse.") and type(thing).__name__ in _SPARSE:
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
            known = _is_in(thing.__module__, self._rooms) and "<" not in thing.__qualname__
            return ["name", named(thing)] if known else None
        cls = type(thing)
        if not _is_in(cls.__module__, self._rooms) or "<" in cls.__qualname__ or isinstance(thing, BuiltinFunctionType):
            return None
        if isinstance(thing, Enum):
            return ["enum", named(cls), thing.name]
        if not _is_plain_class(cls):
            return None
        left_out = _unsaved(cls)
        state = {name: self.node(one, f"{path}.{name}") for name, one in attributes(thing).items() if name not in left_out}
        return ["object", named(cls), state, sorted(left_out)]


def _is_plain_class(cls: type) -> bool:
    """Whether all that an object of a class holds is in its attributes: nothing built in but `object` is below it."""
    return all(base is object or not _is_in(base.__module__, ("builtins", "collections", "numpy")) for base in cls.__mro__)


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
        if type(node) in _PLAIN:
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
        return self._filled(number, defaultdict(_FACTORIES[factory]), keys, values)

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
        found: Array = np.empty(tuple(shape), dtype, order=order)
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
        if kind not in _SPARSE:
            raise ValueError(f"{kind} is no sparse matrix that a snapshot holds")
        from scipy import sparse

        return getattr(sparse, kind)((data, indices, indptr), shape=tuple(shape), copy=False)

    # -- our own classes and functions, by name ----------------------------------------------------------------------------

    def _make_object(self, number: int, name: str, state: dict[str, Node], left_out: list[str]) -> Any:
        cls = self._class(name)
        if not _is_plain_class(cls) or issubclass(cls, Enum) or frozenset(left_out) != _unsaved(cls):
            raise ValueError(f"{name} is no class that a snapshot holds in this way")
        found = self._met[number] = object.__new__(cls)
        known = {slot for base in cls.__mro__ for slot in _slots(base)}
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
        if not isinstance(function, FunctionType) or not _is_in(function.__module__, self._rooms):
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
        if not _is_in(module, self._rooms) or not all(part.isidentifier() for part in f"{module}.{inside}".split(".")):
            raise ValueError(f"{name!r} is not of the packages that a snapshot may name")
        ours = _is_in(module, DECIDING)
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


__all__ = ["DECIDING", "Frozen", "UnfrozenError", "attributes", "dtype_of", "freeze", "thaw"]

"""Many equal things as columns: a list of a hundred thousand numbers, names, pairs or answers as a few arrays and no objects.

Only what has no identity of its own is kept so: plain values, tuples of them, and frozen dataclasses of them. Time and memory:
the values, some hundred nanoseconds each.
"""

from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Keep = Callable[[Array], int]
ClassOf = Callable[[type], tuple[str, list[str]] | None]
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1


def column_of(values: list[Any], class_of: ClassOf, keep: Keep) -> list[Any] | None:
    """Return values, at least one, as a column; None if they are not all of one form.

    Parameters
    ----------
    class_of : returns the name and the fields of a class whose objects are values, or None
    keep : takes an array, and returns the number by which it is found again
    """
    plan = _plan(values, class_of)
    return None if plan is None else plan(keep)


def _plan(values: list[Any], class_of: ClassOf) -> Callable[[Keep], list[Any]] | None:
    """First everything is looked at, and only then an array is kept: a column that comes to nothing leaves none behind."""
    kinds = set(map(type, values))
    if len(kinds) == 2 and type(None) in kinds:
        return _optional(values, class_of)
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind is type(None):
        return lambda _: ["none", len(values)]
    if kind is int:
        fits = min(values) >= _SMALLEST and max(values) <= _LARGEST
        return (lambda keep: ["int", keep(np.array(values, np.int64))]) if fits else None
    if kind is float:
        return lambda keep: ["float", keep(np.array(values, np.float64))]
    if kind is bool:
        return lambda keep: ["bool", keep(np.array(values, np.bool_))]
    if kind is str:
        return _texts(values)
    if kind is tuple:
        return _tuples(values, class_of)
    return _objects(values, kind, class_of)


def _optional(values: list[Any], class_of: ClassOf) -> Callable[[Keep], list[Any]] | None:
    inside = _plan([value for value in values if value is not None], class_of)
    there = np.array([value is not None for value in values], np.bool_)
    return None if inside is None else lambda keep: ["optional", keep(there), inside(keep)]


def _texts(values: list[str]) -> Callable[[Keep], list[Any]]:
    different = list(dict.fromkeys(values))
    if len(different) <= max(1, len(values) // 8):
        number = {text: place for place, text in enumerate(different)}
        return lambda keep: ["choice", different, keep(np.array([number[text] for text in values], np.int64))]
    encoded = [value.encode("utf-8", "surrogatepass") for value in values]
    lengths = np.array([len(one) for one in encoded], np.int64)
    return lambda keep: ["text", keep(lengths), keep(np.frombuffer(b"".join(encoded), np.uint8))]


def _tuples(values: list[tuple[Any, ...]], class_of: ClassOf) -> Callable[[Keep], list[Any]] | None:
    length = len(values[0])
    if not length or any(len(value) != length for value in values):
        return None
    plans = [_plan(list(part), class_of) for part in zip(*values, strict=True)]
    known = [plan for plan in plans if plan is not None]
    return (lambda keep: ["tuple", *(plan(keep) for plan in known)]) if len(known) == length else None


def _objects(values: list[Any], kind: type, class_of: ClassOf) -> Callable[[Keep], list[Any]] | None:
    described = class_of(kind)
    if described is None:
        return None
    name, names = described
    plans = [_plan([getattr(value, one) for value in values], class_of) for one in names]
    known = [plan for plan in plans if plan is not None]
    return (lambda keep: ["object", name, names, *(plan(keep) for plan in known)]) if len(known) == len(names) > 0 else None


def values_of(column: list[Any], class_named: Callable[[str], type], kept: Callable[[int], Array]) -> Iterable[Any]:
    """Return the values of a column."""
    what, *rest = column
    if what == "none":
        return repeat(None, rest[0])
    if what in ("int", "float", "bool"):
        array = kept(rest[0])
        if array.dtype != {"int": np.int64, "float": np.float64, "bool": np.bool_}[what]:
            raise ValueError(f"a column of {what} is of {array.dtype}")
        return list(array.tolist())
    if what == "choice":
        return [rest[0][place] for place in kept(rest[1]).tolist()]
    if what == "optional":
        inside = iter(values_of(rest[1], class_named, kept))
        return [next(inside) if there else None for there in kept(rest[0]).tolist()]
    if what == "text":
        return _read_texts(kept(rest[0]).tolist(), kept(rest[1]).tobytes())
    if what == "tuple":
        return list(zip(*(values_of(one, class_named, kept) for one in rest), strict=True))
    if what == "object":
        return _read_objects(class_named(rest[0]), rest[1], [values_of(one, class_named, kept) for one in rest[2:]])
    raise ValueError(f"{what!r} is no column")


def _read_texts(lengths: list[int], data: bytes) -> list[str]:
    found, start = [], 0
    for length in lengths:
        found.append(data[start : start + length].decode("utf-8", "surrogatepass"))
        start += length
    return found


def _read_objects(cls: type, names: list[str], columns: list[Iterable[Any]]) -> list[Any]:
    """Objects are made without `__init__`, field by field."""
    declared = getattr(cls, "__dataclass_fields__", {})
    if list(declared) != names or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ValueError(f"{cls.__name__} has other fields than {names}")
    put, found = object.__setattr__, []
    for values in zip(*columns, strict=True):
        one: Any = object.__new__(cls)
        for name, value in zip(names, values, strict=True):
            put(one, name, value)
        found.append(one)
    return found


__all__ = ["column_of", "values_of"]

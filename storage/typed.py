"""What a small file of a workspace says, checked by type before anybody relies on it: TOML and JSON carry any type for any name.

A file is declared as a dataclass; its annotations are what is checked. Values are for each class to check (`settings.py`).
"""

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Made = TypeVar("Made", bound=DataclassInstance)

_WORDS = {str: "text", int: "a whole number", float: "a finite number", bool: "true or false", types.NoneType: "nothing"}


def made(cls: "type[Made]", found: object) -> "Made":
    """Return the dataclass that a file holds, without what it does not know; `ValueError` names the first field that is wrong.

    >>> from storage.holder import Holder
    >>> made(Holder, {"host": "a", "pid": "7", "started": 1, "boot": "", "token": ""})
    Traceback (most recent call last):
    ...
    ValueError: pid must be a whole number, not '7'
    """
    if not isinstance(found, Mapping):
        raise ValueError(f"it must hold names with values, not {said(found)}")  # noqa: TRY004 (who reads a file expects this)
    values = {}
    for field in fields(cls):
        if field.name in found:
            values[field.name] = value_of(found[field.name], _hints(cls)[field.name], field.name)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{field.name} is missing")
    return cls(**values)


def value_of(value: object, hint: Any, name: str) -> Any:
    """Return a value of this type, a whole number as a float where that is wanted; `ValueError` for any other."""
    if not _fits(value, hint):
        raise ValueError(f"{name} must be {_called(hint)}, not {said(value)}")
    kinds = _kinds(hint)
    return float(value) if float in kinds and int not in kinds and isinstance(value, int) else value


def said(value: object) -> str:
    """Return a value for a message, at most a line long.

    >>> said("pepole"), said([1])
    ("'pepole'", 'a list')
    """
    plain = isinstance(value, str | int | float | bool | None)
    return repr(value)[:60] if plain else f"a {type(value).__name__}"


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _fits(value: object, hint: Any) -> bool:
    for kind in _kinds(hint):
        if get_origin(kind) is dict:
            inner = get_args(kind)[1]
            if isinstance(value, dict) and all(isinstance(key, str) and _fits(one, inner) for key, one in value.items()):
                return True
        elif kind is float:
            if isinstance(value, int | float) and not isinstance(value, bool) and _is_finite(value):
                return True
        elif isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return True
    return False


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _called(hint: Any) -> str:
    kinds = [kind for kind in _kinds(hint) if kind is not types.NoneType]
    words = ["a table" if get_origin(kind) is dict else _WORDS.get(kind, str(kind)) for kind in kinds]
    return " or ".join(f"{word} of {_called(get_args(kind)[1])}" if word == "a table" else word
                       for word, kind in zip(words, kinds, strict=True))  # fmt: skip


__all__ = ["made", "said", "value_of"]

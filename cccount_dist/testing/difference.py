"""Where two results, or two lists of questions, first differ: bit for bit, NaN equal to NaN. Time grows with what is compared."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import cast

import numpy as np

from cccount_dist.sampling.types import Question


class SamplerError(AssertionError):
    """A sampler does not keep a promise of the protocol; says which one, and where it was seen first."""


def show(question: Question) -> str:
    """Name a question by what people see of it.

    >>> show(Question(3, 7, 9, purpose="confirm"))
    "question 3 (7, 9) 'confirm'"
    """
    page = "" if question.page is None else f" on page {question.page}"
    return f"question {question.id} ({question.u}, {question.v}) {question.purpose!r}{page}"


def differ(expected: Sequence[Question], asked: Sequence[Question]) -> str | None:
    """Return the first difference of two lists of questions in words; None if there is none.

    >>> differ([Question(0, 1, 2)], [Question(0, 1, 3)])
    "expected question 0 (1, 2) '', got question 0 (1, 3) ''"
    """
    for one, other in zip(expected, asked, strict=False):
        if one != other:
            return f"expected {show(one)}, got {show(other)}"
    if len(expected) > len(asked):
        return f"expected {show(expected[len(asked)])}, got nothing more"
    if len(asked) > len(expected):
        return f"expected nothing more, got {show(asked[len(expected)])}"
    return None


def first_difference(one: object, other: object, where: str = "result") -> str | None:
    """Return the first place where two results differ, in words; None if they are the same bit for bit.

    >>> first_difference({"low": [1.0, 2.0]}, {"low": [1.0, 3.0]})
    "result['low'][1] is 2.0, then 3.0"
    """
    if type(one) is not type(other):
        return f"{where} is {one!r}, then {other!r}"
    if isinstance(one, np.ndarray):
        return _arrays(one, cast("np.ndarray[tuple[int, ...], np.dtype[np.generic]]", other), where)
    if is_dataclass(one) and not isinstance(one, type):
        inside = [(f"{where}.{field.name}", getattr(one, field.name), getattr(other, field.name)) for field in fields(one)]
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        if list(one) != list(other):
            return f"{where} has the keys {list(one)}, then {list(other)}"
        inside = [(f"{where}[{key!r}]", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return f"{where} has {len(one)} values, then {len(other)}"
        inside = [(f"{where}[{place}]", a, b) for place, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        same = one == other or (one != one and other != other)  # NaN
        return None if same else f"{where} is {one!r}, then {other!r}"
    return next((found for name, a, b in inside if (found := first_difference(a, b, name)) is not None), None)


def _arrays(
    one: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]",
    other: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]",
    where: str,
) -> str | None:
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{where} is an array {one.shape} {one.dtype}, then {other.shape} {other.dtype}"
    same = (one == other) | ((one != one) & (other != other))  # NaN
    if same.all():
        return None
    place = tuple(np.argwhere(~same)[0].tolist())
    return f"{where}{list(place)} is {one[place]}, then {other[place]}"

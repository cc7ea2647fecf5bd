"""Cells of somebody else's file, of any type, to values that can be trusted. What cannot be one is an `InputError`."""

import math
import re

from storage.errors import InputError

_WHOLE = re.compile(r"([+-]?\d{1,18})(?:[.,]0+)?")  # a table may have written 7 as 7.0
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
_WORDS = {"true": "yes", "false": "no"}  # as Excel and JSON say it


def text(value: object, what: str, *, exact: bool = False) -> str:
    """Return a cell as text, without the space around it unless `exact`; "" for an empty one.

    >>> text(" a ", "id_u"), text(None, "id_u"), text(7, "id_u"), text(float("nan"), "id_u")
    ('a', '', '7', '')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if not isinstance(value, str | int | float):
        raise InputError(f"{what} must be text or a number, not {shortened(value)}")
    return str(value) if exact else str(value).strip()


def whole(value: object, what: str) -> int:
    """Return a whole number; 1.7 is none.

    >>> whole("3", "question_id"), whole(3.0, "question_id"), whole("3,0", "question_id")
    (3, 3, 3)
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    found = None if isinstance(value, bool) else _WHOLE.fullmatch(text(value, what))
    if found is None:
        raise InputError(f"{what} is missing or no whole number: {shortened(value)}")
    return int(found[1])


def number(value: object, what: str) -> float:
    """Return a number, 0 for an empty cell; with a decimal comma, too.

    >>> number("3,5", "seconds"), number("", "seconds"), number(2, "seconds")
    (3.5, 0.0, 2.0)
    """
    said = "" if isinstance(value, bool) else text(value, what)
    if not said and not isinstance(value, bool):
        return 0.0
    if not _NUMBER.fullmatch(said):
        raise InputError(f"{what} is no number: {shortened(value)}")
    return float(said.replace(",", "."))


def said(value: object) -> str:
    """Return what a cell `value` says, as kinds of questions read it: lower case, with a decimal point.

    >>> said(" Same "), said("0,5"), said(True), said(None)
    ('same', '0.5', 'yes', '')
    """
    found = text(value, "value").lower()
    if _DECIMAL_COMMA.fullmatch(found):
        found = found.replace(",", ".")
    if "_" in found:  # Python takes 1_0 for ten
        raise InputError(f"value is neither a word nor a number: {shortened(value)}")
    return _WORDS.get(found, found)


def shortened(value: object, most: int = 60) -> str:
    """Return a value for a message: never longer than a line.

    >>> shortened("a" * 100, 10)
    "'aaaaaaaaa…"
    """
    shown = repr(value) if isinstance(value, str | int | float | bool | None) else f"a {type(value).__name__}"
    return shown if len(shown) <= most else f"{shown[:most]}…"


__all__ = ["number", "said", "shortened", "text", "whole"]

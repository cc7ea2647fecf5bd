"""What the methods that ask for ratings may be told. Light to import: it is checked before a campaign is frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from storage.errors import InputError

MOST_S_AND_T = 2_000  # items: S&T takes O(n³) time for a question, about a second there
Missing = Literal["zero", "either"]


@dataclass(frozen=True, slots=True)
class SpectralParameters:
    """
    repeats : how often a pair may be rated
    prior : similarities of the nearest neighbours, times this, are weights until the pair is rated; 0: none
    floor : the weight of "different"
    missing : what the result takes a pair for that was not rated: `either` a guess from the other ratings or, where there
        are more than two groups or most ratings are near 0, whichever of 0 and a guess explains them better; or always `zero`
    """

    repeats: int = 3
    prior: float = 0.0
    floor: float = 1e-4
    missing: Missing = "either"


def parameters_from(given: Mapping[str, str | int | float | bool]) -> SpectralParameters:
    """Return the parameters, or raise `InputError` for one that is not known or cannot be.

    >>> parameters_from({"repeats": 1}).repeats
    1
    """
    names = [field.name for field in fields(SpectralParameters)]
    if unknown := sorted(set(given) - set(names)):
        raise InputError(f"methods that ask for ratings have no parameter {unknown[0]!r}: they take {', '.join(names)}")
    plain = SpectralParameters()
    repeats, prior, floor = (_number(name, given.get(name, getattr(plain, name))) for name in ("repeats", "prior", "floor"))
    missing = given.get("missing", plain.missing)
    if repeats < 1 or repeats != int(repeats):
        raise InputError(f"repeats is {repeats:g}: it must be a whole number, 1 or more")
    if not 0.0 <= prior <= 1.0:
        raise InputError(f"prior is {prior:g}: it must lie between 0 (none) and 1")
    if not 0.0 < floor < 1.0:
        raise InputError(f"floor is {floor:g}: it must lie between 0 and 1")
    if missing not in ("either", "zero"):
        raise InputError(f"missing is {missing!r}: use either or zero")
    return SpectralParameters(int(repeats), prior, floor, "zero" if missing == "zero" else "either")


def check_items(method: str, clusters: int, items: int) -> None:
    """Raise `InputError` if the method cannot make so many groups of so many items."""
    if not 1 <= clusters <= max(items, 1):
        raise InputError(f"clusters is {clusters}, but there are {items:,} items: use 1 to {items}")
    if method.startswith("s-and-t") and items > MOST_S_AND_T:
        raise InputError(f"s-and-t works up to {MOST_S_AND_T:,} items, and there are {items:,}: use iu-red")


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{name} is {value!r}: it must be a number")
    return float(value)

"""What a user may set about a method beyond the common options: named scalars, checked once, kept with the campaign."""

import math
from collections.abc import Mapping

from storage.errors import InputError
from storage.settings import Scalar


class Parameters:
    """Reads the parameters of one method; `finish` refuses what the method does not know.

    >>> given = Parameters("nis", {"ratio": 3})
    >>> given.whole("ratio", 7, least=1), given.number("tau", 0.5)
    (3, 0.5)
    >>> given.finish()
    """

    def __init__(self, method: str, given: Mapping[str, Scalar]) -> None:
        self._method = method
        self._given = dict(given)
        self._known: list[str] = []

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(f"{name} of {self._method} must be a whole number, {least} or more, not {value!r}")
        return value

    def number(self, name: str, default: float, *, least: float = -math.inf, most: float = math.inf) -> float:
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"{name} of {self._method} must be a number, not {value!r}")
        if not least <= value <= most:
            bounds = f"at least {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
            raise InputError(f"{name} of {self._method} must be {bounds}, not {value}")
        return float(value)

    def text(self, name: str, default: str) -> str:
        return str(self._take(name, default))

    def choice(self, name: str, default: str, options: tuple[str, ...]) -> str:
        value = self._take(name, default)
        if value not in options:
            raise InputError(f"{name} of {self._method} must be one of {', '.join(options)}, not {value!r}")
        return str(value)

    def finish(self) -> None:
        for name in self._given:
            known = f"it has {', '.join(sorted(self._known))}" if self._known else "it has none"
            raise InputError(f"{self._method} has no parameter {name!r}: {known}")

    def _take(self, name: str, default: Scalar) -> Scalar:
        self._known.append(name)
        return self._given.pop(name, default)

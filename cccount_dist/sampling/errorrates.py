"""How often answers are wrong, as a user says it: shared by counting and grouping.

`miss`: "different" though the same; `false_same`: "same" though different; `page_miss` and `page_false`: nothing picked though
one is the same, something picked though none is.
"""

from dataclasses import dataclass

from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class GivenRates:
    """Rates that the user knows. All zero: answers are taken as they are."""

    miss: float = 0.0
    false_same: float = 0.0
    page_miss: float = 0.0
    page_false: float = 0.0

    def __post_init__(self) -> None:
        for name in ("miss", "false_same", "page_miss", "page_false"):
            rate = getattr(self, name)
            if not 0.0 <= rate < 0.5:
                raise InputError(f"the rate {name} of wrong answers must be at least 0 and below 0.5, not {rate}")
        if self.any and 0.0 in (self.miss, self.false_same):
            raise InputError(f"give both rates of wrong answers above 0, or both as 0, not {self.miss} and {self.false_same}")

    @property
    def any(self) -> bool:
        return max(self.miss, self.false_same, self.page_miss, self.page_false) > 0.0


EXACT = GivenRates()


def parse_rates(text: str) -> GivenRates | None:
    """Read `none` (answers are taken as they are), `estimate` (None), or two rates: misses, and false "same".

    A page is taken to miss as often as a pair, and to pick a wrong one as often as a quarter of that.

    >>> parse_rates("none") == EXACT, parse_rates("estimate"), parse_rates("0.04,0.02").false_same
    (True, None, 0.02)
    """
    if text in ("none", "estimate"):
        return EXACT if text == "none" else None
    try:
        miss, false_same = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"wrong answers are none, estimate, or two rates like 0.04,0.02, not {text!r}") from None
    return GivenRates(miss, false_same, miss, miss / 4)

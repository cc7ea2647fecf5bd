"""What the methods that ask for ratings may be told. Light to import: it is checked before a campaign is frozen."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cccount_dist.options import PARAMETER_IS, Option, Options
from storage.errors import InputError

MOST_S_AND_T = 2_000  # items: S&T takes O(n³) time for a question, about a second there
Missing = Literal["either", "zero"]
Begin = Literal["connect", "identity"]
Estimate = Literal["auto", "median"]
Repeating = Literal["active", "always"]

# Also options of `cccount cluster` by their own names, and said once for both.
REPEATS = Option("Ratings: how often one pair may be rated.", metavar="R", least=1, shown="3")
PRIOR = Option(
    "Ratings: weight of the embeddings' similarity until a pair is rated; 0: none.", metavar="W", least=0.0, most=1.0,
    shown="none", rule="a number between 0 (none) and 1",
)  # fmt: skip


def read_pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Return the pairs that a text names, the smaller item first; `InputError` if it names none.

    >>> read_pairs("3-17, 20-4"), read_pairs("")
    (((3, 17), (4, 20)), ())
    """
    found = []
    for word in text.split(",") if text.strip() else ():
        ends = [part.strip() for part in word.split("-")]
        if len(ends) != 2 or not all(end.isdecimal() for end in ends) or int(ends[0]) == int(ends[1]):
            raise InputError(f"unavailable has {word.strip()!r}: write pairs of two different item numbers, like 3-17,4-20")
        found.append((min(map(int, ends)), max(map(int, ends))))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class SpectralParameters(Options):
    """Of every method that asks for ratings."""

    wording = PARAMETER_IS
    of = "a method that asks for ratings"

    repeats: Annotated[int, REPEATS] = 3
    prior: Annotated[float, PRIOR] = 0.0
    floor: Annotated[float, Option('The weight of "different"; printed: 0, no connection.', least=0.0, below=1.0)] = 1e-4
    missing: Annotated[
        Missing,
        Option(
            "A pair that nobody rated: zero; either: zero, or a guess from the other ratings where that explains more.",
            choices=("either", "zero"),
        ),
    ] = "either"
    begin: Annotated[
        Begin,
        Option(
            "First pairs: those that connect the items, or (identity) any, as from the W = I of the paper.",
            choices=("connect", "identity"),
        ),
    ] = "connect"
    estimate: Annotated[
        Estimate,
        Option(
            "A weight is the median of its ratings; auto: where all ratings are 0 or 1, their posterior mean.",
            choices=("auto", "median"),
        ),
    ] = "auto"
    repeating: Annotated[
        Repeating,
        Option("Pairs are rated again where that helps, or each one always as often as it may be.", choices=("active", "always")),
    ] = "active"
    unavailable: Annotated[
        str,
        Option(
            "Pairs of item numbers that cannot be measured: 3-17,4-20.",
            read=read_pairs,
            rule="pairs like 3-17,4-20",
            shown="none",
        ),
    ] = ""
    open: Annotated[int, Option("Questions that may be open at a time; 0: as many as are wanted.", least=0)] = 0


def check_items(method: str, clusters: int, items: int) -> None:
    """Raise `InputError` if the method cannot make so many groups of so many items."""
    if not 1 <= clusters <= max(items, 1):
        raise InputError(f"clusters is {clusters}, but there are {items:,} items: use 1 to {items}")
    if method.startswith("s-and-t") and items > MOST_S_AND_T:
        raise InputError(f"s-and-t works up to {MOST_S_AND_T:,} items, and there are {items:,}: use iu-red")

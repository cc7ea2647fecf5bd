"""What the methods that ask for ratings may be told. Light to import: it is checked before a campaign is frozen."""

from dataclasses import dataclass
from typing import Annotated, Literal

from cccount_dist.options import PARAMETER_IS, Option, Options
from storage.errors import InputError

MOST_S_AND_T = 2_000  # items: S&T takes O(n³) time for a question, about a second there
Missing = Literal["either", "zero"]

# Also options of `cccount cluster` by their own names, and said once for both.
REPEATS = Option("Ratings: how often one pair may be rated.", metavar="R", least=1, shown="3")
PRIOR = Option(
    "Ratings: weight of the embeddings' similarity until a pair is rated; 0: none.", metavar="W", least=0.0, most=1.0,
    shown="none", rule="a number between 0 (none) and 1",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SpectralParameters(Options):
    """Of every method that asks for ratings."""

    wording = PARAMETER_IS
    of = "a method that asks for ratings"

    repeats: Annotated[int, REPEATS] = 3
    prior: Annotated[float, PRIOR] = 0.0
    floor: Annotated[float, Option('The weight of "different".', above=0.0, below=1.0)] = 1e-4
    missing: Annotated[
        Missing,
        Option(
            "A pair that nobody rated counts as zero; either: or as a guess from the other ratings, where that explains more.",
            choices=("either", "zero"),
        ),
    ] = "either"


def check_items(method: str, clusters: int, items: int) -> None:
    """Raise `InputError` if the method cannot make so many groups of so many items."""
    if not 1 <= clusters <= max(items, 1):
        raise InputError(f"clusters is {clusters}, but there are {items:,} items: use 1 to {items}")
    if method.startswith("s-and-t") and items > MOST_S_AND_T:
        raise InputError(f"s-and-t works up to {MOST_S_AND_T:,} items, and there are {items:,}: use iu-red")

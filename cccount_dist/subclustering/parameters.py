"""What may be set about subclustering. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_IS, Option, Options

STARTS = ("random", "pam")

# Also options of `cccount subcluster` by their own names, and said once for both.
SIZE = Option("Images of each class.", metavar="N", least=1, rule="at least 1", shown="10")
START = Option("First centroids: random, or medoids.", choices=STARTS, shown="random")


@dataclass(frozen=True, slots=True)
class SubclusterParameters(Options):
    """Active subclustering."""

    wording = PARAMETER_IS

    size: Annotated[int, SIZE] = 10
    start: Annotated[str, START] = STARTS[0]

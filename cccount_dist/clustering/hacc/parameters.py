"""What may be set about Active-HACC. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_IS, Option, Options

RUNS = 100
MOST_RUNS = 254  # counts are single bytes, and 255 marks a pair that is not to be asked


@dataclass(frozen=True, slots=True)
class HaccParameters(Options):
    """Active-HACC."""

    wording = PARAMETER_IS

    runs: Annotated[int, Option("k-means runs behind the probabilities.", least=1, most=MOST_RUNS)] = RUNS
    units: Annotated[
        int, Option("Condense the items to so many micro-clusters; 0: none up to 5,000 items and 2,000 above.", least=0)
    ] = 0
    effects: Annotated[str, Option("exact, or local for the paper's approximation H2.", choices=("exact", "local"))] = "exact"
    open: Annotated[int, Option("Questions that may be open at a time; beyond 16 some are about the same groups.", least=1)] = 16

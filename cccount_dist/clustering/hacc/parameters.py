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
    condense: Annotated[
        str,
        Option(
            "How: along the neighbour graph, or by k-means as in the paper (none up to 1,000 items and 700 above).",
            choices=("graph", "kmeans"),
        ),
    ] = "graph"
    finer: Annotated[bool, Option("Every second k-means run makes 2 K clusters; printed: all make K.")] = True
    smoothing: Annotated[bool, Option("P = (runs together + 1)/(runs + 2); printed: runs together / runs.")] = True
    pooling: Annotated[bool, Option("Items that are known to be the same share their probabilities; printed: not.")] = True
    unlikely: Annotated[
        float, Option("Pairs of two clusters with a P below this are not asked: the first half of H1.", least=0.0, below=1.0)
    ] = 0.0
    stop: Annotated[
        float, Option("Stop when no question is expected to change this share of the pairs; 0: never.", least=0.0, below=1.0)
    ] = 0.0
    effects: Annotated[str, Option("exact, or local for the paper's approximation H2.", choices=("exact", "local"))] = "exact"
    open: Annotated[int, Option("Questions that may be open at a time; beyond 16 some are about the same groups.", least=1)] = 16

"""What may be set about each counting method, declared once. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_OF, Option, Options

RATIO = 7.0  # section 4 of the NIS paper, "Parameters for Nested-IS": M = 7 N
ALPHA = 0.5  # N ∝ T^α: one half keeps N proportional to M
UNIFORM = 0.1  # of the draws: ours, see `nis.py`; 0 is the paper's
RELEASED_RATIO = 1  # of the authors' released code
SIMILARITIES = ("metric", "soft", "softmax")
SMALLEST_TAU = 0.1  # below, a row's weights no longer fit into the whole numbers that draws are made with
MOST_REPLICATES = 10_000
LARGEST_PAGE = 24


def _readable_rates(text: str) -> None:
    from cccount_dist.sampling.errorrates import parse_rates

    parse_rates(text)


# Also options of `cccount count` by their own names, and said once for both.
GRID = Option(
    "Show up to so many clusters on one page.", metavar="1..24", least=1, most=LARGEST_PAGE, shown="1", absent=1,
    rule=f"1 to {LARGEST_PAGE} clusters on a page",
)  # fmt: skip
WRONG_ANSWERS = Option(
    "How often people say different of the same, and same of different; or estimated from the answers.",
    metavar="none|estimate|M,F",
    read=_readable_rates, shown="estimate for people", absent="none",
)  # fmt: skip
SEARCH = Option(
    "fast skips pairs that are hardly the same, where it is safe; trusting does so earlier, where vectors tell clusters apart.",
    choices=("full", "fast", "trusting"), shown="fast", absent="full",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Parameters(Options):
    wording = PARAMETER_OF


@dataclass(frozen=True, slots=True)
class PlacingParameters(_Parameters):
    """The default method."""

    grid: Annotated[int, GRID] = 1
    wrong_answers: Annotated[str, WRONG_ANSWERS] = "none"
    lanes: Annotated[
        int,
        Option(
            "Items that are placed at the same time; above 16 this is the most, and one begins when questions are wanted.",
            least=1,
        ),
    ] = 1
    ahead: Annotated[
        str,
        Option(
            "With several items under way: one question about each, or those that are most likely needed.",
            choices=("items", "likely"), absent="items",
        ),
    ] = "items"  # fmt: skip
    search: Annotated[str, SEARCH] = "full"
    space: Annotated[
        str, Option("sharp also looks at similarities in a second space.", choices=("given", "sharp"), absent="given")
    ] = "given"
    same_pair: Annotated[
        int, Option("How often the very same pair may be asked, in all; 0: as often as it helps.", least=0, absent=0)
    ] = 0
    interval: Annotated[
        str,
        Option(
            "The interval: the widest of three ways to count, or of one posterior.", choices=("widest", "one"), absent="widest"
        ),
    ] = "widest"


_RATIO = Option("M = ratio · N^((1 - alpha)/alpha): pairs for each anchor, beside the number of anchors.", above=0.0)
_ALPHA = Option("N grows as T^alpha, T pairs in all; one half: M = ratio · N.", least=0.1, most=1.0)


@dataclass(frozen=True, slots=True)
class NestedParameters(_Parameters):
    """Nested Monte Carlo."""

    ratio: Annotated[float, _RATIO] = RATIO
    alpha: Annotated[float, _ALPHA] = ALPHA


@dataclass(frozen=True, slots=True)
class _Proposal(_Parameters):
    """What a proposal rests on: one of three similarities."""

    similarity: Annotated[str, Option("The similarity by which items are drawn.", choices=SIMILARITIES)] = "metric"
    tau: Annotated[float, Option("Temperature of the softmax.", least=SMALLEST_TAU, where={"similarity": "softmax"})] = 0.5
    clusters: Annotated[
        int, Option("Clusters of the soft clustering; 0: at the elbow.", least=0, where={"similarity": "soft"})
    ] = 0
    sigma: Annotated[
        float,
        Option(
            "The width of the soft clustering; 0: the mean distance to the nearest centre.",
            least=0.0,
            where={"similarity": "soft"},
        ),
    ] = 0.0
    length: Annotated[
        float,
        Option("Mean length of the vectors that sigma is meant for; 0: as they are.", least=0.0, where={"similarity": "soft"}),
    ] = 0.0


@dataclass(frozen=True, slots=True)
class NisParameters(_Proposal):
    """Nested importance sampling."""

    ratio: Annotated[float, _RATIO] = RATIO
    alpha: Annotated[float, _ALPHA] = ALPHA
    uniform: Annotated[
        float,
        Option("Share of the draws that is uniform; 0 as printed: then a similarity of 0 is never drawn.", least=0.0, below=1.0),
    ] = UNIFORM


@dataclass(frozen=True, slots=True)
class ReleasedNestedParameters(_Parameters):
    """Nested Monte Carlo as the authors' code has it."""

    ratio: Annotated[int, Option("Pairs for each anchor, divided by the number of anchors.", least=1)] = RELEASED_RATIO


@dataclass(frozen=True, slots=True)
class ReleasedNisParameters(_Proposal):
    """Nested importance sampling as the authors' code has it."""

    ratio: Annotated[int, Option("Pairs for each anchor, divided by the number of anchors.", least=1)] = RELEASED_RATIO
    similarity: Annotated[str, Option("The similarity by which items are drawn.", choices=SIMILARITIES)] = "softmax"


@dataclass(frozen=True, slots=True)
class InverseParameters(_Parameters):
    """Inverse sampling."""

    alpha: Annotated[float, Option("The exponent of the weights (1 + degree)^-alpha.", least=0.0, most=2.0)] = 0.0
    replicates: Annotated[int, Option("How often it draws until a match, fixed in advance.", least=1)] = MOST_REPLICATES


@dataclass(frozen=True, slots=True)
class PCKMeansParameters(_Parameters):
    """PCK-means from pairs."""

    alpha: Annotated[float, Option("Weight of must-links.", least=0.0)] = 1.0
    beta: Annotated[float, Option("Weight of cannot-links.", least=0.0)] = 1.0


@dataclass(frozen=True, slots=True)
class ExploreParameters(PCKMeansParameters):
    """PCK-means after an exploration."""

    clusters: Annotated[int, Option("Clusters that are known to be there; 0: not known.", least=0)] = 0

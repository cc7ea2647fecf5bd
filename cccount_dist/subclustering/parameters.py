"""What may be set about subclustering. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_IS, Option, Options

STARTS = ("random", "pam")
FORMS = ("ours", "printed")
AHEAD = ("apart", "likely")

# Also options of `cccount subcluster` by their own names, and said once for both.
SIZE = Option("Images of each class.", metavar="N", least=1, rule="at least 1", shown="10")
START = Option("First centroids: random, or medoids.", choices=STARTS, shown="random")


@dataclass(frozen=True, slots=True)
class SubclusterParameters(Options):
    """Active subclustering."""

    wording = PARAMETER_IS

    size: Annotated[int, SIZE] = 10
    start: Annotated[str, START] = STARTS[0]
    restricted: Annotated[int, Option("|R|: images that may become centroids; 0: 25 for each class.", least=0)] = 0
    weight: Annotated[
        float, Option("Of the part of the cost that keeps centroids apart; 2: the paper's product over ordered pairs.", least=0.0)
    ] = 1.0
    scale: Annotated[float, Option("λ of P = exp(-d/λ); 0: guessed from K, then fitted to the answers.", least=0.0)] = 0.0
    form: Annotated[str, Option("ours, or printed: the paper's algorithm 1, up to 6,000 candidates.", choices=FORMS)] = "ours"
    ahead: Annotated[
        str,
        Option(
            "While answers are awaited: what no open question can tell, or of that what follows from the likeliest answers.",
            choices=AHEAD, where={"form": "ours"}, absent=AHEAD[0],
        ),
    ] = AHEAD[0]  # fmt: skip
    thresholding: Annotated[
        bool,
        Option("Fill a place at once, with up to q_th questions in a row (appendix B of the paper).", where={"form": "printed"}),
    ] = False

"""What can be chosen about APC: every variant of the paper's ablation, and the limits of its stages. Light to import."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_IS, Option, Options
from storage.settings import Scalar

EPSILON = math.exp(-4.0)  # section 3.3
PROBABILITIES = ("plus", "times", "all", "centre")  # P₊ (4), P× (3), P (2), P_c
RECALLS = ("descending", "top")
FORMS = ("ours", "printed")
_OURS, _PRINTED = {"form": "ours"}, {"form": "printed"}


def _share(said: str, where: Mapping[str, Scalar] | None = None) -> Option:
    return Option(said, least=0.0, below=1.0, where=where or {})


def _whole(said: str, least: int, where: Mapping[str, Scalar] | None = None) -> Option:
    return Option(said, least=least, rule=f"a whole number, and must be at least {least}", where=where or {})


def _word(said: str, choices: tuple[str, ...], where: Mapping[str, Scalar] | None = None) -> Option:
    return Option(said, choices=choices, rule=f"a word: use one of {', '.join(choices)}", where=where or {})


@dataclass(frozen=True, slots=True)
class ApcParameters(Options):
    """The defaults are ours (docs/explanation/grouping.md); `form=printed` is the paper's algorithm (`printed.py`)."""

    wording = PARAMETER_IS
    of = "apc"

    form: Annotated[str, _word("ours, or printed: algorithms 1 to 3 of the paper, up to 6,000 items.", FORMS)] = "ours"
    probability: Annotated[
        str, _word("How it is judged whether two clusters are one: P₊, P×, P or P_c of the paper.", PROBABILITIES)
    ] = "plus"
    recall: Annotated[
        str, _word("Pairs that are looked at: above a falling threshold, or the best (as many as clusters).", RECALLS, _OURS)
    ] = "descending"
    threshold: Annotated[
        float, _share("P_l, for the whole run; 0: it falls from 0.7 to 0.1 in steps of 0.1; printed: always one of these.")
    ] = 0.0
    compactness: Annotated[float, _share("τ of the purity test; 0 leaves the test out.")] = 0.7
    pseudo_classes: Annotated[
        int, _whole("Classes of the k-means behind the first probabilities; 0: found by the graph; printed: by the elbow.", 0)
    ] = 0
    epochs: Annotated[int, _whole("T: how often the list of pairs is made.", 1, _PRINTED)] = 2
    epsilon: Annotated[
        float, Option("ε of the probabilities of pairs that were answered.", above=0.0, below=0.5, where=_PRINTED)
    ] = EPSILON
    added: Annotated[float, Option("Pairs of each kind that P₊ has beside those that are counted; printed: 0.", least=0.0)] = 1.0
    nearest: Annotated[int, _whole("Members of the other cluster that an item is compared with in P₊ and P×.", 1)] = 4
    partition_questions: Annotated[int, _whole("Questions that splitting one cluster may take.", 0, _OURS)] = 20
    partition_groups: Annotated[int, _whole("Groups that splitting one cluster may make.", 2, _OURS)] = 4
    centroids: Annotated[
        int, _whole("Nearest centroids that are candidates although no neighbour edge leads there.", 0, _OURS)
    ] = 10
    outliers: Annotated[bool, Option("Ask at the end where single items belong.", where=_OURS)] = True
    attach: Annotated[float, _share("P₊ from which an outlier that nobody was asked about joins a cluster; 0: never.", _OURS)] = (
        0.5
    )
    refit: Annotated[bool, Option("Learn the probabilities again from what people said.", where=_OURS)] = True
    stop: Annotated[float, _share("Stop when the best question gains less of the clustering's entropy than this.", _OURS)] = 0.0
    open: Annotated[
        int, _whole("Questions that may be open at a time; beyond 16 some are asked before their turn.", 1, _OURS)
    ] = 16

    @property
    def levels(self) -> tuple[float, ...]:
        """The thresholds P_l, one after the other."""
        if self.recall == "top":
            return (0.0,)
        return (self.threshold,) if self.threshold else (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


def parameters_from(given: Mapping[str, Scalar]) -> ApcParameters:
    """Return the parameters with these values; a wrong name or kind of value is refused.

    >>> parameters_from({"probability": "times", "threshold": 0.5}).levels
    (0.5,)
    """
    return ApcParameters.read(given)

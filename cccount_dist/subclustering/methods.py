"""The subclustering methods: declared here, and registered. Light to import: a builder imports its sampler when it is wanted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cccount_dist.room import Size
from cccount_dist.sampling.methods import PAPER, Method, Start, register_method
from cccount_dist.sampling.types import Sampler
from cccount_dist.subclustering.parameters import AHEAD, FORMS, STARTS, SubclusterParameters
from storage.settings import Scalar

if TYPE_CHECKING:
    from cccount_dist.subclustering.candidates import Candidates
    from cccount_dist.subclustering.passive import Options
    from cccount_dist.subclustering.result import Subclusters

KIND = "subcluster"
DEFAULT = "active"


@dataclass(frozen=True, slots=True)
class SubclusterInputs:
    """Everything that the sampler may be made from; part of what makes its questions reproducible."""

    clusters: int
    seed: int
    candidates: "Callable[[Options], Candidates]"  # the restricted set, which may have been prepared on a cluster


def _active(inputs: SubclusterInputs, given: SubclusterParameters) -> "Sampler[Subclusters]":
    from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering

    options = chosen_options(inputs.clusters, inputs.seed, given)
    if given.form == "printed":
        from cccount_dist.sampling.programs import ProgramSampler
        from cccount_dist.subclustering.printed import PrintedSubclustering

        return ProgramSampler(PrintedSubclustering(inputs.candidates(options), options, given.thresholding))
    return ActiveSubclustering(inputs.candidates(options), options)


def chosen_options(clusters: int, seed: int, given: SubclusterParameters) -> "Options":
    """Return what was chosen; 0 stands for what is worked out."""
    from cccount_dist.subclustering.passive import Options

    restricted, scale, likely = given.restricted or None, given.scale or None, given.ahead == AHEAD[1]
    return Options(clusters, given.size, seed, restricted, given.start, given.weight, scale, likely)


def _memory(size: Size, given: SubclusterParameters) -> int:
    """Candidates with their lists and vectors, twice while they grow; the order of all items; blocks of distances."""
    candidates = min(size.items, 2 * 25 * (size.clusters or 1))
    lists = max(4 * given.size, 32)
    return 32 * size.items + 2 * candidates * (16 * lists + 8 * size.dimensions) + 64 * 2**20


def _started(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    """Labels answer one by one; people have questions that lie ready."""
    ahead = {} if start.simulated or given.get("form", FORMS[0]) != FORMS[0] else {"ahead": AHEAD[1]}
    return {"size": 10, "start": STARTS[0], **ahead, **given}


# Section 8: n = 10, |R| from 5 K to 25 K, random first centroids; the product of equation 1 runs over ordered pairs.
PRINTED: Mapping[str, Scalar] = {
    "form": "printed", "size": 10, "start": "random", "restricted": 0, "weight": 2.0, "scale": 0.0, "thresholding": False,
}  # fmt: skip

register_method(
    Method(
        DEFAULT, KIND, "Active subclustering: questions between classes and within them, about a few images of each.", _active,
        SubclusterParameters, ("vectors", "clusters"), paper="Active subclustering", started=_started, prepares=True,
        presets={PAPER: PRINTED, "paper-threshold": {**PRINTED, "thresholding": True}},
        memory=_memory,
    )
)  # fmt: skip

"""The counting methods: declared here, and registered. Light to import: builders import their sampler when it is wanted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cccount_dist.clustering.catalogue.parameters import OPEN_SHEETS, CatalogueParameters
from cccount_dist.counting import explained, projected
from cccount_dist.counting.parameters import (
    ExploreParameters,
    InverseParameters,
    NestedParameters,
    NisParameters,
    PCKMeansParameters,
    PlacingParameters,
    ReleasedNestedParameters,
    ReleasedNisParameters,
)
from cccount_dist.sampling.methods import AUTO, PAPER, Method, Start, find_method, methods_of, register_method
from cccount_dist.sampling.types import Sampler
from storage.settings import Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cccount_dist.counting.result import CountResult
    from cccount_dist.similarity.localscores import LocalScores
    from cccount_dist.similarity.sharp import SharpRows

KIND = "count"
DEFAULT = "placing"  # what `auto` stands for
WHY_DEFAULT = (
    "auto is placing: of all methods measured it has the smallest error at the same effort, and an interval that covers; "
    "inverse and the paper's methods are there to compare with. Unless --search full was asked for, it skips pairs that are "
    "hardly the same once five matches have taught it which those are, and counts what may be missed by it"
)
NIS_PAPER = "Nested importance sampling"
# Section 4 of the paper: N : M = 1 : 7, correlation of k-means soft assignments (equations 10 and 11), σ = 7 for ResNet50. The
# length of those features is not printed; pooled ResNet50 features are about 30 long, and σ acts only beside a length.
NIS_PRINTED: Mapping[str, Scalar] = {
    "ratio": 7.0, "alpha": 0.5, "uniform": 0.0, "similarity": "soft", "clusters": 0, "sigma": 7.0, "length": 30.0,
}  # fmt: skip
TWICE = 2  # confirmations show other pictures; where a cluster has no other, its only one is shown once more
LANES = 512  # items under way at once when people answer, if so many questions are wanted: nobody waits for anybody


@dataclass(frozen=True, slots=True)
class CountingInputs:
    """Everything that a counting sampler may be made from; part of what makes its questions reproducible."""

    vectors: "NDArray[np.float32]"  # (n, d), prepared
    degree: "NDArray[np.float64]"  # (n,)
    seed: int
    level: float
    mean_square: float | None = None  # the Euclidean scale, if that is the metric
    sharp: "Callable[[], SharpRows] | None" = None  # makes the rows of the second space, where there are neighbour lists
    local: "LocalScores | None" = None  # of pictures that were compared, where they were
    earlier: tuple[int, ...] = ()  # how many items there were before the collection grew, the oldest number first
    neighbors: "Callable[[], NDArray[np.int32]] | None" = None  # gives the neighbour lists (n, k), where there are any


def _placing(inputs: CountingInputs, given: PlacingParameters) -> "Sampler[CountResult]":
    from cccount_dist.counting.placing.build import build_placing

    return build_placing(inputs, given)


def _started_placing(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    """Labels answer one by one and do not err unless they are told to; people do both."""
    defaults: dict[str, Scalar] = {
        "grid": 1,
        "wrong_answers": "none" if start.simulated and not start.error_rate else "estimate",
        "lanes": 1 if start.simulated else LANES,
        "space": "sharp",
        "interval": "one",
    }
    if not start.simulated or start.error_rate:  # who was wrong about two pictures is wrong about them again
        defaults["same_pair"] = TWICE
    frozen = defaults | {"search": "fast"} | dict(given)
    return frozen if frozen["search"] != "full" else {name: value for name, value in frozen.items() if name != "search"}


def _sheets(inputs: CountingInputs, given: CatalogueParameters) -> "Sampler[CountResult]":
    from cccount_dist.counting.sheets.build import build_sheets

    return build_sheets(inputs, given)


def _started_sheets(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    """People err, and many sheets lie ready for them."""
    defaults: dict[str, Scalar] = {"wrong_answers": "none"} if start.simulated and not start.error_rate else {}
    return {**defaults, **({} if start.simulated else {"open": OPEN_SHEETS}), **given}


def _paper(name: str) -> "Callable[[CountingInputs, object], Sampler[CountResult]]":
    def build(inputs: CountingInputs, given: object) -> "Sampler[CountResult]":
        from cccount_dist.counting import paper

        made: Sampler[CountResult] = getattr(paper, name)(inputs, given)
        return made

    return build


for _method in (
    Method(
        DEFAULT, KIND, "Places items one after another among the clusters that were seen; narrow, and allows for wrong answers.",
        _placing, PlacingParameters, ("vectors",), ("neighbors", "matches"), checks="all", started=_started_placing,
        memory=projected.placing, title="Placing random items", explained=explained.PLACING,
    ),
    Method(
        "nis", KIND, "Nested importance sampling; --preset paper: as printed.", _paper("build_nis"), NisParameters,
        ("vectors", "degrees"), paper=NIS_PAPER, presets={PAPER: NIS_PRINTED},
        memory=projected.nested, title="Nested importance sampling", explained=explained.NIS, early=explained.EARLY,
    ),
    Method(
        "nested-mc", KIND, "Nested Monte Carlo, the paper's baseline.", _paper("build_nested_mc"), NestedParameters,
        paper=NIS_PAPER, presets={PAPER: {"ratio": 7.0, "alpha": 0.5}},
        memory=projected.nested, title="Nested Monte Carlo", explained=explained.NESTED_MC, early=explained.EARLY,
    ),
    Method(
        "nis-released", KIND, "Nested importance sampling as the authors' code has it.", _paper("build_nis_released"),
        ReleasedNisParameters, ("vectors", "degrees"), paper=NIS_PAPER,
        memory=projected.nested,
        title="Nested importance sampling, as released", explained=explained.NIS + explained.RELEASED, early=explained.EARLY,
    ),
    Method(
        "nested-mc-released", KIND, "Nested Monte Carlo as the authors' code has it.", _paper("build_nested_mc_released"),
        ReleasedNestedParameters, ("degrees",), paper=NIS_PAPER,
        memory=projected.nested,
        title="Nested Monte Carlo, as released", explained=explained.NESTED_MC + explained.RELEASED, early=explained.EARLY,
    ),
    Method(
        "inverse", KIND, "Inverse sampling: draws items until one is met again.", _paper("build_inverse"), InverseParameters,
        ("degrees",),
        memory=projected.nested, title="Inverse sampling", explained=explained.INVERSE,
    ),
    Method(
        "pckmeans-random", KIND, "PCK-means from random pairs; gives no honest interval.", _paper("build_pckmeans_random"),
        PCKMeansParameters, ("vectors", "degrees"), paper=NIS_PAPER,
        memory=projected.pckmeans, title="PCK-means, random questions", explained=explained.PCKMEANS,
    ),
    Method(
        "pckmeans-explore", KIND, "PCK-means after an exploration of far items.", _paper("build_pckmeans_explore"),
        ExploreParameters, ("vectors", "degrees"), paper=NIS_PAPER,
        memory=projected.pckmeans, title="PCK-means, farthest-first questions", explained=explained.PCKMEANS,
    ),
    Method(
        "sheets", KIND, "Groups by sheets of one anchor and up to 24 cells; random items say what is missing.", _sheets,
        CatalogueParameters, ("vectors", "neighbors"), started=_started_sheets, memory=projected.sheets,
        title="Grouping by sheets, with random items", explained=explained.SHEETS, early=explained.SHEETS_EARLY, revision=2,
    ),
):  # fmt: skip
    register_method(_method)


def counting_method(name: str) -> Method:
    """Return the method that a name stands for. A campaign is frozen with the method's own name, never with `auto`.

    >>> counting_method("auto").name
    'placing'
    """
    return find_method(KIND, DEFAULT if name == AUTO else name, "counting method")


def counting_methods() -> list[str]:
    """The names of all counting methods."""
    return list(methods_of(KIND))


def make_counter(
    method: str,
    *,
    vectors: "NDArray[np.float32]",
    degree: "NDArray[np.float64]",
    seed: int = 0,
    level: float = 0.95,
    parameters: Mapping[str, Scalar] | None = None,
    mean_square: float | None = None,
    sharp: "Callable[[], SharpRows] | None" = None,
    local: "LocalScores | None" = None,
    earlier: tuple[int, ...] = (),
    neighbors: "Callable[[], NDArray[np.int32]] | None" = None,
) -> "Sampler[CountResult]":
    """Return a new sampler of the number of clusters.

    Parameters
    ----------
    method : `auto` or a name of `cccount methods`
    vectors : (n, d) float32, prepared for dot products; an array or a memory map
    degree : (n,) float64, NaN for an item without a vector, which is not counted
    parameters : of this method alone; what is not given has its default
    mean_square : the mean squared distance of two items, if the metric is Euclidean (`metrics.EuclideanScale`)
    sharp : makes the rows of a second space (`similarity/sharp.py`), for placing with the parameter `space=sharp`
    local : scores of local matches between pictures (`similarity/localscores.py`), for placing
    earlier : how many items there were before the collection grew, the oldest number first: their order is kept (`order.py`)
    neighbors : gives the neighbour lists (n, k), for sheets
    """
    found = counting_method(method)
    inputs = CountingInputs(vectors, degree, seed, level, mean_square, sharp, local, earlier, neighbors)
    return found.build(inputs, found.read(parameters or {}))

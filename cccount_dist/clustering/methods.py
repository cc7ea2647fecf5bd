"""The grouping methods: declared here, and registered. Light to import: builders import their sampler when it is wanted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from cccount_dist.clustering import projected
from cccount_dist.clustering.apc.parameters import EPSILON, ApcParameters
from cccount_dist.clustering.catalogue.parameters import OPEN_SHEETS, CatalogueParameters
from cccount_dist.clustering.evidence.parameters import EvidenceParameters, given_rates
from cccount_dist.clustering.hacc.parameters import HaccParameters
from cccount_dist.clustering.spectral.parameters import SpectralParameters, check_items
from cccount_dist.sampling.methods import AUTO, PAPER, Method, Need, Start, find_method, methods_of, register_method
from cccount_dist.sampling.settling import CONFIDENT
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError
from storage.settings import Scalar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cccount_dist.clustering.result import Grouping

KIND = "cluster"
OPEN = 512  # questions that may be open at a time when people answer, if so many are wanted: nobody waits for anybody
DEFAULT = "evidence"  # what `auto` stands for: never told K, and the best one on every data set that was measured


@dataclass(frozen=True, slots=True)
class GroupingInputs:
    """Everything that a grouping sampler may be made from; part of what makes its questions reproducible.

    Methods that need no vectors take arrays without columns, see `without_vectors`.
    """

    vectors: "NDArray[np.float32]"  # (n, d), prepared for dot products; may be a memory map
    neighbors: "NDArray[np.int32]"  # (n, k) most similar items, most similar first; -1 for an item without a vector
    similarity: "NDArray[np.float32]"  # (n, k)
    seed: int
    clusters: int | None = None  # None: not told
    parameters: Mapping[str, Scalar] = field(default_factory=dict)  # of the method, by name
    consensus: "NDArray[np.uint16] | None" = None  # of hacc: labels of k-means runs that were computed before
    usable: "NDArray[np.bool_] | None" = None  # (n,) items that may be asked about; None: those that have neighbours
    overlap: int = 1  # people who settle each answer
    matches: "NDArray[np.int16] | None" = None  # (n, m) local matches with the first m neighbours, where pictures were compared

    @property
    def present(self) -> "NDArray[np.int64]":
        """The items that may be asked about."""
        import numpy as np

        return np.flatnonzero(self.neighbors[:, 0] >= 0 if self.usable is None else self.usable)


def without_vectors(
    usable: "NDArray[np.bool_]", seed: int, clusters: int | None = None, parameters: Mapping[str, Scalar] | None = None
) -> GroupingInputs:
    """Return the inputs for objects of which nothing is known but that they are there."""
    import numpy as np

    shape = (len(usable), 0)
    none = np.empty(shape, np.float32)
    return GroupingInputs(none, np.empty(shape, np.int32), none, seed, clusters, parameters or {}, usable=usable)


def _started(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    """Labels answer one by one; people answer many at a time."""
    return given if start.simulated else {"open": OPEN, **given}


def _started_apc(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    """The printed form asks one question after the other, whoever answers."""
    return given if given.get("form") == "printed" else _started(given, start)


def _hacc(inputs: GroupingInputs, given: HaccParameters) -> "Sampler[Grouping]":
    from cccount_dist.clustering.hacc.build import hacc

    return hacc(inputs, given)


def _evidence(inputs: GroupingInputs, given: EvidenceParameters) -> "Sampler[Grouping]":
    from cccount_dist.clustering.evidence.evidence_sampler import evidence_sampler
    from cccount_dist.similarity.localscores import reordered

    # Where several people settle each answer it is better than single ones, of which gold answers tell.
    settled = inputs.overlap > 1 and "wrong_answers" not in inputs.parameters
    rates = given_rates(f"{1 - CONFIDENT:.2f},{1 - CONFIDENT:.2f}" if settled else given.wrong_answers)
    lists = inputs.neighbors
    if inputs.matches is not None:
        lists = reordered(lists, inputs.similarity, inputs.matches)
    return evidence_sampler(inputs.vectors, lists, stop=given.stop, steady=given.steady, rates=rates, most_open=given.open)


def _apc(inputs: GroupingInputs, given: ApcParameters) -> "Sampler[Grouping]":
    from cccount_dist.clustering.apc.build import apc

    return apc(inputs, given)


def _catalogue(inputs: GroupingInputs, given: CatalogueParameters) -> "Sampler[Grouping]":
    from cccount_dist.clustering.catalogue.catalogue_sampler import CatalogueSampler
    from cccount_dist.clustering.catalogue.rates import SheetRates

    rates = given_rates(given.wrong_answers)
    return CatalogueSampler(
        inputs.vectors,
        inputs.neighbors,
        inputs.seed,
        given,
        None if rates is None else SheetRates.of(*rates),
        inputs.matches,
    )


def _started_sheets(given: Mapping[str, Scalar], start: Start) -> Mapping[str, Scalar]:
    return given if start.simulated else {"open": OPEN_SHEETS, **given}


def _rating(
    name: str, rule: Literal["iu-red", "s-and-t", "random"], said: str, *, interleaved: bool = True, explained: str = ""
) -> Method:
    """A method that asks how similar two items are, on a scale; it needs vectors only if they give a prior similarity."""

    def build(inputs: GroupingInputs, given: SpectralParameters) -> "Sampler[Grouping]":
        from cccount_dist.clustering.spectral.build import spectral

        return spectral(inputs, given, rule, interleaved=interleaved)

    def also_needs(given: SpectralParameters) -> tuple[Need, ...]:
        return ("vectors", "neighbors") if given.prior else ()

    return Method(
        name, KIND, said, build, SpectralParameters, ("ratings",), ("clusters", "vectors"), SPECTRAL_PAPER,
        also_needs=also_needs, explained=explained, presets=IU_RED_PRESETS,
        memory=projected.s_and_t if rule == "s-and-t" else projected.ratings,
    )  # fmt: skip


# Section 4.1 and table 5: T = 2, ε = e⁻⁴, τ = .7; P_l by the rule of appendix C.1, P₊ as in equation 4.
APC_PRINTED: Mapping[str, Scalar] = {
    "form": "printed", "probability": "plus", "added": 0.0, "threshold": 0.0, "compactness": 0.7, "epochs": 2, "epsilon": EPSILON,
}  # fmt: skip
# Equation 2 with S = 100 runs at K, one question at a time, H1 (which leaves out pairs that never fell together: P = 0 gains
# nothing), and the stop that section 4.1 names: no answer would change the clustering.
HACC_PRINTED: Mapping[str, Scalar] = {
    "runs": 100, "finer": False, "smoothing": False, "pooling": False, "condense": "kmeans", "unlikely": 0.0, "stop": 1e-9,
    "effects": "exact", "open": 1,
}  # fmt: skip
# Algorithm 1: zero for what is missing, from W = I, a similarity is what was said; "paper-noisy" is section 5 (up to three
# ratings, where they help), "paper-median" three of every pair, as for figure 5a.
IU_RED_PRINTED: Mapping[str, Scalar] = {
    "repeats": 1, "floor": 0.0, "missing": "zero", "begin": "identity", "estimate": "median", "open": 1,
}  # fmt: skip
IU_RED_PRESETS: Mapping[str, Mapping[str, Scalar]] = {
    PAPER: IU_RED_PRINTED,
    "paper-noisy": {**IU_RED_PRINTED, "repeats": 3},
    "paper-median": {**IU_RED_PRINTED, "repeats": 3, "repeating": "always"},
}
SPECTRAL_PAPER = "IU-RED active spectral clustering"
_ON_VECTORS: tuple[Need, ...] = ("vectors", "neighbors")
for _method in (
    Method(
        DEFAULT, KIND, "Weighs all answers and similarities; never told K, allows for wrong answers.", _evidence,
        EvidenceParameters, _ON_VECTORS, ("matches",), checks="gold", prepares=True, started=_started, memory=projected.blocks,
        explained="Answers are evidence: they teach a model which blocks of similar items are one, and can be out-voted.",
    ),
    Method(
        "catalogue", KIND, "By sheets of one anchor and up to 24 cells; never told K, measures its own quality.", _catalogue,
        CatalogueParameters, _ON_VECTORS, ("matches",), prepares=True, measures=True, started=_started_sheets,
        memory=projected.catalogue,
        explained="Sheets: one anchor and up to 24 cells, mark all that are the same; random pages measure how good it is.",
    ),
    Method(
        "apc", KIND, "Active probabilistic clustering; never told K, takes every answer as true.", _apc, ApcParameters,
        _ON_VECTORS, paper="Active probabilistic clustering", believes=True, prepares=True, started=_started_apc,
        presets={PAPER: APC_PRINTED}, memory=projected.blocks,
        explained="Active probabilistic clustering: many pure clusters, joined and split by answers about their central items.",
    ),
    Method(
        "hacc", KIND, "Active-HACC: needs K, or takes a count's estimate; takes every answer as true.", _hacc, HaccParameters,
        (*_ON_VECTORS, "clusters"), paper="Active-HACC", believes=True, prepares=True, consensus=True, started=_started,
        presets={PAPER: HACC_PRINTED, "paper-h2": {**HACC_PRINTED, "effects": "local"}},
        memory=projected.hacc,
        explained="Active hierarchical clustering: the question whose answer is expected to change the clusters most.",
    ),
    _rating(
        "iu-red", "iu-red", "Asks for ratings on a scale; needs no vectors.",
        explained="Spectral clustering of ratings: asks for the rating that would move the least certain item most.",
    ),
    _rating("iu-red-pure", "iu-red", "The same without random questions in between.", interleaved=False),
    _rating("s-and-t", "s-and-t", "S&T, for two groups: to compare with."),
    _rating("s-and-t-pure", "s-and-t", "The same without random questions in between.", interleaved=False),
    _rating("random-ratings", "random", "Ratings of random pairs: to compare with."),
):  # fmt: skip
    register_method(_method)


def grouping_method(name: str) -> Method:
    """Return the method that a name stands for. A campaign is frozen with the method's own name, never with `auto`.

    >>> grouping_method("auto").name
    'evidence'
    """
    return find_method(KIND, DEFAULT if name == AUTO else name, "grouping method")


def grouping_methods(*, ratings: bool | None = None) -> list[str]:
    """The names of all grouping methods; only those that ask for ratings, or only those that do not."""
    return [name for name, one in methods_of(KIND).items() if ratings is None or one.takes("ratings") == ratings]


def check_clusters(clusters: int, items: int) -> None:
    """Raise `InputError` if so many items that have a vector cannot be in so many clusters."""
    if not 1 <= clusters <= max(items, 1):
        raise InputError(f"clusters is {clusters}, but {items:,} items have a vector: use 1 to {items}")


def known_clusters(method: str, clusters: int | None) -> int:
    """Return K; `InputError` if a method that needs it was not told."""
    if clusters is None:
        raise InputError(
            f"{method} needs the number of clusters: give --clusters K, or run `cccount count` first, and its estimate is taken"
        )
    return clusters


def check_told(method: Method, clusters: int | None, parameters: Mapping[str, Scalar]) -> None:
    """Raise `InputError` if the method cannot use what it is told; before a campaign is frozen with it."""
    if clusters is not None and not method.takes("clusters"):
        raise InputError(
            f"{method.name} finds the number of clusters itself: leave --clusters out, or use --method hacc, which needs it"
        )
    method.read(parameters)
    if method.name.startswith("s-and-t") and clusters is not None and clusters > 2:
        raise InputError(f"{method.name} makes two groups, not {clusters}: use iu-red for more")


def check_collection(method: Method, clusters: int | None, items: int) -> None:
    """Raise `InputError` if the method cannot make so many groups of a collection of so many items."""
    if method.takes("ratings"):
        check_items(method.name, clusters or 2, items)
    elif clusters:
        check_clusters(clusters, items)


def make_grouper(method: str, inputs: GroupingInputs) -> "Sampler[Grouping]":
    """Return a new sampler that groups the items."""
    found = grouping_method(method)
    check_told(found, inputs.clusters, inputs.parameters)
    return found.build(inputs, found.read(inputs.parameters))

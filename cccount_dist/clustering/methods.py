"""The registry of grouping methods: a name that a user types, and how its sampler is made. Light to import."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class GroupingInputs:
    """Everything that a grouping sampler may be made from; part of what makes its questions reproducible.

    Methods that do not need vectors (`needs_vectors`) take arrays without columns, see `without_vectors`.
    """

    vectors: NDArray[np.float32]  # (n, d), prepared for dot products; may be a memory map
    neighbors: NDArray[np.int32]  # (n, k) most similar items, most similar first; -1 for an item without a vector
    similarity: NDArray[np.float32]  # (n, k)
    seed: int
    clusters: int | None = None  # None: not told
    parameters: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    consensus: NDArray[np.uint16] | None = None  # of hacc: labels of k-means runs that were computed before
    usable: NDArray[np.bool_] | None = None  # (n,) items that may be asked about; None: those that have neighbours

    @property
    def present(self) -> NDArray[np.int64]:
        """The items that may be asked about."""
        return np.flatnonzero(self.neighbors[:, 0] >= 0 if self.usable is None else self.usable)


def without_vectors(
    usable: NDArray[np.bool_],
    seed: int,
    clusters: int | None = None,
    parameters: Mapping[str, str | int | float | bool] | None = None,
) -> GroupingInputs:
    """Return the inputs for objects of which nothing is known but that they are there."""
    shape = (len(usable), 0)
    none = np.empty(shape, np.float32)
    return GroupingInputs(none, np.empty(shape, np.int32), none, seed, clusters, parameters or {}, usable=usable)


Builder = Callable[[GroupingInputs], Sampler[Grouping]]


# Each builder imports its method when it is wanted: the command line lists the names without loading numba.
def _hacc(inputs: GroupingInputs) -> Sampler[Grouping]:
    from cccount_dist.clustering.hacc.build import hacc

    return hacc(inputs)


def _evidence(inputs: GroupingInputs) -> Sampler[Grouping]:
    from cccount_dist.clustering.evidence.sampler import evidence_sampler

    given = inputs.parameters
    return evidence_sampler(
        inputs.vectors,
        inputs.neighbors,
        stop=float(given.get("stop", EVIDENCE_STOP)),
        steady=int(given.get("steady", 0)),
        rates=_given_rates(str(given.get("wrong_answers", "estimate"))),
    )


def _apc(inputs: GroupingInputs) -> Sampler[Grouping]:
    from cccount_dist.clustering.apc.build import apc

    return apc(inputs)


def _spectral(rule: Literal["iu-red", "s-and-t", "random"], *, interleaved: bool = True) -> Builder:
    def build(inputs: GroupingInputs) -> Sampler[Grouping]:
        from cccount_dist.clustering.spectral.build import spectral

        return spectral(inputs, rule, interleaved=interleaved)

    return build


# Methods that ask how similar two items are, on a scale: spectral clustering, each but the last also without random questions.
_RATING: dict[str, Builder] = {
    "iu-red": _spectral("iu-red"),
    "iu-red-pure": _spectral("iu-red", interleaved=False),
    "s-and-t": _spectral("s-and-t"),
    "s-and-t-pure": _spectral("s-and-t", interleaved=False),
    "random-ratings": _spectral("random"),
}
_BUILDERS: dict[str, Builder] = {"evidence": _evidence, "apc": _apc, "hacc": _hacc, **_RATING}
METHODS = tuple(_BUILDERS)
RATING_METHODS = tuple(_RATING)
NEEDS_CLUSTERS = frozenset({"hacc"})  # methods that must be told K
CONSTRAINED = frozenset({"apc", "hacc"})  # methods to which every answer is true
EVIDENCE_STOP = 1.0  # expected F score at which `evidence` stops by itself; 1: only when nothing is left to ask
AUTO = "evidence"  # what `auto` stands for: never told K, and the best one on every data set that was measured


def resolve_method(method: str) -> str:
    """Return the name of the method that `method` stands for. A campaign is frozen with this name, never with `auto`.

    >>> resolve_method("auto")
    'evidence'
    """
    if method == "auto":
        return AUTO
    if method not in METHODS:
        raise InputError(f"grouping method {method!r} is not known: use one of auto, {', '.join(METHODS)}")
    return method


def check_clusters(clusters: int, items: int) -> None:
    """Raise `InputError` if so many items that have a vector cannot be in so many clusters."""
    if not 1 <= clusters <= max(items, 1):
        raise InputError(f"clusters is {clusters}, but {items:,} items have a vector: use 1 to {items}")


def check_told(method: str, clusters: int | None, parameters: Mapping[str, str | int | float | bool]) -> None:
    """Raise `InputError` if the method cannot use what it is told; before a campaign is frozen with it."""
    if clusters is not None and method not in (*NEEDS_CLUSTERS, *RATING_METHODS):
        raise InputError(
            f"{method} finds the number of clusters itself: leave --clusters out, or use --method hacc, which needs it"
        )
    if method == "apc":
        from cccount_dist.clustering.apc.parameters import parameters_from

        parameters_from(parameters)
    if method in RATING_METHODS:
        from cccount_dist.clustering.spectral.parameters import parameters_from as rating_parameters_from

        rating_parameters_from(parameters)
        if method.startswith("s-and-t") and clusters is not None and clusters > 2:
            raise InputError(f"{method} makes two groups, not {clusters}: use iu-red for more")
    if method == "evidence":
        for name, value in parameters.items():
            if name == "wrong_answers":
                _given_rates(str(value))
            elif name == "steady":
                if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                    raise InputError(
                        f"steady is {value!r}: it must be a number of answers, such as 40 (0: never stop before the budget)"
                    )
            elif name != "stop":
                raise InputError(f"evidence has no parameter {name!r}: it takes stop, steady and wrong_answers")
            elif isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value <= 1.0:
                raise InputError(f"stop is {value!r}: it must be above 0 and at most 1 (1: never stop before the budget)")


def _given_rates(text: str) -> tuple[float, float] | None:
    """Read `estimate` (None: gold answers say it), `none` or two rates like 0.04,0.02, as counting does."""
    from cccount_dist.counting.placing.rates import parse_rates

    given = parse_rates(text)
    return None if given is None else (given.miss, given.false_same)


def needs_vectors(method: str, parameters: Mapping[str, str | int | float | bool]) -> bool:
    """Whether the method works on vectors and neighbours. One that asks for ratings does only if they give a prior similarity.

    >>> needs_vectors("evidence", {}), needs_vectors("iu-red", {}), needs_vectors("iu-red", {"prior": 0.2})
    (True, False, True)
    """
    return resolve_method(method) not in RATING_METHODS or bool(parameters.get("prior"))


def make_grouper(method: str, inputs: GroupingInputs) -> Sampler[Grouping]:
    """Return a new sampler that groups the items."""
    name = resolve_method(method)
    check_told(name, inputs.clusters, inputs.parameters)
    return _BUILDERS[name](inputs)

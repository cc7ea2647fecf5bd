"""The registry of counting methods: a name that a user types, and how its sampler is made. Light to import."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError
from storage.settings import Scalar

if TYPE_CHECKING:
    from cccount_dist.similarity.sharp import SharpRows


@dataclass(frozen=True, slots=True)
class CountingInputs:
    """Everything that a counting sampler may be made from; part of what makes its questions reproducible."""

    vectors: NDArray[np.float32]  # (n, d), prepared
    degree: NDArray[np.float64]  # (n,)
    seed: int
    level: float
    parameters: Mapping[str, Scalar] = field(default_factory=dict)  # of this method alone
    mean_square: float | None = None  # the Euclidean scale, if that is the metric
    sharp: "Callable[[], SharpRows] | None" = None  # makes the rows of the second space, where there are neighbour lists


# Each builder imports its method when it is wanted: the command line lists the names without loading numba.
def _nis(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_nis

    return build_nis(inputs)


def _nested_mc(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_nested_mc

    return build_nested_mc(inputs)


def _nis_released(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_nis_released

    return build_nis_released(inputs)


def _nested_mc_released(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_nested_mc_released

    return build_nested_mc_released(inputs)


def _inverse(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_inverse

    return build_inverse(inputs)


def _placing(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.placing.build import build_placing

    return build_placing(inputs)


def _pckmeans_random(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_pckmeans_random

    return build_pckmeans_random(inputs)


def _pckmeans_explore(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.paper import build_pckmeans_explore

    return build_pckmeans_explore(inputs)


_BUILDERS: dict[str, Callable[[CountingInputs], Sampler[CountResult]]] = {
    "placing": _placing,
    "nis": _nis,
    "nested-mc": _nested_mc,
    "nis-released": _nis_released,
    "nested-mc-released": _nested_mc_released,
    "inverse": _inverse,
    "pckmeans-random": _pckmeans_random,
    "pckmeans-explore": _pckmeans_explore,
}
METHODS = tuple(_BUILDERS)
AUTO = "placing"
WHY_AUTO = (
    "auto is placing: of all methods measured it has the smallest error at the same effort, and an interval that covers; "
    "inverse and the paper's methods are there to compare with. Unless --search full was asked for, it skips pairs that are "
    "hardly the same once ten matches have taught it which those are, and counts what may be missed by it"
)


def resolve_method(method: str) -> str:
    """Return the name of the method that `method` stands for. A campaign is frozen with this name, never with `auto`.

    >>> resolve_method("auto")
    'placing'
    """
    if method == "auto":
        return AUTO
    if method not in METHODS:
        raise InputError(f"counting method {method!r} is not known: use one of auto, {', '.join(METHODS)}")
    return method


def needs_degree(method: str) -> bool:
    """Whether the degrees matter beyond saying which items have a vector."""
    return method not in ("placing", "nested-mc")


def make_counter(
    method: str,
    *,
    vectors: NDArray[np.float32],
    degree: NDArray[np.float64],
    seed: int = 0,
    level: float = 0.95,
    parameters: Mapping[str, Scalar] | None = None,
    mean_square: float | None = None,
    sharp: "Callable[[], SharpRows] | None" = None,
) -> Sampler[CountResult]:
    """Return a new sampler of the number of clusters.

    Parameters
    ----------
    method : `auto` or one of METHODS
    vectors : (n, d) float32, prepared for dot products; an array or a memory map
    degree : (n,) float64, NaN for an item without a vector, which is not counted
    parameters : of this method alone, see its module; what is not given has its default
    mean_square : the mean squared distance of two items, if the metric is Euclidean (`metrics.EuclideanScale`)
    sharp : makes the rows of a second space (`similarity/sharp.py`), for placing with the parameter `space=sharp`
    """
    return _BUILDERS[resolve_method(method)](CountingInputs(vectors, degree, seed, level, parameters or {}, mean_square, sharp))

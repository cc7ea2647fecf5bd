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


# Names alone: the command line lists them without loading numba.
METHODS = (
    "placing",
    "nis",
    "nested-mc",
    "nis-released",
    "nested-mc-released",
    "inverse",
    "pckmeans-random",
    "pckmeans-explore",
)
AUTO = "placing"
WHY_AUTO = (
    "auto is placing: of all methods measured it has the smallest error at the same effort, and an interval that covers; "
    "inverse and the paper's methods are there to compare with. Unless --search full was asked for, it skips pairs that are "
    "hardly the same once five matches have taught it which those are, and counts what may be missed by it"
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


def check_parameters(method: str, parameters: Mapping[str, Scalar]) -> None:
    """Raise `InputError` if one of the compared methods (all but placing) cannot use what it is told."""
    from cccount_dist.counting.paper import READERS

    READERS[method](method, parameters)


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
    name = resolve_method(method)
    inputs = CountingInputs(vectors, degree, seed, level, parameters or {}, mean_square, sharp)
    if name == "placing":
        from cccount_dist.counting.placing.build import build_placing

        return build_placing(inputs)
    from cccount_dist.counting.paper import BUILDERS

    return BUILDERS[name](inputs)

"""The registry of counting methods: a name that a user types, and how its sampler is made. Light to import."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.rates import EXACT, GivenRates
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.types import Sampler
from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class CountingInputs:
    """Everything that a counting sampler may be made from; part of what makes its questions reproducible."""

    vectors: NDArray[np.float32]  # (n, d), prepared
    degree: NDArray[np.float64]  # (n,)
    seed: int
    level: float
    grid: int = 1  # clusters on a page; only `placing` asks pages
    rates: GivenRates | None = EXACT  # of wrong answers, None to estimate them; only `placing` allows for them
    lanes: int = 1  # items under way at once; only `placing` waits for answers


# Each builder imports its method when it is wanted: the command line lists the names without loading numba.
def _nis(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.nis import nis

    return nis(inputs.vectors, inputs.degree, seed=inputs.seed, level=inputs.level)


def _nested_mc(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.nested_mc import nested_mc

    return nested_mc(inputs.degree, seed=inputs.seed, level=inputs.level)


def _placing(inputs: CountingInputs) -> Sampler[CountResult]:
    from cccount_dist.counting.placing.sampler import PlacingSampler

    return PlacingSampler(
        inputs.vectors,
        inputs.degree,
        seed=inputs.seed,
        level=inputs.level,
        grid=inputs.grid,
        rates=inputs.rates,
        lanes=inputs.lanes,
    )


_BUILDERS: dict[str, Callable[[CountingInputs], Sampler[CountResult]]] = {
    "placing": _placing,
    "nis": _nis,
    "nested-mc": _nested_mc,
}
METHODS = tuple(_BUILDERS)
AUTO = "placing"
WHY_AUTO = (
    "placing: the smallest error on every collection that was measured, an interval that covers, a certain lower bound, "
    "pages, and allowance for wrong answers"
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
    grid: int = 1,
    rates: GivenRates | None = EXACT,
    lanes: int = 1,
) -> Sampler[CountResult]:
    """Return a new sampler of the number of clusters.

    Parameters
    ----------
    method : `auto` or one of METHODS
    vectors : (n, d) float32, prepared for dot products; an array or a memory map
    degree : (n,) float64, NaN for an item without a vector, which is not counted
    grid, rates, lanes : see `PlacingSampler`; `InputError` if pages are wanted of a method that asks pairs only
    """
    resolved = resolve_method(method)
    if grid != 1 and resolved != "placing":
        raise InputError(f"method {resolved!r} asks pairs only: pages (grid {grid}) need the method placing")
    return _BUILDERS[resolved](CountingInputs(vectors, degree, seed, level, grid, rates, lanes))

"""A suite for samplers: every promise of `cccount_dist.sampling.types.Sampler` as a check that any sampler can be put through.

    check_sampler(lambda: Birthday(len(labels), seed=1), labels)

runs all of them. To have one test for each with pytest:

    @pytest.mark.parametrize(("name", "check"), sampler_checks())
    def test_birthday(name, check):
        check(SamplerCase(lambda: Birthday(len(labels), seed=1), labels))

Nothing else in the package imports this. Time and memory: about thirty runs of the sampler over `questions` questions.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cccount_dist.testing.case import Make, SamplerCase
from cccount_dist.testing.checks import CHECKS, Check
from cccount_dist.testing.difference import SamplerError

__all__ = ["Check", "Make", "SamplerCase", "SamplerError", "check_sampler", "sampler_checks"]


def sampler_checks() -> Iterator[tuple[str, Check]]:
    """Yield the name of each check and the function, which takes a `SamplerCase`."""
    for name, check in CHECKS.items():
        yield name, partial(_named, name, check)


def check_sampler(
    make: Make,
    labels: NDArray[np.generic],
    *,
    items: Sequence[int] | None = None,
    rating: bool = False,
    questions: int = 60,
    own_closure: bool = False,
    replaces: bool = True,
    seed: int = 0,
) -> None:
    """Put a sampler through every check.

    Parameters
    ----------
    make : returns a new sampler, always over the same inputs
    labels : (n,) the true class of every item, from which answers are made; for ratings also (n, n) values from 0 to 1
    items : those that may be asked about; None: all n
    rating : whether it asks how similar two items are, and not whether they are the same
    questions : how far each check goes
    own_closure : it promises never to ask what the answers imply; others leave that to the closure, which answers for people
    replaces : False for one in which a replaced answer leaves a trace, as its docstring says
    seed : of the answers and of how calls are cut

    Raises
    ------
    SamplerError
        An `AssertionError` that names the check and the first question or value that differs.
    """
    case = SamplerCase(make, labels, items, rating, questions, own_closure, replaces, seed)
    for _, check in sampler_checks():
        check(case)


def _named(name: str, check: Check, case: SamplerCase) -> None:
    try:
        check(case)
    except SamplerError as error:
        raise SamplerError(f"{name}: {error}. The promise: {(check.__doc__ or '').splitlines()[0]}") from error
    except Exception as error:
        error.add_note(f"in the check {name!r} of the suite for samplers")
        raise

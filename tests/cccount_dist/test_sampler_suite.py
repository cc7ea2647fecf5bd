"""Every sampler passes the suite, on an ordinary collection and on awkward ones."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from cccount_dist.testing import Check, SamplerCase, sampler_checks
from tests.cccount_dist.every_sampler import Collection, Variant, collections, every_sampler

PLAIN, *AWKWARD = collections()
SAMPLERS = {variant.name: variant for variant in every_sampler()}
CHECKS = dict(sampler_checks())
PLAIN_CASES = {name: variant.case(PLAIN) for name, variant in SAMPLERS.items()}  # one each: a campaign is recorded once


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Tiny matrices: on a busy machine threads of BLAS would wait for each other far longer than they work."""
    with threadpool_limits(1):
        yield


@pytest.mark.parametrize(("case", "check"), [
    pytest.param(case, check, id=f"{name}-{what}")
    for name, case in PLAIN_CASES.items()
    for what, check in CHECKS.items()
])  # fmt: skip
def test_every_sampler_keeps_the_promises(case: SamplerCase, check: Check) -> None:
    check(case)


@pytest.mark.parametrize("collection", [pytest.param(one, id=one.name) for one in AWKWARD])
@pytest.mark.parametrize("variant", [pytest.param(one, id=one.name) for one in SAMPLERS.values()])
def test_every_sampler_keeps_them_on_awkward_collections(variant: Variant, collection: Collection) -> None:
    case = variant.case(collection, questions=20)
    for check in CHECKS.values():
        check(case)


@pytest.mark.parametrize(("name", "collection", "check", "seed"), [
    ("evidence", "plain", "undo", 4),  # a "different" inside a group that is merged first was taken back
    ("hacc", "odd", "retries", 4),  # an answer was heard again after one that contradicts it
    ("placing-likely-lanes", "plain", "loaded", 0),  # an answer was put right, then something was taken back
    ("placing-likely-lanes", "plain", "loaded", 2),
    ("subcluster-paper-threshold", "plain", "loaded", 0),  # a late answer to what the program had inferred
])  # fmt: skip
def test_what_the_suite_found_stays_right(name: str, collection: str, check: str, seed: int) -> None:
    (chosen,) = (one for one in collections() if one.name == collection)
    CHECKS[check](replace(SAMPLERS[name].case(chosen, questions=40 if chosen is PLAIN else 20), seed=seed))

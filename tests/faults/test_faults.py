"""The short form: the main kinds of fault, once each. The long form is `python -m tests.faults --faults 200`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.suite import KINDS, SHORT, Suite
from tests.faults.topology import topology
from tests.storage.faults import small_disk


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    with topology() as made, small_disk(tmp_path_factory.mktemp("small") / "disk", "32m") as disk:
        yield Suite(made, seed=11, disk=Path(disk))


@pytest.mark.parametrize("kind", [kind for kind, method in KINDS.items() if method in SHORT])
def test_nothing_comes_of(suite: Suite, kind: str) -> None:
    suite.cause(kind)

"""What many tests of individuals begin with."""

from pathlib import Path

import pytest

from cccount_dist.individuals.census import Individuals
from tests.individuals.made import make_census


@pytest.fixture
def individuals(tmp_path: Path) -> Individuals:
    return make_census(tmp_path / "ws")

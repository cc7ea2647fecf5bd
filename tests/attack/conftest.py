"""Real parts that the attacks are tried on: those of the other tests, under names that say which is which."""

import shutil
from pathlib import Path

import pytest

from storage.workspace import Workspace
from tests.flows.conftest import labels, prepared, workspace
from tests.review.conftest import drawn, serve

__all__ = ["drawn", "gallery", "labels", "prepared", "serve", "workspace"]


@pytest.fixture
def gallery(drawn: Path, tmp_path: Path) -> Workspace:
    """Butterflies, to do anything to."""
    return Workspace.open(shutil.copytree(drawn, tmp_path / "gallery"))

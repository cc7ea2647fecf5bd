"""Several embeddings of the same items: `cccount init --embeddings A --embeddings B`."""

from pathlib import Path

import numpy as np
import pytest

from cccount_dist.embedding.readers.viewfiles import open_views
from cccount_dist.similarity.views import join_views
from storage.errors import InputError
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace
from tests.flows.calls import initialise
from tests.flows.conftest import cccount

RANDOM = np.random.default_rng(0)
LARGE = 3.0 + 10.0 * RANDOM.standard_normal((9_000, 5)).astype(np.float32)
SMALL = RANDOM.standard_normal((9_000, 40)).astype(np.float32)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    LARGE[17, 2] = np.nan
    np.savez(tmp_path / "large.npz", x=LARGE, y=np.arange(9_000) % 7)
    np.save(tmp_path / "small.npy", SMALL)
    return [tmp_path / "large.npz", tmp_path / "small.npy"]


def test_views_are_joined_as_in_memory_and_a_row_missing_in_one_is_missing(files: list[Path], tmp_path: Path) -> None:
    report = initialise(str(tmp_path / "ws"), embeddings=[str(file) for file in files])
    assert report["dimensions"] == 45
    assert report["labelled"] == 9_000
    assert [failed["id"] for failed in report["failed"]] == ["17"]
    stored = Workspace.open(tmp_path / "ws").array(EMBEDDINGS).read()
    expected = join_views([LARGE, SMALL])
    np.testing.assert_allclose(stored, expected, atol=1e-6)
    assert np.isnan(stored[17]).all()
    assert np.square(stored[0, :5]).sum() == pytest.approx(1.0, abs=1e-5)


def test_one_view_is_read_as_it_is(files: list[Path]) -> None:
    assert open_views(files[1:]).dimensions == 40


def test_views_of_different_lengths_are_refused(files: list[Path], tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", SMALL[:100])
    with pytest.raises(InputError, match=r"short.npy has 100 vectors and .*large.npz 9,000"):
        open_views([files[0], tmp_path / "short.npy"])


def test_the_command_takes_embeddings_several_times(files: list[Path], tmp_path: Path) -> None:
    shown = cccount("init", tmp_path / "ws", "--embeddings", files[0], "--embeddings", files[1], "--json")
    assert shown.code == 0, shown.err
    assert shown.json["dimensions"] == 45

"""Bursts by time and look, against a naive pass over the frames."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.embedding.bursts import find_bursts
from storage.collection import collection_table
from storage.errors import InputError
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace
from tests.flows.calls import first_frames

MIDNIGHT = datetime(2024, 5, 1, tzinfo=UTC)
Frame = tuple[str | None, int | None, int]  # camera, second, look


def looks(frames: list[Frame]) -> NDArray[np.float32]:
    table = np.array([[1, 0], [0.9, 0.1], [0, 1], [np.nan, np.nan], [0, 0]], np.float32)
    return table[[look for _, _, look in frames]]


def collection(frames: list[Frame]) -> object:
    times = [None if second is None else MIDNIGHT + timedelta(seconds=second) for _, second, _ in frames]
    return collection_table([str(i) for i in range(len(frames))], group=[camera for camera, _, _ in frames], taken_at=times)


def naive(frames: list[Frame]) -> list[set[int]]:
    vectors = looks(frames).astype(float)
    bursts: list[list[int]] = []
    for camera in sorted({frame[0] or "" for frame in frames}):
        mine = [i for i, frame in enumerate(frames) if (frame[0] or "") == camera and frame[1] is not None]
        last = None
        for i in sorted(mine, key=lambda i: (frames[i][1], i)):
            a, b = (vectors[last], vectors[i]) if last is not None else (vectors[i] * 0, vectors[i])
            scale = float(np.linalg.norm(a) * np.linalg.norm(b))
            close = last is not None and int(frames[i][1] or 0) - int(frames[last][1] or 0) <= 3
            if close and scale > 0 and a @ b / scale >= 0.8:
                bursts[-1].append(i)
            else:
                bursts.append([i])
            last = i
    return [set(burst) for burst in bursts] + [{i} for i, frame in enumerate(frames) if frame[1] is None]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["north", "south", None]), st.integers(0, 12) | st.none(), st.integers(0, 4)),
        min_size=1,
        max_size=14,
    )
)
def test_bursts_equal_the_naive_reference(frames: list[Frame]) -> None:
    if all(second is None for _, second, _ in frames):
        return
    found = find_bursts(collection(frames), looks(frames))
    groups = [set(np.flatnonzero(found.burst == burst).tolist()) for burst in range(len(found.first))]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, naive(frames)))
    assert all(first in group for first, group in zip(found.first.tolist(), groups, strict=True))


def test_a_burst_counts_once_in_the_workspace_of_first_frames(tmp_path: Path) -> None:
    frames: list[Frame] = [("north", 0, 0), ("north", 1, 1), ("north", 2, 2), ("south", 2, 0), ("north", 60, 0), ("north", 61, 3)]
    workspace = Workspace.create(tmp_path / "w", collection(frames))
    workspace.create_array(EMBEDDINGS, (6, 2), attributes={"encoder": "test"}).write_shard(0, looks(frames))
    report = first_frames(str(tmp_path / "w"), str(tmp_path / "thin"))
    assert (report["items"], report["frames"]) == (5, 6)
    thin = Workspace.open(tmp_path / "thin")
    assert thin.collection().ids == ["0", "2", "3", "4", "5"]
    np.testing.assert_array_equal(thin.array(EMBEDDINGS).read(), looks(frames)[[0, 2, 3, 4, 5]])
    assert thin.array(EMBEDDINGS).attributes == {"encoder": "test"}


def test_without_any_time_there_are_no_bursts_to_find() -> None:
    with pytest.raises(InputError, match="no item has a time"):
        find_bursts(collection([("north", None, 0)]), looks([("north", None, 0)]))

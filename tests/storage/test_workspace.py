"""The workspace: made whole or not at all, opened only when it is one and of this format."""

import time
from pathlib import Path

import numpy as np
import pytest

from storage.collection import collection_table
from storage.errors import CorruptionError, InputError, StoreError, WorkspaceError
from storage.objects import temporary_beside
from storage.schema import DEGREE, EMBEDDINGS, FORMAT
from storage.workspace import Workspace
from tests.storage.faults import as_somebody_else, at_once, cut, fill_up, forbidden, killed_when, later, small_disk

TABLE = collection_table(["a", "b", "c"], label=["x", "y", "x"])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace.create(tmp_path / "ws", TABLE)


def test_a_workspace_is_made_and_opened_again(workspace: Workspace, tmp_path: Path) -> None:
    opened = Workspace.open(tmp_path / "ws")
    assert opened.uuid == workspace.uuid
    assert opened.location == str(tmp_path / "ws")
    assert opened.collection().ids == ["a", "b", "c"]
    assert sorted(path.name for path in (tmp_path / "ws").iterdir() if not path.name.startswith(".lock-")) == [
        "collection.parquet",
        "workspace.toml",
    ]
    assert list(opened.problems()) == []


def test_a_location_may_be_text(tmp_path: Path) -> None:
    Workspace.create(f"{tmp_path}/ws", TABLE)
    assert Workspace.open(f"{tmp_path}/ws").collection().items == 3


def test_a_workspace_is_never_made_over_another(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a workspace already"):
        Workspace.create(tmp_path / "ws", collection_table(["z"]))
    assert workspace.collection().ids == ["a", "b", "c"]


def _create(location: str, name: str) -> str:
    return Workspace.create(location, collection_table([name])).uuid


def test_of_processes_that_make_it_at_once_one_does_and_the_others_are_told(tmp_path: Path) -> None:
    results = at_once(_create, [(str(tmp_path / "ws"), str(number)) for number in range(4)])
    winners = [number for number, (name, _) in enumerate(results) if name == "ok"]
    assert sorted(name for name, _ in results) == ["InputError"] * 3 + ["ok"]
    assert Workspace.open(tmp_path / "ws").collection().ids == [str(winners[0])]


def _create_many(location: str) -> None:
    for number in range(100_000):
        _create(f"{location}/{number}", "a")


def test_a_killed_init_leaves_a_whole_workspace_or_none_and_can_be_run_again(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        killed_when(later(random.uniform(0.01, 0.1)), _create_many, str(folder))
        *whole, last = sorted(folder.iterdir(), key=lambda path: int(path.name)) or [folder / "0"]
        assert all(Workspace.open(path).collection().ids == ["a"] for path in whole)
        try:
            assert Workspace.open(last).collection().ids == ["a"]
        except WorkspaceError:
            assert Workspace.create(last, TABLE).collection().ids == ["a", "b", "c"]
            assert not (last / ".init").exists()


def test_a_bad_table_makes_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'a' is used twice, in rows 0 and 1"):
        Workspace.create(tmp_path / "ws", collection_table(["a", "a"]))
    assert not (tmp_path / "ws").exists()


@pytest.mark.parametrize("name", ["embeddings.zarr/zarr.json", "collection.parquet", "campaigns/x/campaign.toml"])
def test_what_a_user_keeps_under_a_name_of_ours_is_not_taken_over(tmp_path: Path, name: str) -> None:
    theirs = tmp_path / name
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_bytes(b"mine")
    with pytest.raises(InputError, match="is there already and belongs to no workspace"):
        Workspace.create(tmp_path, TABLE)
    assert theirs.read_bytes() == b"mine"
    assert not (tmp_path / "workspace.toml").exists()


def test_a_workspace_may_lie_in_a_folder_of_images(tmp_path: Path) -> None:
    (tmp_path / "owl.jpg").write_bytes(b"jpeg")
    Workspace.create(tmp_path, TABLE)
    assert (tmp_path / "owl.jpg").read_bytes() == b"jpeg"


def test_a_file_is_no_place_for_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="is a file: choose a folder"):
        Workspace.create(tmp_path / "file", TABLE)
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        Workspace.open(tmp_path / "file")


@pytest.mark.parametrize("name", ["nowhere", "foreign"])
def test_a_folder_that_is_no_workspace_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_bytes(b"")
    with pytest.raises(WorkspaceError, match=rf"{name} is not a workspace: make one with `cccount init .*{name}"):
        Workspace.open(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign"]


@pytest.mark.parametrize(
    ("found", "message"),
    [(FORMAT + 1, "made by a newer cccount: format 3, this one reads 1 and 2"), (0, "made by another cccount: format 0")],
)
def test_a_workspace_of_another_format_is_refused(workspace: Workspace, found: int, message: str) -> None:
    path = Path(workspace.location) / "workspace.toml"
    path.write_text(path.read_text().replace(f"format = {FORMAT}", f"format = {found}"))
    with pytest.raises(WorkspaceError, match=message):
        Workspace.open(workspace.location)


@pytest.mark.parametrize("text", ["", "format", "format = 1", 'format = 1\nuuid = "x"', "format = 1\nuuid = 3", "\x00"])
def test_a_damaged_workspace_toml_is_named(workspace: Workspace, text: str) -> None:
    (Path(workspace.location) / "workspace.toml").write_text(text)
    with pytest.raises(CorruptionError, match=r"workspace\.toml is damaged") as caught:
        Workspace.open(workspace.location)
    assert "\n" not in str(caught.value)


def test_a_store_of_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="ftp://bucket/ws"):
        Workspace.open("ftp://bucket/ws")
    with pytest.raises(InputError, match="ftp://bucket/ws"):
        Workspace.create("ftp://bucket/ws", TABLE)


def test_arrays_are_reached_through_the_workspace(workspace: Workspace) -> None:
    assert not workspace.has_array(EMBEDDINGS)
    with pytest.raises(WorkspaceError, match="run `cccount embed` first"):
        workspace.array(EMBEDDINGS)
    rows = np.ones((3, 2), np.float32)
    workspace.create_array(EMBEDDINGS, (3, 2), attributes={"encoder": "pixels"}).write_shard(0, rows)
    assert workspace.has_array(EMBEDDINGS)
    np.testing.assert_array_equal(workspace.array(EMBEDDINGS).read(), rows)


def test_problems_of_every_part_are_reported_together(workspace: Workspace) -> None:
    for spec, shape in ((EMBEDDINGS, (3, 2)), (DEGREE, (3,))):
        workspace.create_array(spec, shape, attributes={}).write_shard(0, np.ones(shape, spec.dtype))
    assert list(workspace.problems()) == []
    folder = Path(workspace.location)
    for name in ("collection.parquet", "embeddings.zarr/zarr.json", "neighbors.zarr/degree/c/0"):
        cut(folder / name, 10)
    assert [problem.path for problem in workspace.problems()] == [
        f"{folder}/collection.parquet",
        f"{folder}/embeddings.zarr/zarr.json",
        f"{folder}/neighbors.zarr/degree/c/0",
    ]


def test_the_table_may_change_and_the_items_may_not(workspace: Workspace) -> None:
    workspace.update_collection(workspace.collection().with_problems({1: "unreadable"}).table)
    assert workspace.collection().problems() == {1: "unreadable"}
    for ids in (["a", "b"], ["a", "c", "b"], ["a", "b", "c", "d"]):
        with pytest.raises(InputError, match="cannot change"):
            workspace.update_collection(collection_table(ids))


def test_campaigns_are_those_with_settings(workspace: Workspace) -> None:
    assert workspace.campaigns() == []
    for key in ("campaigns/b/campaign.toml", "campaigns/a/campaign.toml", "campaigns/half/lease.json"):
        workspace.objects.create(key, b"")
    assert workspace.campaigns() == ["a", "b"]


def test_caches_lie_in_the_workspace_or_where_the_user_says(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CCCOUNT_CACHE", raising=False)
    assert workspace.cache_folder() == tmp_path / "ws" / ".cache"
    monkeypatch.setenv("CCCOUNT_CACHE", str(tmp_path / "fast"))
    assert workspace.cache_folder() == tmp_path / "fast" / workspace.uuid
    assert workspace.cache_folder().is_dir()
    assert workspace.scratch("tiles") == tmp_path / "ws" / ".scratch" / "tiles"
    assert workspace.scratch("tiles").exists()


def _leave_a_temporary(location: str) -> None:
    temporary_beside(Path(location) / "part").write_bytes(b"half")
    time.sleep(60)


def test_open_removes_what_a_killed_writer_left(workspace: Workspace) -> None:
    folder = Path(workspace.location)
    killed_when(lambda: any(folder.glob(".tmp-*")), _leave_a_temporary, str(folder))
    left = list(folder.glob(".tmp-*"))
    Workspace.open(folder)
    assert left
    assert not list(folder.glob(".tmp-*"))


def test_a_workspace_is_not_made_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        ballast = fill_up(disk)
        with pytest.raises(StoreError, match="the disk is full") as caught:
            Workspace.create(disk / "ws", TABLE)
        assert "\n" not in str(caught.value)
        ballast.unlink()
        with pytest.raises(StoreError, match=r"collection\.parquet: the disk is full"):
            Workspace.create(disk / "ws", collection_table([f"{i:064x}"[::-1] for i in range(0, 10**9, 10**5)]))
        assert not [path for path in (disk / "ws").iterdir() if not path.name.startswith(".lock-")]
        assert Workspace.create(disk / "ws", TABLE).collection().items == 3


def test_a_folder_without_permission_is_one_clear_line(tmp_path: Path) -> None:
    with forbidden(tmp_path / "theirs") as folder:
        name, message = as_somebody_else(_create, str(folder / "ws"), "a")
        assert (name, "no permission: make the folder writable" in str(message)) == ("StoreError", True)
        assert list(folder.iterdir()) == []


def _look_at(location: str) -> list[str]:
    opened = Workspace.open(location)
    assert list(opened.problems()) == []
    return opened.collection().ids + opened.array(EMBEDDINGS).read().astype(str).ravel().tolist()


def test_somebody_elses_workspace_can_be_read_without_writing(workspace: Workspace, tmp_path: Path) -> None:
    workspace.create_array(EMBEDDINGS, (3, 1), attributes={}).write_shard(0, np.ones((3, 1), np.float32))
    with forbidden(tmp_path / "ws"):
        assert as_somebody_else(_look_at, workspace.location) == ("ok", ["a", "b", "c", "1.0", "1.0", "1.0"])
        assert as_somebody_else(workspace.cache_folder)[0] == "StoreError"


def test_opening_is_quick_because_every_worker_does_it(workspace: Workspace) -> None:
    before = time.perf_counter()
    for _ in range(50):
        Workspace.open(workspace.location)
    assert time.perf_counter() - before < 5

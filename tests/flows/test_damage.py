"""Every kind of stored thing is damaged once: `verify` names it with its repair, and never falls over."""

import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from cccount_dist.individuals.census import Individuals
from storage import checks, inventory, parquet
from storage.campaigns import CampaignFolder
from storage.errors import InputError, WorkspaceError
from storage.objects import LocalObjects
from storage.stored import STORED, Place, Stored, declared, register, unregister
from storage.workspace import Workspace
from tests.flows.calls import stage, verify, write_reports
from tests.flows.conftest import ROOT
from tests.flows.damage import everything

# What may be gone without a trace: it was never there before somebody made it, or nobody needs it.
MAY_GO = {
    ".init", "gold.parquet", "annotators.json", "neighbors.zarr/zarr.json", "campaigns/zarr.json",
    "campaigns/{campaign}/zarr.json", "campaigns/{campaign}/lease.json", "campaigns/{campaign}/journal.sqlite",
    "campaigns/{campaign}/desk.sqlite", "campaigns/{campaign}/consensus.npz", "campaigns/{campaign}/results/count.json",
    "campaigns/{campaign}/results/finished.json", "campaigns/{campaign}/results/sides.json",
    "individuals/identities.parquet", "individuals/known.parquet", "individuals/pairs.parquet",
    "campaigns/{campaign}/results/individuals.parquet", "campaigns/{campaign}/results/seen.parquet",
    "campaigns/{campaign}/results/next.parquet", "campaigns/{campaign}/results/subclusters.parquet",
    "campaigns/{campaign}/results/browse.html", "campaigns/{campaign}/results/report.html", ".cache/{name}.npy",
    ".cache/pictures/{name}", ".scratch/{pass}/{path}", ".scratch/neighbors.json", "backups/{step}/{path}",
    "campaigns/{campaign}/epochs/{number}.toml",  # the next step opens another: test_epochs.py
    "campaigns/{campaign}/snapshot/{name}.json",
}  # fmt: skip
# SQLite has no checksums. `quick_check` sees what holds the pages together, here the head of the first one.
SQLITE_PLACE = 100


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with everything in it. Whoever changes it puts it back."""
    return everything(tmp_path_factory.mktemp("full"))


@pytest.fixture
def copy(full: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(full, tmp_path / "ws"))


def keys_of(workspace: Path) -> list[str]:
    return [key for key in LocalObjects(workspace).keys("") if not key.endswith(inventory.BESIDE_SQLITE)]


def problems_of(workspace: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = verify(str(workspace))["problems"]
    return found


def pattern_of(key: str) -> str:
    """The pattern by which a key is declared."""
    (match,) = declared(key)
    return next(pattern for pattern in match.stored.patterns if _written(pattern, match.names) == key)


def _written(pattern: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value)
    return pattern


def flipped(data: bytes, place: int, bit: int = 0x10) -> bytes:
    return data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def names(problems: list[dict[str, str]], workspace: Path, key: str) -> bool:
    """Whether a problem is about this file, or about the folder of the log that it is missing in."""
    folder = key.rpartition("/")[0]
    paths = {f"{workspace}/{key}", *([f"{workspace}/{folder}"] if folder.endswith(("/questions", "/answers")) else [])}
    return any(problem["path"] in paths and problem["problem"] and problem["repair"] for problem in problems)


def test_every_key_has_one_declaration_and_every_declaration_a_key(full: Path) -> None:
    matched = {key: [match.stored for match in declared(key)] for key in keys_of(full)}
    assert {key for key, things in matched.items() if len(things) != 1} == set()
    used = {pattern_of(key) for key in matched}
    declared_patterns = {p for thing in STORED for p in thing.patterns if not p.endswith(inventory.BESIDE_SQLITE)}
    assert declared_patterns - used == set()
    assert verify(str(full)) == {"ok": True, "problems": []}


def test_a_flipped_byte_a_cut_end_and_a_missing_file_are_named_with_their_repair(full: Path) -> None:
    missed = []
    for keys in _together(full):
        whole = {key: (full / key).read_bytes() for key in keys}
        for name in ("missing", "flipped", "cut"):
            damages = {key: _damaged(key, data, name) for key, data in whole.items() if data or name == "missing"}
            for key, data in damages.items():
                (full / key).unlink()
                if data is not None:
                    (full / key).write_bytes(data)
            found = problems_of(full) if damages else []
            for key in damages:
                (full / key).write_bytes(whole[key])
                pattern = pattern_of(key)
                if not names(found, full, key) and not (name == "missing" and pattern in MAY_GO | {_marker_of(pattern)}):
                    missed.append((key, name, found))
    assert missed == []
    assert verify(str(full)) == {"ok": True, "problems": []}


def _damaged(key: str, whole: bytes, name: str) -> bytes | None:
    if name == "missing":
        return None
    middle = SQLITE_PLACE if key.endswith(".sqlite") else len(whole) // 2
    return flipped(whole, middle) if name == "flipped" else whole[: len(whole) * 3 // 4]


def _together(full: Path) -> list[list[str]]:
    """A key of each pattern: one by one, but of arrays, which know nothing of each other, one file of each at a time."""
    one_of_each: dict[str, str] = {}
    for key in keys_of(full):
        one_of_each.setdefault(pattern_of(key), key)
    arrays: dict[str, list[str]] = {}
    for key in one_of_each.values():
        if ".zarr/" in key and "/c/" not in key and key.endswith("zarr.json"):
            arrays.setdefault("metadata", []).append(key)
        elif ".zarr/" in key:
            arrays.setdefault("shards", []).append(key)
        elif key.startswith("markers/"):
            arrays.setdefault(key.rpartition("/")[2], []).append(key)
        else:
            arrays[key] = [key]
    return list(arrays.values())


def _marker_of(pattern: str) -> str:
    """A shard without its marker is one that is not done: a marker may go, too."""
    return pattern if pattern.startswith("markers/") and pattern.endswith("{number}.json") else ""


def test_whatever_byte_is_damaged_verify_reports_and_never_fails(full: Path) -> None:
    lucky = random.Random(0)
    missed = []
    others = ("encoded", "previous", "similarity", "neighbors.zarr/", *(f"markers/{n}" for n in "npse"))  # arrays are all alike
    one_of_each = {pattern_of(key): key for key in keys_of(full) if not key.startswith(others)}
    for key in one_of_each.values():
        path = full / key
        whole = path.read_bytes()
        if not whole:
            continue
        anywhere = flipped(whole, lucky.randrange(len(whole)), 1 << lucky.randrange(8))
        at_the_edge = flipped(whole, lucky.choice([0, len(whole) - 1]), 1 << lucky.randrange(8))
        cut = whole[: lucky.randrange(len(whole))]
        for data in (anywhere, lucky.choice([at_the_edge, cut, b"", b"\xff\x00 something else"])):
            path.write_bytes(data)
            found = problems_of(full)
            path.write_bytes(whole)
            if not key.endswith(".sqlite") and not names(found, full, key):  # pages of a database have bytes that hold nothing
                missed.append((key, len(data), [i for i, byte in enumerate(data) if whole[i : i + 1] != bytes([byte])][:3]))
    assert missed == []
    assert verify(str(full)) == {"ok": True, "problems": []}


def test_every_byte_of_small_files_counts(full: Path) -> None:
    start = "campaigns/count"
    for key in (f"{start}/goal.toml", f"{start}/results/count.json", "annotators.json", f"{start}/lease.json"):
        whole = (full / key).read_bytes()
        for place in range(min(len(whole), 600)):
            (full / key).write_bytes(flipped(whole, place, 1))
            (stored,) = [match.stored for match in declared(key)]
            place_of = Place(LocalObjects(full), frozenset([key]), campaign="count")
            assert list(stored.check(place_of, stored, [key])), (key, place)
        (full / key).write_bytes(whole)


def test_a_workspace_without_stamps_is_sound(copy: Path) -> None:
    """As earlier versions wrote it: the same files without a digest in them."""
    import pyarrow.parquet as pq

    for key in keys_of(copy):
        path = copy / key
        data = path.read_bytes()
        if key.endswith(".parquet") and "/part-" not in key:
            table = parquet.from_bytes(data)
            pq.write_table(table, path, write_page_checksum=True)
        elif key.endswith((".toml", ".html")):
            path.write_bytes(b"\n".join(line for line in data.split(b"\n") if b"cccount-blake2b" not in line))
        elif key.endswith(".json") and key.startswith(("campaigns", "annotators")) and "zarr" not in key:
            path.write_text(json.dumps(_without(json.loads(data)), indent=1))
        elif key.endswith(".npy"):
            path.write_bytes(data[:-64])
    assert b"cccount-blake2b" not in (copy / "campaigns/count/goal.toml").read_bytes()
    assert verify(str(copy)) == {"ok": True, "problems": []}
    assert stage("advance", str(copy), "count")["state"] == "done"


def _without(content: object) -> object:
    if not isinstance(content, dict):
        return content
    return {name: _without(value) for name, value in content.items() if name != "stamp"}


def test_results_that_are_deleted_come_back_as_the_repair_says(copy: Path) -> None:
    place = str(copy)
    before = set(keys_of(copy))
    for path in copy.glob("campaigns/*/results/*"):
        path.unlink()
    (copy / "campaigns/group/consensus.npz").unlink()
    for name in ("count", "group", "sub", "older"):
        stage("advance", place, name)
    write_reports(place, None)
    Individuals.open(place, "group").write()
    stand_in = "campaigns/group/results/sides.json"  # the pictures here have no sides, so no step writes it (damage.py)
    assert before - set(keys_of(copy)) - {stand_in} <= {key for key in before if key.startswith(".cache/")}
    assert verify(place)["ok"]


def test_what_nobody_declared_is_named_and_what_the_system_leaves_is_not(copy: Path) -> None:
    for name in (".DS_Store", "campaigns/count/results/.DS_Store", "campaigns/count/._goal.toml", f".tmp-{os.getpid()}-x"):
        (copy / name).write_bytes(b"x")
    assert verify(str(copy))["ok"]
    for name in ("campaigns/count/notes.txt", "holiday/1.jpg", "holiday/2/2.jpg"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(b"x")
    found = problems_of(copy)
    assert {problem["path"] for problem in found} == {f"{copy}/campaigns/count/notes.txt", f"{copy}/holiday"}
    assert all("cccount does not know this f" in problem["problem"] for problem in found)
    assert {problem["repair"] for problem in found} == {"move it away or delete it"}


def test_images_of_the_collection_may_lie_in_the_workspace(tmp_path: Path, full: Path) -> None:
    from tests.flows.calls import initialise

    shutil.copytree(full.parent / "photos", tmp_path / "ws" / "photos")
    initialise(str(tmp_path / "ws"), images=str(tmp_path / "ws" / "photos"), labels="folder")
    assert verify(str(tmp_path / "ws"))["ok"]
    (tmp_path / "ws/photos/0/readme.txt").write_bytes(b"x")
    assert [problem["path"] for problem in problems_of(tmp_path / "ws")] == [f"{tmp_path}/ws/photos/0/readme.txt"]


def test_a_lost_campaign_toml_and_a_lost_workspace_toml_are_named_and_an_unfinished_init_is_no_workspace(copy: Path) -> None:
    (copy / "campaigns/count/campaign.toml").unlink()
    assert [problem["path"] for problem in problems_of(copy)] == [f"{copy}/campaigns/count/campaign.toml"]
    (copy / "workspace.toml").unlink()
    assert problems_of(copy)[0]["path"] == f"{copy}/workspace.toml"
    for name in (
        "campaigns",
        "neighbors.zarr",
        "encoded.zarr",
        "previous.zarr",
        "similarity.zarr",
        "features.zarr",
        "previous-features.zarr",
        "matches.zarr",
        ".cache",
        ".scratch",
        "backups",
        "individuals",
    ):
        shutil.rmtree(copy / name)
    for name in ("projection.npz", "gold.parquet", "annotators.json"):
        (copy / name).unlink()
    with pytest.raises(WorkspaceError, match="is not a workspace"):
        verify(str(copy))


def test_markers_of_a_campaign_that_was_deleted_are_named(copy: Path) -> None:
    shutil.rmtree(copy / "campaigns/sub")
    (problem,) = problems_of(copy)
    assert problem["path"] == f"{copy}/markers/campaigns-sub-candidates"


def test_the_journal_and_the_row_cache_elsewhere_on_this_host_are_checked(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = Workspace.open(copy).uuid
    state, cache = tmp_path / "state", tmp_path / "cache"
    monkeypatch.setenv("CCCOUNT_STATE", str(state))
    monkeypatch.setenv("CCCOUNT_CACHE", str(cache))
    assert verify(str(copy))["ok"]
    assert not state.exists()
    (state / identity / "campaigns/count").mkdir(parents=True)
    for name in ("journal.sqlite", "desk.sqlite"):
        shutil.move(copy / "campaigns/count" / name, state / identity / "campaigns/count" / name)
    shutil.move(copy / ".cache", cache / identity)
    assert verify(str(copy))["ok"]
    damaged = [*state.rglob("*.sqlite"), sorted(cache.rglob("*.npy"))[0]]
    for path in damaged:
        path.write_bytes(flipped(path.read_bytes(), SQLITE_PLACE))
    assert {problem["path"] for problem in problems_of(copy)} == set(map(str, damaged))


@pytest.fixture
def plugin() -> Iterator[Stored]:
    """What somebody declares who adds a kind of campaign."""
    thing = inventory.result("map.json", "where clusters were seen", "`cccount map`", checks.json_object)
    register(thing)
    yield thing
    unregister(thing)


def test_the_files_of_a_kind_that_somebody_adds_are_checked_like_all_others(copy: Path, plugin: Stored) -> None:
    folder = CampaignFolder(Workspace.open(copy), "count")
    path = Path(folder.write_result("map.json", b'{"here": 1}'))
    assert json.loads(path.read_bytes())["here"] == 1
    assert verify(str(copy))["ok"]
    path.write_bytes(path.read_bytes().replace(b"1}", b"2}"))
    (problem,) = problems_of(copy)
    assert problem["path"] == str(path)
    assert problem["repair"] == "delete it: `cccount advance --campaign count` writes it again"
    with pytest.raises(InputError, match="declared already"):
        register(plugin)


def test_the_documentation_has_the_table_of_the_registry() -> None:
    text = (ROOT / "docs/reference/workspace.md").read_text()
    for thing in STORED:
        for pattern in thing.patterns:
            assert f"`{pattern}`" in text, (
                f"{pattern}: put the output of `python -m storage.inventory` into docs/reference/workspace.md"
            )
    assert inventory.as_table() in text

"""Damage that is caused on purpose: `verify` names the file and the repair, and nothing reads it as if it were sound."""

import json
from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Response
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, CorruptionError
from storage.handouts import HANDOUTS
from storage.inventory import BESIDE_SQLITE
from storage.journal import JOURNAL
from storage.objects import LocalObjects
from storage.schema import DEGREE, EMBEDDINGS, ESTIMATES
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, count, verify
from tests.flows.conftest import cccount
from tests.review.campaigns import make_folder, pairs, plain_desk


@pytest.fixture
def campaign(workspace: Path) -> Path:
    count(str(workspace), "c", CountOptions(budget=300, oracle="labels"))
    return workspace / "campaigns/c"


def shards(workspace: Path, name: str) -> list[Path]:
    return sorted(path for path in (workspace / name / "c").rglob("*") if path.is_file())


def flip(path: Path, where: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 0x10
    path.write_bytes(bytes(data))


def only_problem(workspace: Path) -> dict[str, str]:
    found = verify(str(workspace))
    assert not found["ok"]
    assert len(found["problems"]) == 1, found
    problem: dict[str, str] = found["problems"][0]
    assert problem["repair"]
    return problem


def test_a_sound_workspace_has_no_problems(workspace: Path, campaign: Path) -> None:
    assert verify(str(workspace)) == {"ok": True, "problems": []}


def test_a_server_that_opens_and_closes_its_databases_meanwhile_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "ws", pairs(3), items=20)
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0)])
    desk.take("ana", 1)
    there = LocalObjects.keys
    seen = {key for key in there(LocalObjects(tmp_path / "ws"), "") if key.endswith(BESIDE_SQLITE)}
    assert seen, "SQLite has files of its own while a database is open"
    assert verify(str(tmp_path / "ws"))["problems"] == []
    desk.close()
    gone = {f"campaigns/c/{name}{ending}" for name in (JOURNAL, HANDOUTS) for ending in BESIDE_SQLITE}
    more = {"": sorted(gone)}
    monkeypatch.setattr(LocalObjects, "keys", lambda self, prefix: [*there(self, prefix), *more.get(prefix, [])])
    assert verify(str(tmp_path / "ws"))["problems"] == [], "they were there when the folder was listed"


@pytest.mark.parametrize("spec", [EMBEDDINGS, DEGREE], ids=lambda spec: spec.name)
def test_a_flipped_byte_in_a_shard_is_named_and_its_repair_works(workspace: Path, spec: object) -> None:
    name = EMBEDDINGS.name if spec is EMBEDDINGS else DEGREE.name
    path = shards(workspace, name)[0]
    flip(path)
    problem = only_problem(workspace)
    assert str(path.relative_to(workspace)) in problem["path"]
    assert "marker" in problem["repair"]
    with pytest.raises(CorruptionError, match=name):
        Workspace.open(workspace).array(EMBEDDINGS if spec is EMBEDDINGS else DEGREE).read()


def test_a_missing_chunk_is_never_read_as_fill_values(workspace: Path) -> None:
    path = shards(workspace, DEGREE.name)[0]
    path.unlink()
    assert str(path.relative_to(workspace)) in only_problem(workspace)["path"]
    shown = cccount("count", workspace, "--oracle", "labels", "--budget", "10")
    assert shown.code == 1
    assert str(path.relative_to(workspace)) in shown.line


def test_the_repair_of_a_lost_shard_computes_it_again(workspace: Path) -> None:
    whole = Workspace.open(workspace).array(DEGREE).read()
    shards(workspace, DEGREE.name)[0].unlink()
    marker = only_problem(workspace)["repair"].split("the marker ")[1].split(" and run")[0]
    Path(marker).unlink()
    shown = cccount("neighbors", workspace, "--k", "10", "--workers", "1", "--json")
    assert shown.code == 0, shown.err
    assert verify(str(workspace))["ok"]
    assert (Workspace.open(workspace).array(DEGREE).read() == whole).all()


@pytest.mark.parametrize("folder", ["questions", "answers"])
def test_a_truncated_part_of_the_log_is_named(workspace: Path, campaign: Path, folder: str) -> None:
    path = sorted((campaign / folder).glob("*.parquet"))[0]
    path.write_bytes(path.read_bytes()[:-100])
    problem = verify(str(workspace))["problems"][0]
    assert problem["path"].endswith(f"{folder}/{path.name}")
    with pytest.raises(CorruptionError, match=path.name):
        count(str(workspace), "c", CountOptions(budget=310, oracle="labels"))


def test_a_flipped_byte_anywhere_in_a_part_is_found(workspace: Path, campaign: Path) -> None:
    path = sorted((campaign / "answers").glob("*.parquet"))[0]
    whole = path.read_bytes()
    for where in (0.01, 0.3, 0.6, 0.95, 0.999):
        flip(path, where)
        assert verify(str(workspace))["problems"][0]["path"].endswith(path.name), where
        path.write_bytes(whole)


def test_a_lost_part_of_the_log_is_noticed(workspace: Path, campaign: Path) -> None:
    sorted((campaign / "answers").glob("*.parquet"))[0].unlink()
    assert any("answers" in problem["path"] for problem in verify(str(workspace))["problems"])


@pytest.mark.parametrize("name", ["campaign.toml", "goal.toml", "results/estimates.parquet", "lease.json"])
def test_damaged_small_files_of_a_campaign_are_named(workspace: Path, campaign: Path, name: str) -> None:
    (campaign / name).write_bytes(b"\xff\x00 this is not what was written")
    assert any(problem["path"].endswith(name) for problem in verify(str(workspace))["problems"])


def test_damaged_estimates_are_written_anew(workspace: Path, campaign: Path) -> None:
    (campaign / "results/estimates.parquet").unlink()
    cccount("advance", workspace, "--campaign", "c")
    assert CampaignFolder(Workspace.open(workspace), "c").read_table(ESTIMATES).num_rows == 1


def test_a_damaged_collection_is_named(workspace: Path) -> None:
    path = workspace / "collection.parquet"
    path.write_bytes(path.read_bytes()[:-20])
    assert any(problem["path"].endswith("collection.parquet") for problem in verify(str(workspace))["problems"])


def test_the_command_prints_problems_and_exits_with_1(workspace: Path) -> None:
    assert cccount("verify", workspace, "--json").json == {"ok": True, "problems": []}
    flip(shards(workspace, EMBEDDINGS.name)[0])
    shown = cccount("verify", workspace, "--json")
    assert shown.code == 1
    assert json.loads(shown.out)["problems"][0].keys() == {"path", "problem", "repair"}
    assert "repair: delete the marker" in cccount("verify", workspace).out


def test_verify_of_something_else_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CccountError, match="is not a workspace"):
        verify(str(tmp_path))

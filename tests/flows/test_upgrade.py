"""`cccount upgrade`: an older workspace goes on as it is, is upgraded, and goes on after it, whatever kills it in between."""

import os
import random
import shutil
import signal
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cccount_dist.review.annotators import Annotators
from flows.stages.upgrade import upgrade
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError, FormatError
from storage.stamp import intact
from storage.workspace import Workspace
from tests.flows.calls import ClusterOptions, CountOptions, advance, cluster, count, status, verify
from tests.flows.conftest import cccount, files_of
from tests.flows.oldworkspace import make_old
from tests.flows.processes import leave_a_temporary, start, upgrade_workspace
from tests.flows.test_kills import log_of
from tests.laterversion import later
from tests.storage.faults import flip
from tests.storage.rows import answers

KILLS = 20
COPIES = 6  # of a campaign: many files, many moments


@pytest.fixture(scope="module")
def old_one(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace as 0.1.0 left it, with two campaigns, a journal and an annotator. Do not write to it."""
    place = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("old") / "ws"))
    count(str(place), "count", CountOptions(method="nis", budget=200, oracle="labels", seed=3))
    cluster(str(place), "cluster", ClusterOptions(method="evidence", budget=20, oracle="labels", seed=3))
    count(str(place), "asked", CountOptions(method="nis", budget=200, seed=4))
    folder = CampaignFolder(Workspace.open(place), "asked")
    with folder.journal() as journal:
        journal.record(answers(["waiting"]))
    Annotators(folder.workspace).add("ana")
    return make_old(place)


@pytest.fixture
def old(old_one: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(old_one, tmp_path / "ws"))


def lasting(workspace: Path) -> dict[str, bytes]:
    """Every file without locks and leases."""
    return {
        name: data
        for name, data in files_of(workspace).items()
        if not Path(name).name.startswith((".lock-", ".tmp-")) and Path(name).name != "lease.json"
    }


def changed_files(campaigns: list[str]) -> list[str]:
    settings = [f"campaigns/{name}/{file}.toml" for name in campaigns for file in ("campaign", "goal")]
    return [*settings, "annotators.json", "collection.parquet", "workspace.toml"]


CHANGED = changed_files(["asked", "cluster", "count"])


def test_a_workspace_of_0_1_0_needs_no_upgrade_to_be_read_and_go_on(old: Path) -> None:
    assert b"cccount-blake2b" not in (old / "campaigns/count/campaign.toml").read_bytes()
    assert b"format" not in (old / "campaigns/count/campaign.toml").read_bytes()
    assert verify(str(old)) == {"ok": True, "problems": []}
    assert [row["campaign"] for row in status(str(old))["campaigns"]] == ["asked", "cluster", "count"]
    found = count(str(old), "count", CountOptions(method="nis", budget=260, oracle="labels", seed=3))
    assert found["state"] == "done"
    assert verify(str(old))["ok"]


def test_a_dry_run_says_what_would_change_and_writes_nothing(old: Path) -> None:
    before = files_of(old)
    shown = cccount("upgrade", old, "--dry-run", "--json")
    assert shown.json == {"from": 1, "to": 2, "changed": CHANGED, "backup": None, "dry_run": True}
    assert files_of(old) == before
    said = cccount("upgrade", old, "--dry-run").out
    assert "nothing was written" in said
    assert "campaigns/count/goal.toml" in said


def test_an_upgrade_keeps_what_it_changes_and_leaves_log_and_arrays_alone(old: Path) -> None:
    before = lasting(old)
    fingerprint = CampaignFolder(Workspace.open(old), "count").settings().fingerprints
    shown = cccount("upgrade", old, "--json")
    assert shown.code == 0, shown.err
    assert shown.json == {"from": 1, "to": 2, "changed": CHANGED, "backup": f"{old}/backups/1-2", "dry_run": False}
    after = lasting(old)
    for name in CHANGED:
        assert after[f"backups/1-2/{name}"] == before[name]
        assert intact(after[name]) is True, name
    assert {name for name in after if name not in before} == {f"backups/1-2/{name}" for name in CHANGED}
    assert {name for name in before if before[name] != after[name]} == set(CHANGED)
    table, was = (pq.read_table(old / folder / "collection.parquet") for folder in ("", "backups/1-2"))
    assert table.replace_schema_metadata(None).equals(was.replace_schema_metadata(None))
    assert Annotators(Workspace.open(old)).names() == ["ana"]
    assert CampaignFolder(Workspace.open(old), "count").settings().fingerprints == fingerprint
    assert verify(str(old)) == {"ok": True, "problems": []}
    again = cccount("upgrade", old, "--json").json
    assert again == {"from": 2, "to": 2, "changed": [], "backup": None, "dry_run": False}
    assert lasting(old) == after


def test_an_upgraded_campaign_writes_what_a_new_one_would_have_written(old: Path) -> None:
    upgrade(str(old))
    folder = CampaignFolder(Workspace.open(old), "count")
    assert (old / "campaigns/count/campaign.toml").read_bytes() == folder.settings().to_toml()
    assert (old / "campaigns/count/goal.toml").read_bytes() == folder.goal().to_toml()


def test_an_upgraded_workspace_goes_on_bit_for_bit(old: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(old, tmp_path / "other"))
    upgrade(str(old))
    for place in (old, other):
        count(str(place), "count", CountOptions(method="nis", budget=320, oracle="labels", seed=3))
        cluster(str(place), "cluster", ClusterOptions(method="evidence", budget=30, oracle="labels", seed=3))
        advance(str(place), "asked")
        assert verify(str(place))["ok"]
    for name in ("count", "cluster", "asked"):
        for mine, theirs in zip(log_of(old, name), log_of(other, name), strict=True):
            assert mine.equals(theirs)


def test_an_upgrade_waits_for_whoever_advances_a_campaign(old: Path) -> None:
    before = lasting(old)
    with CampaignFolder(Workspace.open(old), "cluster").lease():
        shown = cccount("upgrade", old)
        assert shown.code == 1
        assert shown.line.startswith("cccount: campaign cluster is being advanced by pid ")
        assert cccount("upgrade", old, "--dry-run").code == 0
    assert lasting(old) == before
    assert cccount("upgrade", old).code == 0


def test_a_damaged_file_is_not_upgraded(old: Path) -> None:
    upgrade(str(old))
    for path in (old / "campaigns/count/goal.toml", old / "annotators.json"):
        whole = path.read_bytes()
        (old / "workspace.toml").write_bytes((old / "backups/1-2/workspace.toml").read_bytes())
        flip(path, len(whole) - 4)
        before = lasting(old)
        with pytest.raises(CorruptionError, match="is damaged"):
            upgrade(str(old))
        assert lasting(old) == before
        path.write_bytes(whole)
    assert upgrade(str(old)).changed == ("workspace.toml",)
    assert verify(str(old))["ok"]


def test_a_newer_workspace_is_refused_by_every_command_in_one_line(old: Path) -> None:
    upgrade(str(old))
    path = old / "workspace.toml"
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("#", "cccount"))]
    path.write_text("\n".join(lines).replace("format = 2", 'format = 3\ncccount = "0.9.0"') + "\n")
    said = f"{path}: made by a newer cccount: format 3, this one reads 1 and 2; use cccount 0.9.0 or newer"
    for command in (["status"], ["advance", "--campaign", "count"], ["review"], ["upgrade"]):
        shown = cccount(command[0], old, *command[1:])
        assert (shown.code, shown.err.strip()) == (1, f"cccount: {said}")
    shown = cccount("verify", old, "--json")
    assert shown.code == 1
    (problem,) = shown.json["problems"]
    assert f"{problem['path']}: {problem['problem']}; {problem['repair']}" == said


def test_an_upgrade_refuses_a_workspace_with_something_newer_in_it(old: Path) -> None:
    path = old / "campaigns/cluster/goal.toml"
    path.write_text(f'format = 5\ncccount = "0.9.0"\n{path.read_text()}')
    before = lasting(old)
    for dry_run in (True, False):
        with pytest.raises(FormatError, match=r"format 5 of the campaign, this one reads 1; use cccount 0\.9\.0 or newer$"):
            upgrade(str(old), dry_run=dry_run)
    assert lasting(old) == before
    (problem,) = verify(str(old))["problems"]
    assert problem["path"] == str(path)
    assert problem["repair"] == "use cccount 0.9.0 or newer"


def test_twenty_kills_of_an_upgrade_change_nothing(old: Path, tmp_path: Path) -> None:
    for number in range(COPIES):
        shutil.copytree(old / "campaigns/count", old / f"campaigns/more{number}")
    whole = Path(shutil.copytree(old, tmp_path / "whole"))
    upgrade(str(whole))
    expected = lasting(whole)
    files = len([name for name in expected if name.startswith("backups/")])
    assert files == len(CHANGED) + 2 * COPIES
    moments = random.Random(11)
    reached: list[int] = []
    while len(reached) < KILLS:
        place = Path(shutil.copytree(old, tmp_path / "killed"))
        process = start(upgrade_workspace, str(place))
        _wait_for_backups(place, moments.randrange(files))
        time.sleep(moments.uniform(0.0, 0.002))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        if process.exitcode == 0:  # it was faster
            shutil.rmtree(place)
            continue
        assert process.exitcode == -signal.SIGKILL
        reached.append(_done(place, expected))
        assert "format = 1\n" in (place / "workspace.toml").read_text() or reached[-1] == files
        if len(reached) % 10 == 1:
            assert verify(str(place))["ok"], "what is half upgraded is sound"
        again = start(upgrade_workspace, str(place))
        again.join()
        assert again.exitcode == 0
        assert lasting(place) == expected
        assert not list(place.rglob(".tmp-*"))
        shutil.rmtree(place)
    assert len(set(reached)) > KILLS // 3, f"the kills fell on too few moments: {reached}"
    assert verify(str(whole))["ok"]


def test_an_upgrade_that_was_killed_after_its_last_change_is_tidied_up(old: Path) -> None:
    """Killed while it let go of a lease: nothing is left to change then, but something is left to sweep."""
    upgrade(str(old))
    expected = lasting(old)
    left = start(leave_a_temporary, str(old / "campaigns/count"))
    left.join()
    assert list(old.rglob(".tmp-*"))
    upgrade(str(old), dry_run=True)
    assert list(old.rglob(".tmp-*"))
    upgrade(str(old))
    assert not list(old.rglob(".tmp-*"))
    assert lasting(old) == expected


def _wait_for_backups(place: Path, number: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = sum(1 for path in (place / "backups").rglob("*") if path.suffix) if (place / "backups").exists() else 0
        if found >= number:
            return
        time.sleep(0.0005)
    raise TimeoutError(f"{place} has no {number} backups")


def _done(place: Path, expected: dict[str, bytes]) -> int:
    """How many files are upgraded."""
    names = [name.removeprefix("backups/1-2/") for name in expected if name.startswith("backups/")]
    return sum((place / name).read_bytes() == expected[name] for name in names)


def test_a_version_with_a_column_more_verifies_and_goes_on_and_so_does_this_one_after_it(old: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(old, tmp_path / "other"))
    for arguments in (
        ("verify", old),
        ("count", old, "--method", "nis", "--budget", "260", "--oracle", "labels", "--seed", "3"),
        ("advance", old, "--campaign", "asked"),
        ("verify", old),
    ):
        done = later(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    parts = sorted((old / "campaigns/count/answers").glob("*.parquet"))
    assert any("confidence" in pq.read_schema(part).names for part in parts)
    assert not all("confidence" in pq.read_schema(part).names for part in parts), "older parts are never rewritten in place"
    assert verify(str(old)) == {"ok": True, "problems": []}
    for place, budget in ((other, 260), (other, 320), (old, 320)):
        count(str(place), "count", CountOptions(method="nis", budget=budget, oracle="labels", seed=3))
    for mine, theirs in zip(log_of(old, "count"), log_of(other, "count"), strict=True):
        assert mine.equals(theirs)
    assert verify(str(old))["ok"]
    assert later("verify", old).returncode == 0

"""A campaign that is killed and stopped: nothing is lost, torn or doubled, and it ends as if nothing had happened."""

import fcntl
import os
import random
import signal
import time
from pathlib import Path

import pyarrow as pa
import pytest

from storage.campaigns import CampaignFolder
from storage.errors import LeaseError
from storage.schema import ESTIMATES, LABELS
from storage.workspace import Workspace
from tests.flows.conftest import cccount
from tests.flows.processes import count_labels, group_labels, start, step_with_lease

BUDGET = 600
KILLS = 50


def log_of(workspace: Path, campaign: str) -> tuple[pa.Table, pa.Table]:
    """Questions and answers without what the clock says."""
    log = CampaignFolder(Workspace.open(workspace), campaign).log
    return log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"])


def last_estimate(workspace: Path, campaign: str) -> dict[str, object]:
    row = CampaignFolder(Workspace.open(workspace), campaign).read_table(ESTIMATES).to_pylist()[-1]
    return {name: row[name] for name in ("answers", "questions", "inferred", "estimate", "low", "high")}


def test_fifty_kills_change_nothing(workspace: Path) -> None:
    undisturbed = start(count_labels, str(workspace), "whole", BUDGET)
    began = time.monotonic()
    undisturbed.join()
    assert undisturbed.exitcode == 0
    duration = time.monotonic() - began

    moments = random.Random(5)
    killed = 0
    seen = 0
    while killed < KILLS:
        process = start(count_labels, str(workspace), "killed", BUDGET)
        # Early kills hit the start and the replay, late ones the steps; together they must not outrun the campaign.
        process.join(timeout=moments.uniform(0.0, duration * 0.1))
        assert process.is_alive(), f"the campaign came to its end after {killed} kills: make it longer"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += 1
        if (workspace / "campaigns/killed/campaign.toml").exists():
            rows = CampaignFolder(Workspace.open(workspace), "killed").log.answers().num_rows
            assert rows >= seen, "an answer was lost"
            seen = rows
    finishing = start(count_labels, str(workspace), "killed", BUDGET)
    finishing.join()
    assert finishing.exitcode == 0

    questions, answers = log_of(workspace, "killed")
    expected_questions, expected_answers = log_of(workspace, "whole")
    assert questions.equals(expected_questions)
    assert answers.equals(expected_answers)
    ids = answers.column("answer_id").to_pylist()
    assert len(set(ids)) == len(ids)
    assert last_estimate(workspace, "killed") == last_estimate(workspace, "whole")
    assert cccount("verify", workspace, "--json").json["ok"]


@pytest.mark.parametrize("method", ["evidence", "catalogue"])
def test_a_grouping_that_is_killed_ends_with_the_same_questions_and_labels(workspace: Path, method: str) -> None:
    whole = start(group_labels, str(workspace), "whole", 30, method)
    whole.join()
    assert whole.exitcode == 0
    wanted = CampaignFolder(Workspace.open(workspace), "whole").log.answers().num_rows
    moments, seen, killed = random.Random(7), 0, 0
    while seen < wanted and killed < 2:
        process = start(group_labels, str(workspace), "killed", 30, method)
        goal = seen + moments.randint(4, 12)
        while process.is_alive() and seen < goal:  # some answers further it is killed, at whatever it does then
            process.join(timeout=0.01)
            if (workspace / "campaigns/killed/campaign.toml").exists():
                rows = CampaignFolder(Workspace.open(workspace), "killed").log.answers().num_rows
                assert rows >= seen, "an answer was lost"
                seen = rows
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed += 1
    finishing = start(group_labels, str(workspace), "killed", 30, method)
    finishing.join()
    assert finishing.exitcode == 0
    for found, expected in zip(log_of(workspace, "killed"), log_of(workspace, "whole"), strict=True):
        assert found.equals(expected)
    labels = [CampaignFolder(Workspace.open(workspace), name).read_table(LABELS) for name in ("killed", "whole")]
    assert labels[0].equals(labels[1])


def test_of_two_advances_one_wins_and_the_other_says_so(workspace: Path) -> None:
    cccount("count", workspace, "--method", "nis", "--budget", "50", "--campaign", "c")
    folder = CampaignFolder(Workspace.open(workspace), "c")
    with folder.lease():
        before = _campaign_files(workspace)
        shown = cccount("advance", workspace, "--campaign", "c", "--json")
        assert shown.code == 1
        assert f"pid {os.getpid()}" in shown.line
        assert _campaign_files(workspace) == before
    assert cccount("advance", workspace, "--campaign", "c", "--json").code == 0


def test_a_stopped_process_that_lost_its_lease_cannot_write(workspace: Path, tmp_path: Path) -> None:
    assert (
        cccount(
            "count", workspace, "--method", "nis", "--budget", "200", "--oracle", "labels", "--campaign", "c", "--seed", "3"
        ).code
        == 0
    )
    folder = CampaignFolder(Workspace.open(workspace), "c")
    folder.set_goal(type(folder.goal())(budget=5000, oracle="labels"))
    says = tmp_path / "says"
    stale = start(step_with_lease, str(workspace), "c", 1.0, str(says))
    assert stale.pid is not None
    deadline = time.monotonic() + 30
    while not says.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    _stop_outside_the_lock(stale.pid, folder)
    time.sleep(1.5)  # its lease runs out while it cannot renew it
    with folder.lease() as lease:
        before = _campaign_files(workspace)
        os.kill(stale.pid, signal.SIGCONT)
        stale.join(timeout=30)
        assert stale.exitcode == 3
        assert "lost the lease" in says.read_text()
        assert _campaign_files(workspace) == before
        lease.check()


def test_a_lease_of_a_dead_process_is_taken_over_at_once(workspace: Path, tmp_path: Path) -> None:
    cccount("count", workspace, "--method", "nis", "--budget", "200", "--campaign", "c")
    says = tmp_path / "says"
    process = start(step_with_lease, str(workspace), "c", 600.0, str(says))
    while not says.exists():
        time.sleep(0.01)
    folder = CampaignFolder(Workspace.open(workspace), "c")
    with pytest.raises(LeaseError, match=f"pid {process.pid}"):
        folder.lease()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with folder.lease() as lease:
        assert lease.fence >= 2


def _stop_outside_the_lock(pid: int, folder: CampaignFolder) -> None:
    """Stop a process at a moment at which it holds no lock: one that is stopped inside would keep everybody out."""
    path = folder.workspace.location + f"/{folder.prefix}/.lock-lease.json"
    while True:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        with Path(path).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.kill(pid, signal.SIGCONT)
                time.sleep(0.01)
            else:
                return


def _campaign_files(workspace: Path) -> dict[str, bytes]:
    """What a campaign consists of, without the lease itself and locks."""
    folder = workspace / "campaigns"
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name != "lease.json" and not p.name.startswith(".")}

"""A review server and `advance`, killed at any moment; two real `advance` at once. Long form: `python -m benchmarks.kills`."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.killing import answer_some, same_content
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, advance, count, verify
from tests.flows.conftest import ROOT, environment


def _killed(*arguments: str) -> list[str]:
    """The figures of `benchmarks.kills`, in a process of its own: the fork server of the tests has other modules loaded."""
    command = [sys.executable, "-m", "benchmarks.kills", *arguments]
    shown = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=220, check=False, cwd=ROOT)
    assert shown.returncode == 0, shown.stderr
    (row,) = [line for line in shown.stdout.splitlines() if line.startswith("| ") and "kills" not in line]
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_a_server_that_is_killed_loses_and_doubles_nothing() -> None:
    kills, acknowledged, stored, lost, doubled = map(int, _killed("--only", "server", "--kills", "12"))
    assert (kills, lost, doubled) == (12, 0, 0)
    assert acknowledged <= stored <= acknowledged + 1, "at most the last one was not acknowledged"


def test_an_advance_that_is_killed_changes_nothing() -> None:
    killed, answers, equal = _killed("--only", "advance", "--kills", "8", "--budget", "20")
    assert int(killed) == 8
    assert int(answers) >= 20
    assert equal == "yes, bit for bit", "questions, answers and the estimate are those of an undisturbed run"


def test_two_advances_at_once_are_harmless(workspace: Path, labels: NDArray[np.int64]) -> None:
    count(str(workspace), "c", CountOptions(method="placing", budget=60, seed=3))
    alone = shutil.copytree(workspace, workspace.with_name("alone"))
    for place in (workspace, alone):
        answer_some(str(place), "c", labels, 16)
    command = [sys.executable, "-m", "flows", "advance", str(workspace), "--campaign", "c", "--json"]
    racing = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in racing]
    assert sorted(process.returncode for process in racing) in ([0, 0], [0, 1]), said
    assert all(p.returncode == 0 or "is being advanced by" in err for p, err in zip(racing, said, strict=True))
    advance(str(alone), "c")
    assert same_content(str(workspace), str(alone), "c")
    assert CampaignFolder(Workspace.open(workspace), "c").log.answers().num_rows >= 16
    assert verify(str(workspace))["ok"]

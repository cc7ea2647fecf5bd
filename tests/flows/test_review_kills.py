"""A review server and `advance`, killed at any moment; two real `advance` at once. Long form: `python -m benchmarks.kills`."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.killing import answer_some, kill_advance, kill_the_server, same_content
from flows.campaign import advance
from flows.counting import CountOptions, count
from flows.verify import verify
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.flows.conftest import environment


def test_a_server_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    outcome = kill_the_server(tmp_path / "ws", 12)
    assert (outcome.lost, outcome.doubled) == (0, 0)
    assert outcome.acknowledged <= outcome.stored <= outcome.acknowledged + 1, "at most the last one was not acknowledged"


def test_an_advance_that_is_killed_changes_nothing(workspace: Path, labels: NDArray[np.int64]) -> None:
    killed, equal, answers = kill_advance(workspace, 8, budget=20, labels=labels)
    assert killed == 8
    assert answers >= 20
    assert equal, "questions, answers and the estimate are those of an undisturbed run"


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

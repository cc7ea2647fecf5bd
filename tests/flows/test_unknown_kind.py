"""A log with a kind of question that nobody here knows: every command that reads it names the kind, in one line."""

from pathlib import Path

from cccount_dist.sampling.logged import questions_table
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.flows.conftest import cccount


def test_status_advance_and_verify_name_the_kind(workspace: Path) -> None:
    started = cccount("count", workspace, "--campaign", "c", "--budget", "20", "--json")
    assert started.code == 0, started.err
    folder = CampaignFolder(Workspace.open(workspace), "c")
    asked = folder.log.questions().num_rows
    folder.log.append_questions(questions_table([Question(asked, 0, 1, "colour")], number=99, after=0))
    for command in (["status", str(workspace)], ["advance", str(workspace), "--campaign", "c"]):
        shown = cccount(*command)
        assert shown.code == 1
        assert f"question {asked} of the log cannot be read: there is no kind of question 'colour'" in shown.line
        assert "Traceback" not in shown.err
    shown = cccount("verify", workspace, "--json")
    assert shown.code == 1
    (problem,) = shown.json["problems"]
    assert "'colour'" in problem["problem"]
    assert problem["path"].endswith("campaigns/c/questions")
    assert "load the plug-in" in problem["repair"]

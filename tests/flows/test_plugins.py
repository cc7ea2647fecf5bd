"""Plug-ins: a kind of campaign in one file, and nothing else edited, works in every command, on the page, in the report."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.flows.conftest import Shown, cccount

TOY = Path(__file__).with_name("toykind.py")


def with_toy(*arguments: str | Path) -> Shown:
    return cccount(*arguments, variables={"CCCOUNT_PLUGINS": str(TOY)})


def test_a_kind_in_one_file_is_a_command_with_help_options_and_json(workspace: Path, labels: NDArray[np.int64]) -> None:
    assert "like" in with_toy("--help").out
    shown = with_toy("like", "--help").out
    assert "Example: cccount like census" in shown
    assert "--budget" in shown
    found = with_toy("like", workspace, "--oracle", "labels", "--budget", "600", "--json")
    assert found.code == 0, found.err
    assert found.json["alike"] == int(np.count_nonzero(labels[1:] == labels[0]))
    assert found.json["state"] == "done"
    assert [one["name"] for one in with_toy("methods", "in-line", "--json").json["methods"]] == ["in-line"]
    refused = with_toy("like", workspace, "--campaign", "b", "--parameter", "stride=2")
    assert refused.line == "cccount: in-line has no parameter 'stride': it takes step"


def test_it_is_advanced_reported_verified_and_answered_by_people(workspace: Path, tmp_path: Path) -> None:
    waiting = with_toy("like", workspace, "--campaign", "people", "--budget", "20", "--json")
    assert (waiting.json["state"], waiting.json["pending"]) == ("waiting", 20)
    file = tmp_path / "answers.json"
    assert with_toy("answers", "export", workspace, "--campaign", "people", "--file", file).code == 0
    rows = json.loads(file.read_text())
    for row in rows:
        row["value"] = "same" if int(row["question_id"]) < 5 else "different"
    file.write_text(json.dumps(rows))
    assert with_toy("answers", "import", workspace, "--campaign", "people", "--file", file, "--json").json["recorded"] == 20
    advanced = with_toy("advance", workspace, "--campaign", "people", "--json")
    assert (advanced.json["alike"], advanced.json["state"]) == (5, "done")
    assert "5 alike" in Path(advanced.json["report"]).read_text()
    assert "5 alike" in with_toy("status", workspace).out
    assert with_toy("verify", workspace, "--json").json == {"ok": True, "problems": []}
    course = workspace / "campaigns/people/results/likenesses.parquet"
    course.write_bytes(course.read_bytes()[:-9])
    assert [problem["path"] for problem in with_toy("verify", workspace, "--json").json["problems"]] == [str(course)]


def test_without_the_plug_in_its_campaigns_are_named_and_the_others_go_on(workspace: Path) -> None:
    assert with_toy("like", workspace, "--oracle", "labels", "--budget", "10").code == 0
    refused = cccount("advance", workspace, "--campaign", "like")
    assert refused.line == "cccount: there is no kind of campaign 'like' (there are: cluster, count, subcluster)"
    assert cccount("count", workspace, "--oracle", "labels", "--budget", "10").code == 0


@pytest.mark.parametrize(("content", "said"), [("import nothing_like_it", "nothing_like_it"), ("def (:", "syntax")])
def test_a_plug_in_that_cannot_be_loaded_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(content)
    shown = cccount("methods", variables={"CCCOUNT_PLUGINS": str(broken)})
    assert shown.code == 1
    assert "Traceback" not in shown.err
    assert str(broken) in shown.line
    assert said in shown.line

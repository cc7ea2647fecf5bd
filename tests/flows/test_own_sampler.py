"""The sampler of docs/how-to/write-your-own-sampler.md, in one file: it works in every command, on the page, in the report."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cccount_dist.test_testing import blocks
from tests.flows.conftest import Shown, cccount, environment
from tests.flows.test_review import answer_to


@pytest.fixture
def birthday(tmp_path: Path) -> dict[str, str]:
    """The environment of a reader who has saved the page's file."""
    file = tmp_path / "birthday.py"
    file.write_text("\n".join([blocks()[0], blocks()[3]]))
    return {"CCCOUNT_PLUGINS": str(file)}


def test_it_counts_by_labels_and_its_parameters_are_known(workspace: Path, birthday: dict[str, str]) -> None:
    (facts,) = cccount("methods", "birthday", "--json", variables=birthday).json["methods"]
    assert (facts["kind"], [one["name"] for one in facts["parameters"]]) == ("count", ["fewest"])
    command = ("count", workspace, "--method", "birthday", "--oracle", "labels", "--json")
    found = cccount(*command, "--budget", "600", "--parameter", "fewest=5", variables=birthday)
    assert found.code == 0, found.err
    assert (found.json["state"], found.json["method"], found.json["questions"]) == ("done", "birthday", 600)
    assert found.json["low"] <= 10 <= found.json["high"]
    refused = cccount(*command, "--campaign", "b", "--parameter", "least=5", variables=birthday)
    assert "birthday has no option --least: it has fewest" in refused.line


def test_people_answer_it_and_it_is_advanced_reported_and_verified(
    workspace: Path, tmp_path: Path, birthday: dict[str, str], labels: NDArray[np.int64]
) -> None:
    def run(*arguments: str | Path) -> Shown:
        shown = cccount(*arguments, variables=birthday)
        assert shown.code == 0, shown.err
        return shown

    assert run("count", workspace, "--method", "birthday", "--budget", "200", "--json").json["pending"] == 200
    file = tmp_path / "answers.json"
    run("answers", "export", workspace, "--file", file)
    rows = json.loads(file.read_text())
    for row in rows:
        row["value"] = "same" if labels[row["u"]] == labels[row["v"]] else "different"
    file.write_text(json.dumps(rows))
    assert run("answers", "import", workspace, "--file", file, "--json").json["recorded"] == 200
    advanced = run("advance", workspace, "--json").json
    assert advanced["state"] == "done"
    assert advanced["low"] <= 10 <= advanced["high"]
    assert "birthday" in Path(advanced["report"]).read_text()
    assert "birthday" in run("status", workspace).out
    assert run("verify", workspace, "--json").json == {"ok": True, "problems": []}


def test_people_answer_it_on_the_page(workspace: Path, birthday: dict[str, str], labels: NDArray[np.int64]) -> None:
    assert cccount("count", workspace, "--method", "birthday", "--budget", "60", variables=birthday).code == 0
    command = [sys.executable, "-m", "flows", "review", str(workspace), "--port", "0", "--json", "--gold", "0", "--repeats", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(**birthday))
    assert process.stdout is not None
    try:
        told = json.loads(process.stdout.readline())
        with httpx.Client(base_url=told["url"], timeout=60.0) as client:
            assert [one["method"] for one in client.get("/api/session").json()["campaigns"]] == ["birthday"]
            while sheets := client.get("/api/count/sheets?count=64").json()["sheets"]:
                client.post("/api/count/answers", json=[answer_to(sheet, labels) for sheet in sheets])
            standing = client.get("/api/count/standing").json()
    finally:
        process.send_signal(signal.SIGINT)
        with process.stdout:
            process.wait(90)
    assert (standing["method"], standing["questions"]) == ("birthday", 60)

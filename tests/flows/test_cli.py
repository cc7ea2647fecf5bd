"""The command line: help that teaches, JSON alone on standard output, exit codes as documented."""

import json
import re
import time
from pathlib import Path

import pytest

from storage.version import __version__
from tests.flows.conftest import cccount

COMMANDS = [
    ["init"], ["extend"], ["bursts"], ["embed"], ["neighbors"], ["matches"], ["count"], ["cluster"], ["advance"], ["status"],
    ["answers", "export"], ["answers", "import"], ["annotators", "add"], ["annotators", "list"],
    ["individuals", "list"], ["individuals", "name"], ["individuals", "merge"], ["individuals", "split"], ["individuals", "move"],
    ["individuals", "confirm"], ["individuals", "undo"], ["catalogue", "import"], ["export"],
    ["annotators", "remove"], ["gold", "import"], ["report"], ["verify"], ["demo"], ["doctor"],
]  # fmt: skip


def test_help_names_every_command() -> None:
    shown = cccount("--help")
    assert shown.code == 0
    for command in COMMANDS:
        assert command[0] in shown.out


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_of_a_command_has_an_example_and_json(command: list[str]) -> None:
    shown = cccount(*command, "--help")
    assert shown.code == 0
    assert f"Example: cccount {' '.join(command)}" in shown.out
    assert "--json" in shown.out


def test_the_version_is_said() -> None:
    assert cccount("--version").out == f"cccount {__version__}\n"


def test_wrong_usage_exits_with_2() -> None:
    assert cccount("no-such-command").code == 2
    assert cccount("count").code == 2
    assert cccount("neighbors", "ws", "--k", "many").code == 2


def test_json_is_the_only_thing_on_standard_output(workspace: Path) -> None:
    shown = cccount("count", workspace, "--oracle", "labels", "--budget", "300", "--json")
    assert shown.code == 0, shown.err
    report = json.loads(shown.out)
    assert shown.out.count("\n") == 1
    expected = {
        "campaign", "method", "estimate", "low", "high", "level", "questions", "glances", "human_seconds", "inferred", "state",
        "forecast_questions",
    }  # fmt: skip
    assert expected <= set(report)
    assert report["questions"] == 300
    assert report["state"] == "done"
    assert report["low"] <= report["estimate"] <= report["high"]


def test_a_failure_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    shown = cccount("status", tmp_path / "nowhere")
    assert shown.code == 1
    assert shown.out == ""
    assert shown.err.strip().count("\n") == 0
    assert shown.err.startswith("cccount: ")


def test_without_json_the_result_is_a_sentence(workspace: Path) -> None:
    shown = cccount("count", workspace, "--oracle", "labels", "--budget", "300")
    assert shown.out.startswith("About ")
    assert re.search(r"95 % sure, from \d+ answers|The 95 % interval has no other number\.", shown.out)


def test_status_says_where_every_campaign_stands(workspace: Path) -> None:
    assert cccount("status", workspace, "--json").json["campaigns"] == []
    cccount("count", workspace, "--oracle", "labels", "--budget", "100", "--campaign", "a")
    cccount("count", workspace, "--budget", "50", "--campaign", "b", "--method", "nis")
    rows = cccount("status", workspace, "--json").json["campaigns"]
    assert [(row["campaign"], row["state"], row["questions"], row["pending"]) for row in rows] == [
        ("a", "done", 100, 0),
        ("b", "waiting", 0, 50),
    ]
    assert set(rows[0]) == {"campaign", "method", "state", "questions", "answers", "pending", "contradictions", "result"}


def test_doctor_finds_a_sound_machine() -> None:
    report = cccount("doctor", "--json").json
    assert report["ok"]
    assert {"versions", "store", "cluster", "encoder hog"} <= {check["check"] for check in report["checks"]}


def test_help_comes_fast() -> None:
    # The promise is 0.5 s on an idle machine; a loaded one may take longer, so this only catches a heavy import.
    best = min(_seconds() for _ in range(3))
    assert best < 2.0


def _seconds() -> float:
    start = time.perf_counter()
    cccount("--help", fresh=True)
    return time.perf_counter() - start

"""Every finding of the first attack has tests that hold it closed: those that docs/evidence/attack.md names are there."""

import ast
import re

from tests.flows.conftest import ROOT

PAGE = ROOT / "docs/evidence/attack.md"
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| (.+) \|$", re.MULTILINE)


def test_every_finding_names_tests_that_there_are() -> None:
    rows = {int(number): re.findall(r"`([^`]+)`", tests) for number, tests in ROW.findall(PAGE.read_text())}
    assert sorted(rows) == list(range(1, 24))
    assert all(rows.values())
    named = [test.partition("::")[::2] for tests in rows.values() for test in tests]
    there = {path: functions(path) for path, _ in named}
    assert [(path, test) for path, test in named if test not in there[path]] == []


def functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

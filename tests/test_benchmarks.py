"""The index of benchmarks: every script is in it, short forms are ones that the script understands, data are named."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import listed, says, scripts
from benchmarks.data import FILES
from benchmarks.index import INDEX

ROOT = Path(__file__).parent.parent
ROOM = ROOT / "benchmarks"
SOURCES = sorted(ROOM.rglob("*.py"))


def test_every_benchmark_is_in_the_index_with_what_it_measures() -> None:
    assert list(INDEX) == sorted(scripts())
    assert all(says(name) and f"| {name} | {says(name)} |" in listed() for name in INDEX)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOM)))
def test_no_benchmark_imports_from_the_tests(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text())):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not [name for name in names if name.split(".")[0] == "tests"]


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_short_form_uses_options_that_the_benchmark_has(name: str) -> None:
    source = scripts()[name].read_text()
    assert all(f'"{word}"' in source for word in INDEX[name].quick if word.startswith("--"))


@pytest.mark.parametrize("name", sorted(INDEX))
def test_a_benchmark_that_takes_a_folder_says_which_files_it_needs(name: str) -> None:
    assert bool(INDEX[name].files) == ('"--data"' in scripts()[name].read_text())
    assert set(INDEX[name].files) <= set(FILES)


def test_every_file_of_a_folder_is_listed_with_where_it_comes_from() -> None:
    named = {
        word for path in SOURCES for word in re.findall(r'"(\w+(?:_hog|_webp|_jpeg|_view\d|_28x28|_112x92))"', path.read_text())
    }
    assert named <= set(FILES)
    assert all(f"| {name}.npz | {one.holds} | {one.origin} |" in listed() for name, one in FILES.items())


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_benchmark_prints_its_title_its_tables_and_when_it_was_run() -> None:
    done = run("run", "crowd", "--quick")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["# crowd", "", says("crowd")]
    assert any(line.startswith("| overlap |") for line in lines)
    assert re.fullmatch(r"Written \d{4}-\d\d-\d\d, revision \w+, .*\.", lines[-1])


def test_a_benchmark_without_its_folder_says_which_and_where_it_comes_from(tmp_path: Path) -> None:
    done = run("run", "hacc", "speed", "--data", str(tmp_path))
    assert done.returncode == 1
    missing = FILES["chimp_czoo_mobilenetv2"]
    assert done.stderr.strip() == f"{tmp_path}/chimp_czoo_mobilenetv2.npz is not there (--data FOLDER): {missing.origin}"


def test_an_unknown_benchmark_is_refused_in_one_line() -> None:
    done = run("run", "nothing")
    assert done.returncode == 1
    assert done.stderr.strip() == "there is no benchmark 'nothing': python -m benchmarks list"

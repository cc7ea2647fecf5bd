"""The index of benchmarks: every script is in it, short forms are ones that the script understands, data are named."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import QUICK, benchmarks, listed

ROOT = Path(__file__).parent.parent


def test_every_benchmark_is_listed_with_what_it_measures() -> None:
    names = [one.name for one in benchmarks()]
    assert len(names) > 30
    assert all(one.says for one in benchmarks())
    assert all(f"| {name} |" in listed() for name in names)
    assert set(QUICK) <= set(names)


@pytest.mark.parametrize("name", sorted(QUICK))
def test_a_short_form_uses_options_that_the_benchmark_has(name: str) -> None:
    source = (ROOT / "benchmarks" / f"{name}.py").read_text()
    assert all(f'"{word}"' in source for word in QUICK[name] if word.startswith("--"))


def test_a_benchmark_can_be_run_by_its_name() -> None:
    command = [sys.executable, "-m", "benchmarks", "run", "crowd", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "| overlap |" in done.stdout


def test_an_unknown_benchmark_is_refused_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "run", "nothing"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "there is no benchmark 'nothing': python -m benchmarks list"

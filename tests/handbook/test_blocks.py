"""Every code block of the site and of the README runs, or is checked in the way that is possible, or is excused by name."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from flows.compute.profiles import Profile
from flows.stages.jobfile import Job
from handbook.blocks import DOCS, Block, blocks, commands, every_block
from handbook.commands import every_command
from tests.flows.conftest import environment
from tests.handbook.elsewhere import BLOCKS, COMMANDS, excuse

ROOT = DOCS.parent
README = ROOT / "README.md"
ALL = [*every_block(), *blocks(README)]
SHELL = [block for block in ALL if block.language in ("bash", "console")]
FOLLOWED = ("tutorials", "how-to")  # test_tutorials.py and test_howto.py type all that has no excuse
RUN_HERE = ("README.md", "survives.md")  # their Python
PRELUDE = """
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
ask_somebody = lambda u, v: bool(y[u] == y[v])
"""


def lines_of(block: Block) -> list[str]:
    """The commands of a shell block. In a console the output stands below a line that begins with a prompt."""
    lines = commands(block.text)
    typed = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] or lines
    return [part.strip() for line in typed for part in line.split("&&")]


def where(block: Block) -> str | None:
    """What makes sure that the block is right."""
    if reason := excuse(block):
        return reason
    if block.page.parent.name in FOLLOWED:
        return f"tests/handbook/test_{block.page.parent.name.replace('-', '')}.py"
    if block.language == "python" and block.page.name in RUN_HERE:
        return "test_python_beside_the_guides_runs"
    if block.page == README and block.text.startswith("$ cccount count"):
        return "tests/flows/test_demo.py"
    if block in SHELL and all(any(re.search(pattern, line) for pattern in COMMANDS) for line in lines_of(block)):
        return "the list of commands"
    return None


@pytest.mark.parametrize("block", ALL, ids=str)
def test_a_block_runs_or_is_checked_or_has_an_excuse(block: Block) -> None:
    assert where(block), f"{block}: nothing runs or checks this block; run it, or say in tests/handbook/elsewhere.py why not"


def test_no_excuse_is_left_over() -> None:
    typed = [line for block in SHELL for line in lines_of(block)]
    assert not [pattern for pattern in COMMANDS if not any(re.search(pattern, line) for line in typed)]
    found = [(page, words) for page, words, _ in BLOCKS for block in ALL if block.page.name == page and words in block.text]
    assert found == [(page, words) for page, words, _ in BLOCKS]


def test_an_excuse_names_tests_that_are_there() -> None:
    said = [*COMMANDS.values(), *(reason for _, _, reason in BLOCKS)]
    named = [place for one in said for place in re.findall(r"\b(?:tests|docs)/[\w./-]*\w", one)]
    assert len(named) > 10
    assert all((ROOT / place).exists() for place in named)


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_a_line_of_cccount_is_read_by_its_own_parser(block: Block) -> None:
    """Also where it cannot run: arguments that must be given, options, types and choices."""
    known = dict(every_command())
    for line in lines_of(block):
        words = shlex.split(line, comments=True)
        if words[:1] != ["cccount"] or ">" in words:
            continue
        depth = next((many for many in (3, 2) if " ".join(words[:many]) in known), None)
        if depth is None:  # `cccount individuals census` means `cccount individuals list census`
            assert words[1] == "individuals", block
            continue
        command = known[" ".join(words[:depth])]
        try:
            command.make_context(" ".join(words[:depth]), [word for word in words[depth:] if word != "&"])
        except click.exceptions.Exit as error:
            if error.exit_code:
                pytest.fail(f"{block}: {line}")
        except click.ClickException as error:
            pytest.fail(f"{block}: {line}: {error.format_message()}")


def test_the_shell_of_the_pages_is_bash() -> None:
    text = "\n".join(line for block in SHELL for line in lines_of(block))
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_a_path_of_the_repository_and_a_target_of_make_are_there(block: Block) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for line in lines_of(block):
        words = shlex.split(line, comments=True)
        for place in (word for word in words if re.match(r"(?:infra|tests)/", word)):
            made = place.startswith(("infra/secrets", "infra/kubernetes/secrets"))  # by infra/make-secrets
            assert made or (ROOT / place).exists(), f"{block}: {place}"
        if words[:1] == ["make"]:
            assert words[1] in targets, block


def test_a_job_file_of_a_page_is_read_by_the_product(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    found = [block for block in ALL if block.title == "census.toml"]
    assert {block.page.name for block in found} == {"cluster.md", "prefect.md"}
    for block in found:
        file = tmp_path / "census.toml"
        file.write_text(block.text)
        job = Job.from_file(file)
        assert job.collection is not None
        assert job.campaigns


def test_a_profile_of_a_page_is_read_by_the_product(tmp_path: Path) -> None:
    (block,) = (block for block in ALL if block.language == "toml" and block.page.name == "slurm.md")
    file = tmp_path / "mine.toml"
    file.write_text(block.text)
    profile = Profile.read(str(file))
    assert (profile.kind, profile.adapt["maximum"]) == ("slurm", 20)


def test_the_script_of_a_page_is_the_one_that_a_browser_has_drawn() -> None:
    """`tests/review/test_new_question_kind.py` answers questions of this kind."""
    (block,) = (block for block in ALL if block.language == "javascript")
    assert block.text in (ROOT / "tests/review/order.js").read_text()


@pytest.mark.parametrize("name", RUN_HERE)
def test_python_beside_the_guides_runs(name: str, tmp_path: Path) -> None:
    code = [block.text for block in ALL if block.page.name == name and block.language == "python"]
    assert code
    program = [sys.executable, "-c", "\n".join([PRELUDE if name == "README.md" else "", *code])]
    done = subprocess.run(program, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr

"""The tutorials are followed from an empty folder, block by block, as they are written.

Stages with a cluster of their own get one process instead of one for each core: the bytes are the same, and each costs seconds.
"""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handbook.blocks import DOCS, Block, blocks, commands
from tests.flows.conftest import cccount, environment

TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.stem != "index")


class Reader:
    """Somebody who types what a page says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = ""
        self.left: list[subprocess.Popen[bytes]] = []  # what was started with &

    def follow(self, block: Block) -> None:
        if block.title is not None:
            (self.folder / block.title).write_text(block.text)
        if block.language == "python":
            self.run([sys.executable, str(self.folder / (block.title or "-c"))], block)
        elif block.language == "bash":
            self.said = ""
            for command in commands(block.text):
                self.type(command, block)
        elif block.language == "text":
            for line in block.text.splitlines():
                assert line in self.said, f"{block} shows {line!r}, and this was said:\n{self.said}"
        else:
            assert block.title is not None, f"{block}: a block of {block.language or 'no language'} that is not saved"

    def type(self, command: str, block: Block) -> None:
        words = shlex.split(command, comments=True)
        if words[-1] == "&":
            program = [sys.executable, "-m", "dask", *words[1:-1]] if words[0] == "dask" else words[:-1]
            self.left.append(subprocess.Popen(program, cwd=self.folder, env=environment(), stderr=subprocess.DEVNULL))
        elif words[0] == "cccount":
            one_process = ("--workers", "1") if words[1] in ("embed", "neighbors") else ()
            done = cccount(*words[1:], *one_process, cwd=self.folder)
            assert done.code == 0, f"{block}: {command}\n{done.err}"
            self.said += done.out
        else:
            assert words[0] == "python", f"{block}: {command}"
            self.run([sys.executable, *words[1:]], block)

    def run(self, program: list[str], block: Block) -> None:
        done = subprocess.run(
            program, cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        self.said = done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    somebody = Reader(tmp_path)
    yield somebody
    for process in reversed(somebody.left):
        process.terminate()
        process.wait(30)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_works_as_it_is_written(page: Path, reader: Reader) -> None:
    for block in blocks(page):
        reader.follow(block)

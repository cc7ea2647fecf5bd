"""Real parts for the tests of the front door: the command in a process of its own, and a workspace made by it once."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.registry import PLUGINS
from cccount_dist.room import VARIABLE as MEMORY
from flows.commands import cli
from tests.command import run_command

ROOT = Path(__file__).parent.parent.parent
ITEMS = 480
collect_ignore = ["toykind.py"]  # a plug-in: whoever imports it has its kind of campaign


class Shown:
    """What a finished command printed."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def line(self) -> str:
        """The last line on standard error: the explanation of a failure."""
        return self.err.strip().splitlines()[-1]


def environment(**more: str) -> dict[str, str]:
    """The tests' environment for a command: our source, no Prefect server unless a test names one."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    return {**plain, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false", **more}


def cccount(
    *arguments: str | Path, cwd: Path | None = None, variables: dict[str, str] | None = None, fresh: bool = False
) -> Shown:
    """Run the command in a process of its own, with more variables in its environment.

    `fresh`: in a new interpreter, which imports everything itself; always so with variables that libraries read as they load.
    """
    given, surroundings = list(map(str, arguments)), environment(**(variables or {}))
    if not fresh and (variables or {}).keys() <= {PLUGINS, MEMORY}:  # read when they are needed
        return Shown(run_command(given, cwd=cwd, surroundings=surroundings, timeout=240))
    command = [sys.executable, "-m", "flows", *given]
    return Shown(subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=surroundings, timeout=240, check=False))


def here(*arguments: str | Path, cwd: Path | None = None, variables: dict[str, str] | None = None) -> Shown:
    """The same in this process, for what is refused before anything is started: a process of its own takes a second, and would
    show nothing more."""
    with ExitStack() as stack:
        out, err = stack.enter_context(redirect_stdout(StringIO())), stack.enter_context(redirect_stderr(StringIO()))
        stack.enter_context(chdir(cwd or Path.cwd()))
        stack.enter_context(patch.dict(os.environ, environment(**(variables or {})), clear=True))
        stack.enter_context(patch.object(sys, "argv", ["cccount", *map(str, arguments)]))
        stack.enter_context(patch.object(cli, "make_app", _app))
        try:
            cli._run()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return Shown(subprocess.CompletedProcess(list(arguments), code, out.getvalue(), err.getvalue()))


_app = cache(cli.make_app)  # once: each time it adds all commands


def digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data[:ITEMS].astype(np.float32), data.target[:ITEMS]


@pytest.fixture(scope="session")
def labels() -> NDArray[np.int64]:
    return digits()[1]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of 480 digits with labels and neighbours, made by the real commands. Do not write to it."""
    folder = tmp_path_factory.mktemp("prepared")
    x, y = digits()
    np.savez(folder / "digits.npz", x=x, y=y)
    place, vectors = str(folder / "ws"), str(folder / "digits.npz")
    for arguments in (["init", place, "--embeddings", vectors], ["neighbors", place, "--k", "10", "--workers", "1"]):
        done = cccount(*arguments, fresh=True)
        assert done.code == 0, done.err
    return folder / "ws"


@pytest.fixture
def workspace(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared workspace that a test may do anything to."""
    return Path(shutil.copytree(prepared, tmp_path / "ws"))


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file's content by its name: to show that nothing was written."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

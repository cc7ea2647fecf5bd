"""The `cccount` command in a process of its own that begins with everything imported: a fork of the tests' fork server.

What a process does is what `python -m flows` does: its own environment, folder, arguments, standard output and error, exit code.
Only the imports, which are most of what a short command takes, were done before. Where the start itself is what a test is about,
or variables must be there before anything is imported, `tests/flows/conftest.py` starts a new interpreter.
"""

import atexit
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from tests.forkserver import SERVER


def run_command(
    arguments: Sequence[str], *, cwd: Path | None, surroundings: dict[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run the command and wait for its end."""
    with tempfile.TemporaryDirectory(prefix="cccount-said-") as folder:
        said = [Path(folder) / "out", Path(folder) / "err"]
        process = SERVER.Process(target=be_the_command, args=(list(arguments), str(cwd or Path.cwd()), surroundings, said))
        process.start()
        process.join(timeout)
        if process.is_alive():
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(arguments), timeout, *(one.read_text() for one in said))
        assert process.exitcode is not None
        return subprocess.CompletedProcess(list(arguments), process.exitcode, *(one.read_text() for one in said))


def be_the_command(arguments: list[str], cwd: str, surroundings: dict[str, str], said: list[Path]) -> None:
    for number, path in enumerate(said, start=1):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115  not a path
    os.environ.clear()
    os.environ.update(surroundings)
    os.chdir(cwd)
    sys.argv = ["cccount", *arguments]
    os._exit(_code())


def _code() -> int:
    """Do it, and end as an interpreter does."""
    code = 0
    try:
        runpy.run_module("flows", run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001  the parent sees the traceback and the exit code
        traceback.print_exc()
        code = 1
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    return code

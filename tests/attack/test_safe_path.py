"""Python files in the folder in which somebody happens to stand are nobody's to run."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

from benchmarks.gallery import pairs_of, start_campaign
from storage.workspace import Workspace
from tests.attack.server import review
from tests.flows.conftest import environment

# Names that Python, Dask, uvicorn or we import in processes that are started on the way.
NAMES = ["flows", "cccount_dist", "storage", "json", "numpy", "multiprocessing", "runpy", "logging", "sqlite3", "distributed"]


def trap(folder: Path) -> Path:
    """A folder full of modules that say so when they are run."""
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(
            f"import builtins, os\n"
            f"fd = os.open({str(folder / 'executed')!r}, os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"
            f"os.write(fd, {name!r}.encode() + b'\\n')\nraise ImportError('a trap')\n"
        )
    return folder


def test_review_runs_nothing_from_the_current_folder(gallery: Workspace, tmp_path: Path) -> None:
    start_campaign(gallery, "census", pairs_of(48, 20))
    folder = trap(tmp_path / "downloads")
    with review(Path(gallery.location), "--annotator", "ana", log=tmp_path / "log", cwd=folder) as server:
        assert httpx.get(f"{server.url}images/0", timeout=60.0).status_code == 200
        deadline = time.monotonic() + 30
        while "was not advanced" not in server.log.read_text() and time.monotonic() < deadline:
            time.sleep(0.2)  # until the process that advances campaigns said something: this campaign was simply written
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(30)
    assert not (folder / "executed").exists(), (folder / "executed").read_text()


def test_every_process_that_a_command_starts_has_a_safe_path() -> None:
    code = (
        "from flows.commands.cli import safely; safely(); import subprocess, sys; "
        "sys.exit(subprocess.call([sys.executable, '-c', 'import sys; sys.exit(0 if sys.flags.safe_path else 3)']))"
    )
    assert subprocess.run([sys.executable, "-c", code], env=environment(), check=False).returncode == 0


def test_deploy_takes_its_flows_from_the_package_and_not_from_the_current_folder(tmp_path: Path) -> None:
    folder = trap(tmp_path / "downloads")
    code = (
        "from flows.orchestration.deploy import _flow; print(_flow('flows.orchestration.scheduled.advance').name); "
        f"import sys; assert not {{'', {str(folder)!r}}} & set(sys.path)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment(), cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (folder / "executed").exists()

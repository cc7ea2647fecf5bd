"""`docker compose up` on an empty machine ends in a page that one can sign in to: tried as plain processes (`composed.py`)."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.composed import ROOT, Seen
from tests.servers import postgres_binaries

NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]


def _can() -> str | None:
    """Why it cannot be tried here, if it cannot."""
    if postgres_binaries() is None:
        return "no PostgreSQL on this machine"
    if shutil.which("unshare") is None or shutil.which("setpriv") is None or shutil.which("ip") is None:
        return "needs unshare, setpriv and ip"
    tried = subprocess.run([*NAMESPACES, "mount", "-t", "tmpfs", "tried", "/mnt"], capture_output=True, text=True, check=False)
    return f"no namespaces for this user: {tried.stderr.strip()}" if tried.returncode else None


@pytest.fixture(scope="module")
def machine() -> Iterator[tuple[Seen, Path]]:
    """What was seen on the machine, and its folder with a log of each service. All processes have ended by then."""
    if (reason := _can()) is not None:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="cccount-composed-"))  # pytest's own folders are closed to other users
    folder.chmod(0o755)
    try:
        command = [*NAMESPACES, sys.executable, "-m", "tests.composed", "up", str(folder)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
        assert done.returncode == 0, done.stderr + "".join(f"== {log.name}\n{log.read_text()}" for log in folder.glob("*.log"))
        yield json.loads(done.stdout), folder
    finally:
        shutil.rmtree(folder)


def test_an_empty_machine_ends_in_a_page_that_one_can_sign_in_to(machine: tuple[Seen, Path]) -> None:
    seen, folder = machine
    assert seen["first_start"] == 0, (folder / "first-start.log").read_text()
    assert seen["running"] == [True, True, True]
    review = seen["review"]
    assert (review["page"], review["wrong"], review["right"], review["without"]) == (200, 401, 200, 401)
    assert review["campaigns"] == ["count"]
    assert json.loads(review["sheets"])["sheets"]  # questions, and a picture to look at
    assert review["picture"] == 200


def test_a_second_start_leaves_what_is_there(machine: tuple[Seen, Path]) -> None:
    seen, folder = machine
    assert seen["again"] == 0, (folder / "first-start again.log").read_text()
    said = (folder / "first-start again.log").read_text()
    assert "is there" in said
    assert "embed" not in said


def test_prefect_refuses_whoever_has_no_password_and_other_pages(machine: tuple[Seen, Path]) -> None:
    prefect = machine[0]["prefect"]
    assert (prefect["without"], prefect["wrong"], prefect["with"]) == (401, 401, 200)
    assert prefect["cors_elsewhere"] is None
    assert prefect["cors_own"] == "http://127.0.0.1:4200"


def test_prefects_page_is_there_on_a_read_only_root(machine: tuple[Seen, Path]) -> None:
    prefect = machine[0]["prefect"]
    assert (prefect["page"], prefect["is_page"]) == (200, True)


def test_a_deployment_holds_no_folder_of_the_host_and_the_worker_runs_it(machine: tuple[Seen, Path]) -> None:
    seen, folder = machine
    assert seen["prefect"]["deploy"] == 0, (folder / "deploy.log").read_text()
    deployment = seen["prefect"]["deployment"]
    assert deployment["path"] is None
    assert deployment["pull_steps"] == []
    assert deployment["parameters"] == {"workspace": "s3://census/ws"}
    assert seen["prefect"]["run"] == "COMPLETED", (folder / "worker.log").read_text()


def test_nothing_wanted_to_write_to_the_root(machine: tuple[Seen, Path]) -> None:
    for log in machine[1].glob("*.log"):
        assert "Read-only file system" not in log.read_text(errors="replace"), log.name

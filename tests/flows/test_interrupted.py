"""Ctrl-C, as a terminal sends it, to the command and all its workers: one line, exit code 130, and the same command goes on.

`CCCOUNT_INTERRUPTS=50` is the long form.
"""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from flows.commands.interrupt import LINE
from flows.compute.clients import open_client
from tests.flows.calls import initialise
from tests.flows.conftest import cccount, environment

TIMES = int(os.environ.get("CCCOUNT_INTERRUPTS", "10"))
_AT_ONCE = 3
_FIRST, _LAST = 0.4, 3.0  # seconds after the start


def interrupted(arguments: list[str], seconds: float) -> tuple[int, str] | None:
    """Start the command in a session of its own and interrupt all of it; None if it was done before."""
    command = [sys.executable, "-m", "flows", *arguments]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(), start_new_session=True
    )
    time.sleep(seconds)
    if process.poll() is not None:
        process.communicate()
        return None
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


@pytest.fixture(scope="module")
def places(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """A command for each stage that would take some seconds, on workspaces of its own."""
    root = tmp_path_factory.mktemp("interrupted")
    (root / "images").mkdir()
    random = np.random.default_rng(0)
    for number in range(300):
        pixels = random.integers(0, 255, (240, 240, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / "images" / f"{number}.png", compress_level=0)
    np.save(root / "many.npy", random.standard_normal((20_000, 96)).astype(np.float32))
    initialise(str(root / "photos"), images=str(root / "images"))
    initialise(str(root / "many"), embeddings=str(root / "many.npy"))
    shutil.copytree(prepared, root / "digits")
    return {
        "embed": ["embed", str(root / "photos"), "--encoder", "hog", "--workers", "2"],
        "neighbors": ["neighbors", str(root / "many"), "--workers", "2"],
        "cluster": ["cluster", str(root / "digits"), "--oracle", "labels", "--budget", "5000"],
    }


def test_ctrl_c_in_embed_does_not_print_100_lines_of_tracebacks(places: dict[str, list[str]]) -> None:
    moments = np.random.default_rng(7).uniform(_FIRST, _LAST, TIMES).tolist()
    commands = [places[name] for name in list(places) * (TIMES // len(places) + 1)][:TIMES]
    with ThreadPoolExecutor(_AT_ONCE) as several:
        found = list(several.map(interrupted, commands, moments))
    ended = [one for one in found if one is not None]
    assert len(ended) >= TIMES // 2, "most were under way"
    assert set(ended) == {(130, f"{LINE}\n")}


def test_after_ctrl_c_the_same_command_goes_on(places: dict[str, list[str]]) -> None:
    done = cccount(*places["embed"])
    assert done.code == 0, done.err
    assert "300 items" in done.out


def test_ctrl_c_ends_a_command_that_needs_no_cluster(places: dict[str, list[str]], tmp_path: Path) -> None:
    """`metrics --port` serves until it is ended."""
    command = [sys.executable, "-m", "flows", "metrics", places["cluster"][1], "--port", "0"]
    with (tmp_path / "said").open("w+") as said:
        process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL, env=environment(), start_new_session=True)
        time.sleep(1.5)
        os.killpg(process.pid, signal.SIGINT)
        code = process.wait(60)
        said.seek(0)
        assert (code, said.read().splitlines()[-1:]) == (130, [LINE])


def _loudest() -> list[int]:
    return [handler.level for handler in logging.getLogger("distributed").handlers]


def test_a_worker_whose_scheduler_ended_says_nothing() -> None:
    """Ctrl-C in `embed` while a worker was telling the scheduler that it lives: forty lines of traceback."""
    with open_client("local", workers=1) as client:
        (levels,) = client.run(_loudest).values()
    assert levels
    assert min(levels) >= logging.CRITICAL

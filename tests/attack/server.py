"""The real `cccount review` in a process of its own, for attacks on it; and a person who answers meanwhile."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.flows.conftest import environment


@dataclass
class Running:
    """A server that was started: where it is, and what it writes to standard error."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    @property
    def port(self) -> int:
        return int(self.url.rstrip("/").rpartition(":")[2])


@contextmanager
def review(
    workspace: Path, *options: str, log: Path, cwd: Path | None = None, variables: dict[str, str] | None = None
) -> Iterator[Running]:
    """Serve a workspace; the process is killed at the end if it has not ended."""
    command = [sys.executable, "-P", "-m", "flows", "review", str(workspace), "--port", "0", "--json", "--gold", "0"]
    command += ["--repeats", "0", *(options or ("--no-advance", "--annotator", "ana"))]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=sink, text=True, env=environment(**(variables or {})), cwd=cwd
        )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        yield Running(json.loads(line)["url"], process, log)
    finally:
        process.kill()
        with process.stdout:
            process.wait()


def answer_for(url: str, seconds: float, *, questions: Sequence[int], pause: float = 0.02) -> list[float]:
    """Somebody answers one question after the other; returns the milliseconds of each answer, as that person sees them."""
    times: list[float] = []
    ends = time.monotonic() + seconds
    with httpx.Client(base_url=url, timeout=60.0, transport=httpx.HTTPTransport(retries=3)) as client:
        while time.monotonic() < ends:
            body = {"id": os.urandom(12).hex(), "question_id": questions[len(times) % len(questions)], "value": 1.0}
            began = time.perf_counter()
            sent = client.post("/api/census/answers", json=[body])
            times.append(1000.0 * (time.perf_counter() - began))
            assert sent.status_code == 200, sent.text
            time.sleep(pause)
    return times


def p99(times: Sequence[float]) -> float:
    return sorted(times)[int(0.99 * (len(times) - 1))]


def most(times: Sequence[float]) -> float:
    """Nine of ten answers are quicker. A test of some seconds on a machine that others use, too, cannot say more."""
    return sorted(times)[int(0.9 * (len(times) - 1))]


def slowness(alone: Sequence[float]) -> float:
    """How many times slower this machine is now than an idle one, where an answer takes about 10 ms."""
    return max(1.0, sorted(alone)[len(alone) // 2] / 10.0)


def ends_by(process: subprocess.Popen[str], signal_: signal.Signals, seconds: float) -> int:
    """Send a signal and return the exit code; `TimeoutExpired` if it does not end in time."""
    process.send_signal(signal_)
    return process.wait(seconds)


def allow_files(count: int) -> None:
    """Let this process hold so many sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count if hard == resource.RLIM_INFINITY else min(count, hard), hard))

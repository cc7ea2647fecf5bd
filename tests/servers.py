"""Servers that tests start as processes of their own: an S3 protocol server (moto), with buckets that tests share."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUCKET = "census"
STARTUP_SECONDS = 60
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def process(*command: str, log: Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, killed with all its children at the end."""
    with log.open("ab") as sink:
        started = subprocess.Popen(command, env=env, cwd=ROOT, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        yield started
    finally:
        kill_group(started)


def kill_group(started: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def wait_for_http(url: str, started: subprocess.Popen[bytes], log: Path, seconds: float = STARTUP_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert started.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"nothing answers at {url} after {seconds} s: {log.read_text()}")


@contextmanager
def s3_server(folder: Path, port: int | None = None) -> Iterator[dict[str, str]]:
    """An S3 server with one bucket; yields the environment in which `s3://census/…` is there."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    log = folder / "s3.log"
    with process(sys.executable, "-m", "tests.s3", str(port), BUCKET, log=log) as started:
        wait_for_http(f"{url}/{BUCKET}", started, log)
        yield {**CREDENTIALS, "AWS_ENDPOINT_URL": url}

"""Servers that tests start as processes of their own: an S3 protocol server (moto), with buckets that tests share."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
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
def process(*command: str, log: Path, env: dict[str, str] | None = None, cwd: Path = ROOT) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, killed with all its children at the end."""
    with log.open("ab") as sink:
        started = subprocess.Popen(command, env=env, cwd=cwd, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
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


def postgres_binaries() -> Path | None:
    """Where PostgreSQL's programs are on this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


class Postgres:
    """A PostgreSQL server of its own, as a user that is not root; it can be killed and started again on the same data."""

    def __init__(self, binaries: Path) -> None:
        self.binaries = binaries
        self.folder = Path(tempfile.mkdtemp(prefix="cccount-pg-"))  # pytest's own folders are closed to other users
        self.user = "postgres" if os.geteuid() == 0 else None
        if self.user:
            shutil.chown(self.folder, self.user)
        self.port = free_port()
        self._started: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "postgres", "--no-sync")
        self.start()
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "prefect")

    @property
    def url(self) -> str:
        return f"postgresql+asyncpg://postgres@127.0.0.1:{self.port}/prefect"

    def start(self) -> None:
        command = [str(self.binaries / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port), "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._started = subprocess.Popen(
                [*command, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"],
                cwd=self.folder, stdout=log, stderr=log, user=self.user, start_new_session=True,
            )  # fmt: skip
        deadline = time.monotonic() + STARTUP_SECONDS
        while self._ready() != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.1)

    def kill(self) -> None:
        """kill -9 of the server and all that it forked, as a machine does that loses its power."""
        if self._started is not None:
            kill_group(self._started)

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _ready(self) -> int:
        command = [str(self.binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self.binaries / program, *arguments], cwd=self.folder, user=self.user, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def prefect_settings(port: int, home: Path) -> dict[str, str]:
    """The environment in which a command or a worker uses the server on this port."""
    return {
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }


def prefect_server_command(port: int) -> list[str]:
    return [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]


def prefect_server_variables(home: Path, database: str | None) -> dict[str, str]:
    """What the server itself is told: its database, and to look for due runs more often than every minute."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    quick = {
        "PREFECT_HOME": str(home),
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "2",
        "PREFECT_SERVER_SERVICES_SCHEDULER_RECENT_DEPLOYMENTS_LOOP_SECONDS": "1",
        "PREFECT_LOGGING_SERVER_LEVEL": "WARNING",
        # Who holds the place of a campaign must be known after the server was killed (infra/compose.yaml has the same).
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    }
    return {**kept, **quick, **({"PREFECT_SERVER_DATABASE_CONNECTION_URL": database} if database else {})}

"""Servers that tests start as processes of their own: an S3 protocol server (moto), with buckets that tests share."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.servers import (
    ROOT as ROOT,
)
from benchmarks.servers import (
    STARTUP_SECONDS,
)
from benchmarks.servers import (
    free_port as free_port,
)
from benchmarks.servers import (
    kill_group as kill_group,
)
from benchmarks.servers import (
    prefect_server_command as prefect_server_command,
)
from benchmarks.servers import (
    prefect_server_variables as prefect_server_variables,
)
from benchmarks.servers import (
    prefect_settings as prefect_settings,
)
from benchmarks.servers import (
    process as process,
)
from benchmarks.servers import (
    wait_for_http as wait_for_http,
)

BUCKET = "census"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


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

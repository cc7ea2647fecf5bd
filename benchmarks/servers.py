"""Servers that benchmarks and tests start as processes of their own."""

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
STARTUP_SECONDS = 60


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

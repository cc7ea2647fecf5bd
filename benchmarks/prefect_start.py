"""How long a stage takes from the command line: plainly, under a running Prefect server, and as a flow without a server.

    python -m benchmarks.prefect_start

Each way runs `verify` of a tiny workspace in a fresh process, so that the difference is what orchestration costs. The medians and
the ratios to the plain way come from one run.
"""

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import numpy as np

FLOW = "import sys; from flows.orchestration.scheduled import verify; verify(sys.argv[1])"


def seconds(command: list[str], environment: dict[str, str]) -> tuple[float, bool]:
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return time.perf_counter() - began, done.returncode == 0


def start_server(environment: dict[str, str], port: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=1)
        except OSError:
            time.sleep(0.2)
        else:
            return process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="of each way")
    runs: int = parser.parse_args().runs
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    plain |= {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.save(place / "x.npy", np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))
        cccount = [sys.executable, "-m", "flows"]
        subprocess.run(
            [*cccount, "init", str(place / "ws"), "--embeddings", str(place / "x.npy")],
            env=plain,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        served = {**plain, "PREFECT_HOME": str(place / "server"), "PREFECT_API_URL": f"http://127.0.0.1:{port}/api"}
        hidden = {**plain, "PREFECT_HOME": str(place / "hidden")}
        server = start_server(served, port)
        ways = {
            "plain function (no server configured)": ([*cccount, "verify", str(place / "ws")], plain),
            "flow, recorded by a running server": ([*cccount, "verify", str(place / "ws")], served),
            "flow with Prefect's hidden server": ([sys.executable, "-c", FLOW, str(place / "ws")], hidden),
        }
        print("| way | median s | over plain | succeeded |\n|---|---|---|---|")
        base = 0.0
        for name, (command, environment) in ways.items():
            taken = [seconds(command, environment) for _ in range(runs)]
            median = statistics.median(second for second, _ in taken)
            base = base or median
            print(f"| {name} | {median:.1f} | {median / base:.1f} | {sum(ok for _, ok in taken)} of {runs} |")
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


if __name__ == "__main__":
    main()

"""n items of d dimensions through init, neighbors and count by the real commands: seconds, and the largest process of each stage.

    python -m benchmarks.scale --items 100000 --dimensions 128

Prints a markdown table. Peak memory is the resident set of the largest single process, sampled 20 times a second over the
command and all its children; pages of memory-mapped files count, so it is an upper bound of what a stage needs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil

CLUSTERS = 500
SAMPLES_PER_SECOND = 20


def write_vectors(path: Path, items: int, dimensions: int, noise: float = 0.8) -> None:
    """Gaussian clusters of unequal sizes, written block by block; key `x` and `y` as `cccount init` reads them."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(CLUSTERS, dimensions))
    weights = random.lognormal(sigma=0.7, size=CLUSTERS)
    labels = random.choice(CLUSTERS, items, p=weights / weights.sum())
    vectors = np.empty((items, dimensions), np.float32)
    for start in range(0, items, 16384):
        block = labels[start : start + 16384]
        vectors[start : start + len(block)] = centres[block] + noise * random.normal(size=(len(block), dimensions))
    np.savez(path, x=vectors, y=labels)


def measured(*arguments: str) -> tuple[dict[str, float], float, int]:
    """Run a command; return its report, its seconds, and the bytes of its largest process."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "flows", *arguments, "--json"], stdout=subprocess.PIPE)
    watched = psutil.Process(process.pid)
    peak = 0
    while process.poll() is None:
        try:
            family = [watched, *watched.children(recursive=True)]
            peak = max(peak, *(_resident(member) for member in family))
        except psutil.NoSuchProcess:
            break
        time.sleep(1 / SAMPLES_PER_SECOND)
    out, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{arguments[0]} failed with exit code {process.returncode}")
    return json.loads(out), time.perf_counter() - began, peak


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--budget", type=int, default=10_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vectors, place = Path(folder) / "vectors.npz", str(Path(folder) / "ws")
        write_vectors(vectors, chosen.items, chosen.dimensions)
        stages = {
            "init": ["init", place, "--embeddings", str(vectors)],
            "neighbors": ["neighbors", place, "--k", "50"],
            "count": ["count", place, "--oracle", "labels", "--method", "nis", "--budget", str(chosen.budget)],
            "count again (replay)": ["count", place, "--oracle", "labels", "--budget", str(chosen.budget)],
        }
        rows: list[str] = []
        report: dict[str, float] = {}
        for name, arguments in stages.items():
            report, seconds, peak = measured(*arguments)
            rows.append(f"| {name} | {seconds:.1f} | {peak / 2**20:,.0f} |")
    print(f"n = {chosen.items:,}, d = {chosen.dimensions}, {chosen.budget:,} answers, {psutil.cpu_count()} cores\n")
    print("| stage | seconds | largest process, MiB |\n|---|---|---|")
    print("\n".join(rows))
    print(f"\nTruth {CLUSTERS}, estimate {report['estimate']:.0f} [{report['low']:.0f}, {report['high']:.0f}]")


if __name__ == "__main__":
    main()

"""Figures of docs/scaling.md: stages on 1, 2 and 4 worker processes, cost of the orchestrated run, plan for 10 million images.

`python -m benchmarks.scaling` prints the tables; `--write` puts them into docs/scaling.md. Ratios are measured side by side in
one run: the sizes take turns, and the best of `--repeats` is kept.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.lists import capacity

ROOT = Path(__file__).parent.parent
WORKERS = (1, 2, 4)
ENCODER = "efficientnet-lite0"
PLANNED = 10_000_000
DIMENSIONS = 1280
K = 50
CORE_HOUR = 0.04  # currency units, of a rented core
STORE_MONTH = 0.023  # for a GB
BEGIN, END = "<!-- tables: written by python -m benchmarks.scaling --write -->", "<!-- end of tables -->"


def best(repeats: int, runs: dict[int, Callable[[], float]]) -> dict[int, float]:
    """Let the runs take turns, and return the shortest time of each."""
    seconds = {size: float("inf") for size in runs}
    for _ in range(repeats):
        for size, run in runs.items():
            seconds[size] = min(seconds[size], run())
    return seconds


def command(*arguments: str, **variables: str) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-m", "flows", *arguments, "--json"],
        cwd=ROOT, env={**environment, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def neighbors_on(folder: Path, items: int, repeats: int) -> dict[int, float]:
    """Seconds of the exact pass, cluster and row cache warm: what the stage itself reports."""
    from flows.compute import open_client
    from flows.neighbors import neighbors

    place = str(folder / "vectors")
    np.save(folder / "x.npy", np.random.default_rng(0).standard_normal((items, 256), np.float32))
    command("init", place, "--embeddings", str(folder / "x.npy"))

    def run(workers: int) -> float:
        for name in ("neighbors.zarr", "markers/neighbors-index", "markers/neighbors-similarity", "markers/neighbors-degree"):
            shutil.rmtree(Path(place) / name, ignore_errors=True)
        with open_client(workers=workers) as client:
            client.wait_for_workers(workers)
            return float(neighbors(place, k=K, client=client)["seconds"])

    run(1)  # compiles the kernels and builds the row cache
    return best(repeats, {workers: (lambda w=workers: run(w)) for workers in WORKERS})  # type: ignore[misc]


def embed_on(folder: Path, items: int, repeats: int) -> dict[int, float]:
    from PIL import Image

    from flows.compute import open_client
    from flows.embed import embed

    images, place = folder / "images", str(folder / "pictures")
    images.mkdir()
    chance = np.random.default_rng(1)
    for number in range(items):
        noise = chance.integers(0, 255, (16, 16, 3), np.uint8)
        Image.fromarray(noise).resize((320, 240)).save(images / f"{number:05d}.jpg", quality=85)
    command("init", place, "--images", str(images))

    def run(workers: int) -> float:
        for name in ("embeddings.zarr", "markers/embeddings"):
            shutil.rmtree(Path(place) / name, ignore_errors=True)
        with open_client(workers=workers) as client:
            client.wait_for_workers(workers)
            return float(embed(place, encoder=ENCODER, client=client)["seconds"])

    return best(repeats, {workers: (lambda w=workers: run(w)) for workers in WORKERS})  # type: ignore[misc]


def scaling_table(what: str, items: int, seconds: dict[int, float]) -> list[str]:
    lines = [f"| {what}, {items:,} items | seconds | speed-up | efficiency |", "|---|---|---|---|"]
    for workers, taken in seconds.items():
        speedup = seconds[1] / taken
        share = f"{100 * speedup / workers:.0f} %" if workers <= (os.cpu_count() or 1) else "more processes than cores"
        lines.append(f"| {workers} worker process{'es' if workers > 1 else ''} | {taken:.1f} | {speedup:.2f} | {share} |")
    return lines


def orchestration_table(folder: Path, repeats: int) -> list[str]:
    """The same stage as a plain function and as a recorded flow run, each in a fresh process."""
    from tests.servers import (
        free_port,
        prefect_server_command,
        prefect_server_variables,
        prefect_settings,
        process,
        wait_for_http,
    )

    place, port, home = str(folder / "vectors"), free_port(), folder / "prefect"
    home.mkdir()
    variables = prefect_settings(port, home)
    with process(*prefect_server_command(port), log=home / "log", env=prefect_server_variables(home, None)) as server:
        wait_for_http(f"{variables['PREFECT_API_URL']}/health", server, home / "log", 120)

        def run(recorded: int) -> float:
            shutil.rmtree(Path(place) / "campaigns", ignore_errors=True)
            began = time.perf_counter()
            command("verify", place, **(variables if recorded else {}))
            return time.perf_counter() - began

        seconds = best(repeats, {0: lambda: run(0), 1: lambda: run(1)})
    over = seconds[1] - seconds[0]
    return [
        "| `cccount verify` in a fresh process | seconds |", "|---|---|",
        f"| plain function | {seconds[0]:.1f} |",
        f"| flow recorded by a Prefect server | {seconds[1]:.1f} |",
        f"| the orchestrated run costs, whatever the stage's size | {over:.1f} |",
    ]  # fmt: skip


def plan_table(pairs_per_second: float, images_per_second: float) -> list[str]:
    """Ten million images on paper, from the rates of one core."""
    grid = grid_for(PLANNED, 8 * capacity(K))
    shards = -(-PLANNED // 16_384)
    embed_hours = PLANNED / images_per_second / 3600
    exact_hours = PLANNED * (PLANNED - 1) / 2 / pairs_per_second / 3600
    vectors = PLANNED * DIMENSIONS * 4 / 1e9
    lists = PLANNED * (K * 8 + 8) / 1e9
    largest = max(len(grid.stage(stage)) for stage in range(grid.stages))
    partial = (
        largest * 2 * grid.tile_rows * 16 / 1e9
    )  # docs of similarity/partial.py; candidates come on top, and are few by then
    written = f"{lists:,.0f} GB of lists, about {partial:,.0f} GB of partial results for a while"
    rows = [
        ("embed", f"{shards:,} shards", f"{vectors:,.0f} GB of vectors", embed_hours),
        ("neighbors, exact", f"{grid.tiles:,} tiles", written, exact_hours),
    ]
    lines = ["| stage at 10,000,000 images | tasks | bytes | core hours | on 200 cores | cost |", "|---|---|---|---|---|---|"]
    for stage, tasks, stored, hours in rows:
        lines.append(f"| {stage} | {tasks} | {stored} | {hours:,.0f} | {hours / 200:,.1f} h | {hours * CORE_HOUR:,.0f} |")
    lines.append(f"| a month in the store | | {vectors + lists:,.0f} GB | | | {(vectors + lists) * STORE_MONTH:,.0f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("--items", type=int, default=30_000, help="vectors of the neighbours pass")
    parser.add_argument("--images", type=int, default=2_000, help="images of the embedding")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scaling.md")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cccount-scaling-"))
    try:
        passes = neighbors_on(folder, given.items, given.repeats)
        images = embed_on(folder, given.images, given.repeats)
        overhead = orchestration_table(folder, given.repeats)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    pairs = given.items * (given.items - 1) / 2 / passes[1] * 256 / DIMENSIONS  # a pair costs its dimensions
    load = os.getloadavg()[0]
    asked = f"--items {given.items} --images {given.images} --repeats {given.repeats}"
    rate = given.images / images[1]
    lines = [
        f"`python -m benchmarks.scaling {asked}` on {os.cpu_count()} cores, load average {load:.1f} at the end:",
        "",
        *scaling_table("neighbors (exact, 256 dimensions)", given.items, passes),
        "",
        *scaling_table(f"embed ({ENCODER})", given.images, images),
        "",
        *overhead,
        "",
        f"One core: {pairs / 1e6:,.1f} million pairs of {DIMENSIONS} dimensions a second, {rate:,.0f} images a second.",
        "",
        *plan_table(pairs, rate),
    ]
    print("\n".join(lines))
    if given.write:
        page = ROOT / "docs" / "scaling.md"
        before, _, rest = page.read_text().partition(BEGIN)
        page.write_text(before + "\n".join([BEGIN, *lines, END]) + rest.partition(END)[2])


if __name__ == "__main__":
    main()

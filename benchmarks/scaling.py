"""Figures of docs/evidence/scaling.md: stages on 1, 2 and 4 processes, cost of the orchestrated run, plan for 10 million images.

`python -m benchmarks.scaling --write` measures and puts the tables into the page; `--only embed` measures one part again (each
takes less than five minutes) and takes the others from `--results`, a file of what was measured before. Ratios are measured
side by side: the sizes take turns, and the best of `--repeats` is kept. Time to resume is measured by `python -m tests.faults`.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.pasting import paste
from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.lists import capacity
from storage.arrays import default_shard_rows

T = TypeVar("T", float, tuple[float, float])

ROOT = Path(__file__).parent.parent
WORKERS = (1, 2, 4)
ENCODER = "efficientnet-lite0"
PLANNED = 10_000_000
DIMENSIONS = 1280  # of that encoder's vectors
K = 50
CORE_HOUR = 0.04  # currency units, of a rented core
STORE_MONTH = 0.023  # for a GB
SMALL = 16_384  # items of the exact pass that the plan's rate is taken from: whole tiles, at the encoder's dimensions
MORE = 32_768  # and of the approximate one


def best(repeats: int, runs: dict[int, Callable[[], T]]) -> dict[int, T]:
    """Let the runs take turns, and return the shortest time of each."""
    seconds: dict[int, T] = {}
    for _ in range(repeats):
        for size, run in runs.items():
            taken = run()
            seconds[size] = min(seconds.get(size, taken), taken)
    return seconds


def command(*arguments: str, **variables: str) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-m", "flows", *arguments, "--json"],
        cwd=ROOT, env={**environment, **variables}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def on_workers(
    place: str, products: Sequence[str], stage: Callable[[Any], float], sizes: Sequence[int], repeats: int
) -> dict[int, tuple[float, float]]:
    """Seconds that the stage itself reports on local clusters of these sizes, and the CPU seconds of the busiest worker.

    The first pass of each cluster loads kernels and models, and does not count.
    """
    from flows.compute.clients import open_client

    def run(size: int) -> tuple[float, float]:
        with open_client(workers=size) as client:
            client.wait_for_workers(size)
            for _ in range(2):
                for name in products:
                    shutil.rmtree(Path(place) / name, ignore_errors=True)
                before = client.run(time.process_time)
                seconds = stage(client)
            spent = [now - before[worker] for worker, now in client.run(time.process_time).items()]
            return seconds, max(spent)

    return best(repeats, {size: (lambda s=size: run(s)) for size in sizes})  # type: ignore[misc]


def neighbors_on(
    folder: Path, items: int, dimensions: int, sizes: Sequence[int], repeats: int, engine: str = "exact"
) -> dict[int, tuple[float, float]]:
    from flows.stages.neighbors import neighbors

    place, vectors = str(folder / "vectors"), folder / "x.npy"
    np.save(vectors, np.random.default_rng(0).standard_normal((items, dimensions), np.float32))
    command("init", place, "--embeddings", str(vectors))
    products = ("neighbors.zarr", "markers/neighbors-index", "markers/neighbors-similarity", "markers/neighbors-degree")
    return on_workers(place, products, lambda client: neighbors(place, k=K, engine=engine, client=client).seconds, sizes, repeats)


def embed_on(folder: Path, items: int, repeats: int) -> dict[int, tuple[float, float]]:
    from PIL import Image

    from flows.stages.embed import embed

    images, place = folder / "images", str(folder / "pictures")
    images.mkdir()
    chance = np.random.default_rng(1)
    for number in range(items):
        noise = chance.integers(0, 255, (16, 16, 3), np.uint8)
        Image.fromarray(noise).resize((320, 240)).save(images / f"{number:05d}.jpg", quality=85)
    command("init", place, "--images", str(images))
    products = ("embeddings.zarr", "markers/embeddings")
    return on_workers(place, products, lambda client: embed(place, encoder=ENCODER, client=client).seconds, WORKERS, repeats)


def scaling_table(what: str, part: dict[str, float]) -> list[str]:
    """By the clock, and by the CPU time of the busiest worker: what the clock would say if each had a core of its own."""
    head = ("seconds", "speed-up", "efficiency", "CPU s of the busiest worker", "efficiency by it")
    lines = [f"| {what}, {part['items']:,.0f} items | {' | '.join(head)} |", "|---|---|---|---|---|---|"]
    for workers in WORKERS:
        clock, busiest = part[f"{workers}"], part[f"{workers} cpu"]
        by_clock, by_cpu = part["1"] / clock, part["1 cpu"] / busiest
        share = f"{by_clock / workers:.0%}" if workers <= (os.cpu_count() or 1) else "more processes than cores"
        name = f"{workers} worker process{'es' if workers > 1 else ''}"
        lines.append(f"| {name} | {clock:.1f} | {by_clock:.2f} | {share} | {busiest:.1f} | {by_cpu / workers:.0%} |")
    return lines


def orchestration(folder: Path, repeats: int) -> dict[str, float]:
    """The same stage as a plain function and as a recorded flow run, each in a fresh process."""
    from benchmarks.servers import (
        free_port,
        prefect_server_command,
        prefect_server_variables,
        prefect_settings,
        process,
        wait_for_http,
    )

    place, port, home = str(folder / "few"), free_port(), folder / "prefect"
    np.save(folder / "few.npy", np.random.default_rng(0).standard_normal((1000, 64), np.float32))
    command("init", place, "--embeddings", str(folder / "few.npy"))
    home.mkdir()
    variables = prefect_settings(port, home)
    with process(*prefect_server_command(port), log=home / "log", env=prefect_server_variables(home, None)) as server:
        wait_for_http(f"{variables['PREFECT_API_URL']}/health", server, home / "log", 120)

        def run(recorded: int) -> float:
            began = time.perf_counter()
            command("verify", place, **(variables if recorded else {}))
            return time.perf_counter() - began

        seconds = best(repeats, {0: lambda: run(0), 1: lambda: run(1)})
    return {"plain": seconds[0], "recorded": seconds[1]}


def orchestration_table(seconds: dict[str, float]) -> list[str]:
    return [
        "| `cccount verify` in a fresh process | seconds |", "|---|---|",
        f"| plain function | {seconds['plain']:.1f} |",
        f"| flow recorded by a Prefect server | {seconds['recorded']:.1f} |",
        f"| the orchestrated run costs, whatever the stage's size | {seconds['recorded'] - seconds['plain']:.1f} |",
    ]  # fmt: skip


def plan_table(pairs_per_second: float, images_per_second: float, approximate_seconds: float) -> list[str]:
    """Ten million images on paper, from the rates of one core. Approximately, an item looks at 16 √n others and 2 √n centres."""
    grid = grid_for(PLANNED, 8 * capacity(K))
    shards = -(-PLANNED // default_shard_rows(PLANNED))
    embed_hours = PLANNED / images_per_second / 3600
    exact_hours = PLANNED * (PLANNED - 1) / 2 / pairs_per_second / 3600
    near_hours = approximate_seconds * (PLANNED / MORE) ** 1.5 / 3600
    vectors = PLANNED * DIMENSIONS * 4 / 1e9
    lists = PLANNED * (K * 8 + 8) / 1e9
    largest = max(len(grid.stage(stage)) for stage in range(grid.stages))
    partial = largest * 2 * grid.tile_rows * 16 / 1e9  # docs of similarity/partial.py; candidates on top are few by then
    written = f"{lists:,.0f} GB of lists, about {partial:,.0f} GB of partial results for a while"
    rows = [
        ("embed", f"{shards:,} shards", f"{vectors:,.0f} GB of vectors", embed_hours),
        (
            "neighbors, approximate",
            f"{3 * grid.blocks:,} blocks",
            f"{lists:,.0f} GB of lists, three times for a while",
            near_hours,
        ),
        ("neighbors, exact", f"{grid.tiles:,} tiles", written, exact_hours),
    ]
    lines = ["| stage at 10,000,000 images | tasks | bytes | core hours | on 200 cores | cost |", "|---|---|---|---|---|---|"]
    for stage, tasks, stored, hours in rows:
        lines.append(f"| {stage} | {tasks} | {stored} | {hours:,.0f} | {hours / 200:,.1f} h | {hours * CORE_HOUR:,.0f} |")
    lines.append(f"| a month in the store | | {vectors + lists:,.0f} GB | | | {(vectors + lists) * STORE_MONTH:,.0f} |")
    return lines


def measured(given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Measure the parts that are asked for, and return all that are known; each is in the file at once."""
    parts: dict[str, Callable[[Path], dict[str, float]]] = {
        "neighbors": lambda at: _named(neighbors_on(at, given.items, 256, WORKERS, given.repeats)),
        "embed": lambda at: _named(embed_on(at, given.images, given.repeats)),
        "orchestration": lambda at: orchestration(at, given.repeats),
        "rate": lambda at: {"seconds": neighbors_on(at, SMALL, DIMENSIONS, (1,), given.repeats)[1][1]},
        "approximate": lambda at: {"seconds": neighbors_on(at, MORE, DIMENSIONS, (1,), 1, "approximate")[1][1]},
    }
    file: Path | None = given.results
    known: dict[str, dict[str, float]] = json.loads(file.read_text()) if file is not None and file.exists() else {}
    for name in given.only or parts:
        folder = Path(tempfile.mkdtemp(prefix="cccount-scaling-"))
        try:
            known[name] = {**parts[name](folder), "load": os.getloadavg()[0], "items": _items(name, given)}
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(name, known[name], file=sys.stderr)
        if file is not None:
            file.write_text(json.dumps(known, indent=1))
    return known


def _named(seconds: dict[int, tuple[float, float]]) -> dict[str, float]:
    clock = {f"{size}": taken for size, (taken, _) in seconds.items()}
    return clock | {f"{size} cpu": busiest for size, (_, busiest) in seconds.items()}


def _items(part: str, given: argparse.Namespace) -> int:
    return int({"neighbors": given.items, "embed": given.images, "rate": SMALL, "approximate": MORE}.get(part, 0))


def tables(known: dict[str, dict[str, float]]) -> list[str]:
    """The page's tables, of the parts that are known."""
    lines: list[str] = []
    for name, what in (("neighbors", "neighbors (exact, 256 dimensions)"), ("embed", f"embed ({ENCODER})")):
        if name in known:
            lines += [*scaling_table(what, known[name]), ""]
    if "orchestration" in known:
        lines += [*orchestration_table(known["orchestration"]), ""]
    if {"rate", "embed", "approximate"} <= known.keys():
        pairs = SMALL * (SMALL - 1) / 2 / known["rate"]["seconds"]
        images = known["embed"]["items"] / known["embed"]["1 cpu"]
        approximate = known["approximate"]["seconds"]
        lines.append(f"One core: {pairs / 1e6:,.1f} million pairs of {DIMENSIONS} dimensions, or {images:,.0f} images, a second;")
        lines.append(f"the approximate pass over {MORE:,} items takes {approximate:.0f} s of CPU time, as all rates here.")
        lines += ["", *plan_table(pairs, images, approximate), ""]
    loads = ", ".join(f"{name} {part['load']:.1f}" for name, part in known.items())
    return [*lines, f"{os.cpu_count()} cores; load average at the end of each part: {loads}."]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("--items", type=int, default=61_440, help="vectors of the neighbours pass")
    parser.add_argument("--images", type=int, default=1_024, help="images of the embedding: four shards")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--only", nargs="*", help="measure these parts: neighbors, embed, orchestration, rate, approximate")
    parser.add_argument("--results", type=Path, help="a file of measured parts: read first, and written after each part")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/scaling.md")
    given = parser.parse_args()
    lines = tables(measured(given))
    print("\n".join(lines))
    if given.write:
        paste(ROOT / "docs" / "evidence" / "scaling.md", "scaling", lines)


if __name__ == "__main__":
    main()

"""The exact pass beside the bare matrix product, faiss and scikit-learn; its growth and memory; the approximate engine;
whether a locality order pays.

    python -m benchmarks.neighbors                 everything: about half an hour on two cores, 3 repetitions
    python -m benchmarks.neighbors --scale 0.1     a tenth of the items: a minute, to see that it runs
    python -m benchmarks.neighbors --write         also puts the tables into docs/evidence/neighbors.md

Medians, and ratios of what ran in the same repetition, one after the other. Needs faiss (the extra `approximate`).
"""

import argparse
import contextlib
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.pasting import paste
from cccount_dist.similarity.blocks import scores_of
from cccount_dist.similarity.coarse import learn_centres, near_centres
from cccount_dist.similarity.grid import grid_for
from cccount_dist.similarity.inmemory import run_pass
from cccount_dist.similarity.lists import capacity
from storage.schema import COLLECTION, EMBEDDINGS
from storage.workspace import Workspace

K = 50
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "neighbors.md"


def vectors(items: int, dimensions: int) -> NDArray[np.float32]:
    """Unit vectors like embeddings: 300 clusters of Zipf sizes in 32 latent dimensions, noise, an offset, random order."""
    rng = np.random.default_rng(0)
    weight = 1 / np.arange(1, 301) ** 0.8
    centre = rng.standard_normal((300, 32), dtype=np.float32)
    spread = rng.standard_normal((32, dimensions), dtype=np.float32) / np.float32(np.sqrt(32))
    x = np.empty((items, dimensions), np.float32)
    for start in range(0, items, 8192):
        rows = min(8192, items - start)
        latent = centre[rng.choice(300, rows, p=weight / weight.sum())] + 0.7 * rng.standard_normal((rows, 32), dtype=np.float32)
        block = latent @ spread + 0.25 * rng.standard_normal((rows, dimensions), dtype=np.float32) + 0.3 * spread[0]
        x[start : start + rows] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return x


def cpu(work: Callable[[], Any]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def wall(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def half_product(x: NDArray[np.float32]) -> None:
    """As many products of pairs as the pass makes, by the BLAS of numpy and nothing else."""
    out = np.empty((2048, len(x)), np.float32)
    for start in range(0, len(x) // 2, 2048):
        rows = x[start : min(start + 2048, len(x) // 2)]
        np.matmul(rows, x.T, out=out[: len(rows)])


def kernel_table(sizes: list[tuple[int, int]], repeats: int) -> str:
    lines = ["| n | d | half sgemm, CPU s | whole pass, CPU s | ratio (range) | goal |", "|---|---|---|---|---|---|"]
    for (items, dimensions), goal in zip(sizes, (1.10, 1.25), strict=True):
        x = vectors(items, dimensions)
        meaning, grid = scores_of("cosine", dimensions), grid_for(items, 8 * capacity(K))
        run_pass(x[:2000], K, meaning, grid_for(2000, 8 * capacity(K)))  # compile
        with threadpool_limits(1):
            half_product(x[:4000])
            times = [(cpu(lambda: half_product(x)), cpu(lambda: run_pass(x, K, meaning, grid))) for _ in range(repeats)]  # noqa: B023
        half, mine = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = sorted(b / a for a, b in times)
        shown = f"**{statistics.median(ratios):.2f}** ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        lines.append(f"| {items:,} | {dimensions} | {half:.1f} | {mine:.1f} | {shown} | ≤ {goal:.2f} |")
        say(lines[-1])
    return "\n".join(lines)


def make_workspace(folder: Path, x: NDArray[np.float32]) -> Path:
    columns = {column.name: pa.nulls(len(x), column.type) for column in COLLECTION.columns}
    columns["item"] = pa.array(range(len(x)), pa.int64())
    columns["id"] = pa.array([str(item) for item in range(len(x))])
    workspace = Workspace.create(folder, pa.table(columns, schema=COLLECTION.schema))
    array = workspace.create_array(EMBEDDINGS, x.shape, attributes={"encoder": "benchmark"})
    for shard in range(array.shards):
        start, stop = array.shard_range(shard)
        array.write_shard(shard, x[start:stop])
    return folder


def command(workspace: Path, *options: str) -> tuple[dict[str, Any], float]:
    """Run `cccount neighbors` from nothing but embeddings: no row cache, no arrays. Return its report and its seconds in all."""
    for name in ("neighbors.zarr", ".cache", ".scratch"):
        shutil.rmtree(workspace / name, ignore_errors=True)
    for markers in (workspace / "markers").glob("neighbors*"):
        shutil.rmtree(markers)
    arguments = [sys.executable, "-m", "flows", "neighbors", str(workspace), "--k", str(K), "--workers", "2", "--json", *options]
    began = time.perf_counter()
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return json.loads(done.stdout), time.perf_counter() - began


def peers_table(items: int, dimensions: int, repeats: int, folder: Path) -> str:
    import faiss
    from sklearn.neighbors import NearestNeighbors

    x = vectors(items, dimensions)
    workspace = make_workspace(folder / "peers", x)
    faiss.omp_set_num_threads(2)
    some = x[: max(items // 10, 1)]  # scikit-learn answers a tenth of the queries; its time grows with them
    rows = []
    for _ in range(repeats):
        index = faiss.IndexFlatIP(dimensions)
        index.add(x)
        flat = wall(lambda: index.search(x, K + 1))  # noqa: B023
        brute = NearestNeighbors(n_neighbors=K + 1, algorithm="brute", metric="cosine", n_jobs=2).fit(x)
        with threadpool_limits(2):
            sklearn = wall(lambda: brute.kneighbors(some)) * items / len(some)  # noqa: B023
        report, total = command(workspace)
        rows.append((report["seconds"], total, flat, sklearn))
        say(f"neighbors {rows[-1][0]:.1f} s (command {total:.1f} s), faiss {flat:.1f} s, scikit-learn {sklearn:.1f} s")
    seconds, total, flat, sklearn = (statistics.median(column) for column in zip(*rows, strict=True))
    to_flat = sorted(row[0] / row[2] for row in rows)
    to_sklearn = sorted(row[0] / row[3] for row in rows)
    all_flat = statistics.median(row[1] / row[2] for row in rows)
    flat_shown = f"**{statistics.median(to_flat):.2f}** ({to_flat[0]:.2f}-{to_flat[-1]:.2f})"
    sklearn_shown = f"**{statistics.median(to_sklearn):.2f}** ({to_sklearn[0]:.2f}-{to_sklearn[-1]:.2f})"
    return "\n".join([
        f"| n = {items:,}, d = {dimensions}, 2 cores | seconds | `neighbors` over it (range) | goal |", "|---|---|---|---|",
        f"| `cccount neighbors`: vectors from zarr, lists and degree to zarr | {seconds:.1f} | 1 | |",
        f"| faiss IndexFlatIP.search, 2 threads, from memory, no degree | {flat:.1f} | {flat_shown} | ≤ 0.65 |",
        f"| scikit-learn brute force, 2 threads (a tenth of the queries, times 10) | {sklearn:.1f} | {sklearn_shown} | ≤ 0.30 |",
        "",
        f"The whole command takes {total:.1f} s ({all_flat:.2f} of faiss): it also starts Python and a Dask cluster.",
    ])  # fmt: skip


def growth_table(sizes: list[int], dimensions: int, repeats: int, folder: Path) -> str:
    lines = [
        "| n | seconds | tiles | tiles/s | half sgemm / 2, CPU s | peak memory of a worker, MiB |",
        "|---|---|---|---|---|---|",
    ]
    seconds, peaks = [], []
    for items in sizes:
        x = vectors(items, dimensions)
        with threadpool_limits(1):
            part = x[: min(items, 20_000)]
            bound = cpu(lambda: half_product(part)) * (items / len(part)) ** 2 / 2  # noqa: B023
        workspace = make_workspace(folder / f"growth-{items}", x)
        del x
        reports = [command(workspace)[0] for _ in range(repeats)]
        shutil.rmtree(workspace)
        seconds.append(statistics.median(report["seconds"] for report in reports))
        peaks.append(max(report["peak_worker_bytes"] for report in reports))
        tiles = reports[0]["tiles"]
        row = f"| {items:,} | {seconds[-1]:.1f} | {tiles} | {tiles / seconds[-1]:.2f} | {bound:.1f} | {peaks[-1] / 2**20:.0f} |"
        lines.append(row)
        say(row)
    slopes = [np.polyfit(np.log(sizes), np.log(values), 1)[0] for values in (seconds, peaks)]
    growth = f"Time grows as n^{slopes[0]:.2f}, memory of a worker as n^{slopes[1]:.2f}"
    text = f"{growth}; d = {dimensions}, 2 workers. Goal: ≤ 1,536 MiB."
    return "\n".join([*lines, "", text])


def faiss_lists(x: NDArray[np.float32], lists: int, *, batched: bool = False) -> tuple[float, float]:
    """Return seconds and recall of faiss's inverted file with 2 threads, 32 probes, from memory, without degrees.

    `batched` is its offline search, which goes list by list over all queries at once (faiss.contrib.big_batch_search).
    """
    import faiss
    from faiss.contrib.big_batch_search import big_batch_search

    def run() -> Any:
        index: Any = faiss.index_factory(x.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
        index.train(x)
        index.add(x)
        index.nprobe = 32
        if batched:
            offline: Any = big_batch_search
            with contextlib.redirect_stdout(io.StringIO()):  # it prints a line for every list
                return offline(index, x, K + 1, method="knn_function", threaded=0)
        return index.search(x, K + 1)

    faiss.omp_set_num_threads(2)
    began = time.perf_counter()
    _, found = run()
    seconds = time.perf_counter() - began
    asked = np.random.default_rng(1).choice(len(x), 500, replace=False)
    scores = x[asked] @ x.T
    best = np.argpartition(-scores, K, axis=1)[:, : K + 1]  # both lists hold the item itself
    recall = np.mean([(len(np.intersect1d(a, b)) - 1) / K for a, b in zip(found[asked], best, strict=True)])
    return seconds, float(recall)


def approximate_table(items: int, dimensions: int, repeats: int, folder: Path) -> str:
    x = vectors(items, dimensions)
    workspace = make_workspace(folder / "approximate", x)
    root = np.sqrt(items)
    forms = {
        "faiss IVFFlat.search, 4 √n lists, 32 probes, 2 threads": partial(faiss_lists, x, round(4 * root)),
        "faiss IVFFlat.search, 2 √n lists, 32 probes, 2 threads": partial(faiss_lists, x, round(2 * root)),
        "faiss big_batch_search, 2 √n lists, 32 probes, 2 threads": partial(faiss_lists, x, round(2 * root), batched=True),
    }
    seconds: dict[str, list[float]] = {}
    recalls: dict[str, float] = {}
    for _ in range(repeats):
        near, exact = command(workspace, "--engine", "approximate")[0], command(workspace)[0]
        found = {"near": (near["seconds"], near["recall"]), "exact": (exact["seconds"], 1.0)}
        found |= {name: run() for name, run in forms.items()}
        for name, (took, recall) in found.items():
            seconds.setdefault(name, []).append(took)
            recalls[name] = recall
        say(", ".join(f"{name}: {took:.1f} s, {recall:.4f}" for name, (took, recall) in found.items()))

    def ratio(name: str) -> float:
        return statistics.median(mine / exact for mine, exact in zip(seconds[name], seconds["exact"], strict=True))

    median = {name: statistics.median(taken) for name, taken in seconds.items()}
    reached = f"**{recalls['near']:.4f}** (goal ≥ 0.98) | **{ratio('near'):.2f}** (goal < 1)"
    return "\n".join([
        f"| n = {items:,}, d = {dimensions}, k = {K}, 2 cores | seconds | recall@{K} | over exact |", "|---|---|---|---|",
        f"| `--engine approximate`, with degrees, from zarr to zarr | {median['near']:.1f} | {reached} |",
        f"| `--engine exact`, the same | {median['exact']:.1f} | 1 | 1 |",
        *(f"| {name}, no degrees | {median[name]:.1f} | {recalls[name]:.4f} | {ratio(name):.2f} |" for name in forms),
    ])  # fmt: skip


def order_table(sizes: list[tuple[int, int]], repeats: int) -> str:
    """The exact pass over items in random order, and in the order of √n centres of k-means: near items in the same block."""
    lines = [
        "| n | d | random order, CPU s | by centre, CPU s | ratio (range) | finding and applying the order, CPU s |",
        "|---|---|---|---|---|---|",
    ]
    for items, dimensions in sizes:
        x = vectors(items, dimensions)
        meaning, grid = scores_of("cosine", dimensions), grid_for(items, 8 * capacity(K))
        run_pass(x[:2000], K, meaning, grid_for(2000, 8 * capacity(K)))  # compile
        centres = round(np.sqrt(items))

        def in_order(x: NDArray[np.float32] = x, centres: int = centres) -> NDArray[np.float32]:
            found = learn_centres(x[: 40 * centres], centres, 0)
            return x[np.argsort(near_centres(x, found, 1)[:, 0], kind="stable")]

        near = in_order()
        with threadpool_limits(1):
            times = [
                (cpu(lambda: run_pass(x, K, meaning, grid)), cpu(lambda: run_pass(near, K, meaning, grid)), cpu(in_order))  # noqa: B023
                for _ in range(repeats)
            ]
        random, sorted_, sorting = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = sorted(b / a for a, b, _ in times)
        shown = f"**{statistics.median(ratios):.2f}** ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        lines.append(f"| {items:,} | {dimensions} | {random:.1f} | {sorted_:.1f} | {shown} | {sorting:.1f} |")
        say(lines[-1])
    return "\n".join(lines)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def conditions(repeats: int) -> str:
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "?")
    machine = f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{machine}; medians of {repeats}; load average at the end {os.getloadavg()[0]:.1f}."


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every n")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["kernel", "peers", "growth", "approximate", "order"], action="append")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/evidence/neighbors.md")
    chosen = parser.parse_args()

    def n(items: int) -> int:
        return int(items * chosen.scale)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {
            "kernel": lambda: kernel_table([(n(50_000), 512), (n(50_000), 128)], chosen.repeats),
            "peers": lambda: peers_table(n(50_000), 512, chosen.repeats, folder),
            "growth": lambda: growth_table([n(25_000), n(50_000), n(100_000)], 512, chosen.repeats, folder),
            "approximate": lambda: approximate_table(n(200_000), 128, chosen.repeats, folder),
            "order": lambda: order_table([(n(50_000), 512), (n(50_000), 128)], chosen.repeats),
        }
        for key in chosen.only or tables:
            table = tables[key]()
            text = f"{table}\n\n{conditions(chosen.repeats)}"
            print(f"{text}\n", flush=True)
            if chosen.write:
                paste(PAGE, key, ["", *text.splitlines(), ""])


if __name__ == "__main__":
    main()

"""How the cost of grouping grows with the collection: first pass, time of a question and peak memory, and their exponents.

    python -m benchmarks.grouping_growth --methods evidence apc --sizes 10000 30000 100000 --each 0.04
    python -m benchmarks.grouping_growth --methods evidence apc hacc --sizes 100000 --dimensions 1280 --each 0.00005

Made collections of three modes a class (`modes` of `benchmarks.groupingsets`), turned into more dimensions if that is wanted: so
distances stay what they are. `--each` questions an item, one at a time. Every size runs in a process of its own, with vectors and
neighbours as memory maps, which were made before, outside of the times. CPU seconds. Extra memory: the largest anonymous memory
of the process beyond what it had before there was a sampler.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.anonymous import watched
from benchmarks.grouping import PAGE, cells, head
from benchmarks.groupingsets import modes
from benchmarks.pasting import paste
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, grouping_methods, make_grouper
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

BLOCK = 8192


def make(folder: Path, items: int, dimensions: int) -> None:
    """Leave vectors, neighbours and labels in a folder."""
    x, y = modes(items)(Path())
    vectors = prepare(x, "cosine")
    found = neighbors_in_memory(vectors, 50)
    for name, array in (("labels", y), ("index", found.index), ("similarity", found.similarity)):
        np.save(folder / f"{name}.npy", array)
    if dimensions <= vectors.shape[1]:
        np.save(folder / "vectors.npy", vectors)
        return
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(dimensions, vectors.shape[1])))[0].T.astype(np.float32)
    turned = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float32, (items, dimensions))
    for start in range(0, items, BLOCK):
        turned[start : start + BLOCK] = prepare(vectors[start : start + BLOCK] @ turn, "cosine")
    turned.flush()


def measure(method: str, folder: Path, each: float) -> dict[str, float]:
    vectors, index, similarity = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("vectors", "index", "similarity"))
    y = np.load(folder / "labels.npy")
    clusters = int(y.max()) + 1 if "clusters" in grouping_method(method).needs_of({}) else None
    with watched() as peak:
        return {**_measured(method, GroupingInputs(vectors, index, similarity, 0, clusters), y, each), "peak": peak.extra / 2**20}


def _measured(method: str, inputs: GroupingInputs, y: NDArray[np.int64], each: float) -> dict[str, float]:
    questions = round(each * len(y))
    began = time.process_time()
    sampler = make_grouper(method, inputs)
    first = time.process_time() - began
    start = ari(y, sampler.result().labels)
    began, asked, worst = time.process_time(), 0, 0.0
    while asked < questions:
        before = time.process_time()
        wanted = sampler.ask(1)
        if not wanted:
            break
        sampler.tell([Answer(q.id, q.u, q.v, float(y[q.u] == y[q.v])) for q in wanted])
        sampler.done  # noqa: B018  the next partition is part of what a question costs
        asked += len(wanted)
        worst = max(worst, time.process_time() - before)
    spent = time.process_time() - began
    return {
        "items": len(y), "first": first, "asked": asked, "loop": spent, "each": 1000 * spent / max(asked, 1), "worst": worst,
        "start": start, "ari": ari(y, sampler.result().labels),
    }  # fmt: skip


def exponent(rows: list[dict[str, float]], field: str) -> float:
    """Slope of the logarithms, smallest to largest size."""
    low, high = rows[0], rows[-1]
    return float(np.log(high[field] / low[field]) / np.log(high["items"] / low["items"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", choices=grouping_methods(), default=["evidence", "apc"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000])
    parser.add_argument("--each", type=float, default=0.04, help="questions for each item")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--dimensions", type=int, default=128, help="of the vectors, 128 or more")
    parser.add_argument("--one", type=Path, help="measure one collection in this process and print it as JSON")
    chosen = parser.parse_args()
    if chosen.one is not None:
        print(json.dumps(measure(chosen.methods[0], chosen.one, chosen.each)))
        return
    with tempfile.TemporaryDirectory(prefix="cccount-growth-") as name:
        compare(chosen, Path(name))


def compare(chosen: argparse.Namespace, folder: Path) -> None:
    for items in chosen.sizes:
        (folder / str(items)).mkdir()
        make(folder / str(items), items, chosen.dimensions)
    lines = head(["method", "items", "first pass", "questions", "a question", "longest", "all of it", "extra memory", "ARI"])
    print("\n".join(lines), flush=True)
    for method in chosen.methods:
        rows = []
        for items in sorted(chosen.sizes):
            command = [sys.executable, "-m", "benchmarks.grouping_growth", "--one", str(folder / str(items))]
            command += ["--methods", method, "--each", str(chosen.each)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append(row)
            times = [f"{row['first']:.1f} s", f"{row['asked']:,}", f"{row['each']:.1f} ms", f"{row['worst']:.1f} s"]
            rest = [f"{row['first'] + row['loop']:.1f} s", f"{row['peak']:,.0f} MiB", f"{row['start']:.3f} → {row['ari']:.3f}"]
            lines.append(cells(method, f"{items:,}", *times, *rest))
            print(lines[-1], flush=True)
        if len(rows) > 1:
            first, each, peak = (f"n^{exponent(rows, field):.2f}" for field in ("first", "each", "peak"))
            lines.append(cells(method, "growth", first, "", each, "", "", peak, ""))
            print(lines[-1], flush=True)
        if chosen.write:
            paste(PAGE, "growth" if chosen.dimensions == 128 else f"growth-{chosen.dimensions}", lines)


if __name__ == "__main__":
    main()

"""How the cost of grouping grows with the collection: first pass, time of a question and peak memory, and their exponents.

    python -m benchmarks.grouping_growth --methods evidence apc --sizes 10000 30000 100000 --each 0.04

Made collections of three modes a class (`modes` of `benchmarks.groupingsets`); `--each` questions an item, one at a time. Every
size runs in a process of its own, so that the peak is its own; neighbours are made before, outside of the times. CPU seconds.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.grouping import PAGE, cells, head
from benchmarks.groupingsets import modes
from benchmarks.pasting import paste
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import GroupingInputs, grouping_methods, make_grouper
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare


def measure(method: str, items: int, questions: int) -> dict[str, float]:
    x, y = modes(items)(Path())
    vectors = prepare(x, "cosine")
    found = neighbors_in_memory(vectors, 50)
    began = time.process_time()
    sampler = make_grouper(method, GroupingInputs(vectors, found.index, found.similarity, 0))
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "items": items, "first": first, "asked": asked, "loop": spent, "each": 1000 * spent / max(asked, 1), "worst": worst,
        "peak": peak, "start": start, "ari": ari(y, sampler.result().labels),
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
    parser.add_argument("--one", action="store_true", help="measure one size in this process and print it as JSON")
    chosen = parser.parse_args()
    if chosen.one:
        items = chosen.sizes[0]
        print(json.dumps(measure(chosen.methods[0], items, round(chosen.each * items))))
        return
    lines = head(["method", "items", "first pass", "questions", "a question", "longest", "all of it", "peak memory", "ARI"])
    print("\n".join(lines), flush=True)
    for method in chosen.methods:
        rows = []
        for items in sorted(chosen.sizes):
            command = [sys.executable, "-m", "benchmarks.grouping_growth", "--one", "--methods", method]
            command += ["--sizes", str(items), "--each", str(chosen.each)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            rows.append(row)
            times = [f"{row['first']:.1f} s", f"{row['asked']:,}", f"{row['each']:.1f} ms", f"{row['worst']:.1f} s"]
            rest = [f"{row['first'] + row['loop']:.1f} s", f"{row['peak']:,.0f} MB", f"{row['start']:.3f} → {row['ari']:.3f}"]
            lines.append(cells(method, f"{items:,}", *times, *rest))
            print(lines[-1], flush=True)
        if len(rows) > 1:
            first, each, peak = (f"n^{exponent(rows, field):.2f}" for field in ("first", "each", "peak"))
            lines.append(cells(method, "growth", first, "", each, "", "", peak, ""))
            print(lines[-1], flush=True)
        if chosen.write:
            paste(PAGE, "growth", lines)


if __name__ == "__main__":
    main()

"""The map of a collection beside the pass that finds neighbours: seconds and memory of a worker.

    python -m benchmarks.mapping --items 100000 --workers 2

Vectors of 2,852 numbers, as the default encoder gives, are made (classes of 20 that differ in 300 directions). Measured: the fit
and the writing of embeddings.zarr, without the copying before it; then the exact neighbours, k = 50, of as many vectors
of 512 numbers. The goal: no more time than the neighbours, and at most 1.5 GiB in a worker. On a busy machine the CPU seconds of
the workers are the fairer measure: both are given.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.given import ATTRIBUTES, write_given
from cccount_dist.embedding.readers.vectors import Vectors
from flows.compute.clients import open_client
from flows.stages.embed import embed
from flows.stages.neighbors import neighbors
from storage.collection import collection_table
from storage.schema import EMBEDDINGS, ENCODED, ArraySpec
from storage.workspace import Workspace

DIRECTIONS = 300
EACH = 20
ROWS = 4096


def made(items: int, dimensions: int) -> Iterator[NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(-(-items // EACH), DIRECTIONS)).astype(np.float32)
    turn = rng.normal(size=(DIRECTIONS, dimensions)).astype(np.float32)
    for start in range(0, items, ROWS):
        count = min(ROWS, items - start)
        rows = centres[rng.integers(0, len(centres), count)] + rng.normal(size=(count, DIRECTIONS)).astype(np.float32)
        yield rows @ turn + 5 * rng.normal(size=(count, dimensions)).astype(np.float32)


def written(place: Path, items: int, dimensions: int, spec: ArraySpec) -> str:
    workspace = Workspace.create(place, collection_table([str(item) for item in range(items)]))
    array = workspace.create_array(spec, (items, dimensions), attributes=ATTRIBUTES)
    write_given(array, Vectors(items, dimensions, lambda: made(items, dimensions)))
    return workspace.location


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=2852)
    parser.add_argument("--beside", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory-limit", default="1.5GiB")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mapped = written(Path(folder, "mapped"), options.items, options.dimensions, ENCODED)
        with open_client("local", workers=options.workers, memory_limit=options.memory_limit) as client:
            began = time.perf_counter()
            about = embed(mapped, map="auto", client=client)
            seconds = time.perf_counter() - began
            busy = sum(client.run(time.process_time).values())
        plain = written(Path(folder, "plain"), options.items, options.beside, EMBEDDINGS)
        with open_client("local", workers=options.workers) as client:
            beside = neighbors(plain, k=50, client=client)
            busy_beside = sum(client.run(time.process_time).values())
    ratio = f"{seconds / beside.seconds:.2f} ({busy / busy_beside:.2f} by CPU)"
    print("| items | map: s (CPU s) | peak of a worker | neighbours: s (CPU s) | map / neighbours |\n|---|---|---|---|---|")
    peak = f"{about.peak_worker_bytes / 2**20:,.0f} MiB"
    print(f"| {options.items:,} | {seconds:.0f} ({busy:.0f}) | {peak} | {beside.seconds:.0f} ({busy_beside:.0f}) | {ratio} |")


if __name__ == "__main__":
    main()

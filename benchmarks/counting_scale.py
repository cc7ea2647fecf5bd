"""How long 10,000 answers on 100,000 items take, and how much memory: `python -m benchmarks.counting_scale`.

400 clusters of unequal sizes in 64 dimensions, vectors and neighbour lists memory-mapped, the neighbours not in the times; one
process for each way to ask, so that peaks are its own.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.errorrates import EXACT
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.sharp import REACH, SharpRows

CLUSTERS, DIMENSIONS = 400, 64
WAYS = {"pairs": (0.0, 1), "pairs, 4 % wrong": (0.04, 1), "pages of 24, 4 % wrong": (0.04, 24)}


def make(folder: Path, items: int) -> None:
    random = np.random.default_rng(0)
    weights = random.lognormal(sigma=0.5, size=CLUSTERS)
    labels = random.choice(CLUSTERS, items, p=weights / weights.sum())
    vectors = random.standard_normal((items, DIMENSIONS), dtype=np.float32)
    vectors += 1.2 * random.standard_normal((CLUSTERS, DIMENSIONS), dtype=np.float32)[labels]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(folder / "labels.npy", labels)
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "lists.npy", neighbors_in_memory(vectors, REACH).index)


def measure(way: str, folder: Path, answers: int) -> str:
    def read(name: str) -> NDArray[Any]:
        return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))

    error, grid = WAYS[way]
    labels, vectors, lists = read("labels"), read("vectors"), read("lists")
    began = time.perf_counter()
    sharp = SharpRows(vectors, lists)
    sampler = PlacingSampler(vectors, np.zeros(len(labels)), grid=grid, rates=None if error else EXACT, fast=True, sharp=sharp)
    drive(sampler, LabelOracle(labels, error_rate=error), budget=answers, page_cost=3.0)
    found = sampler.result()
    seconds, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    interval = f"{found.estimate or 0:.0f} ({found.low:.0f} to {found.high:.0f})"
    return f"| {way} | {seconds:.1f} s | {peak:.2f} GiB | {found.anchors} | {interval} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=10_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        make(Path(made), chosen.items)
        print("| asked as | time | peak memory | items placed | estimate, truth 400 |\n|---|---|---|---|---|")
        for name in WAYS:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(measure, (name, Path(made), chosen.answers)), flush=True)


if __name__ == "__main__":
    main()

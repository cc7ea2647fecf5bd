"""How long 10,000 answers on 100,000 items take, and how much memory: `python -m benchmarks.counting_scale`.

400 clusters of unequal sizes in 64 dimensions, the vectors in memory; one process for each way to ask, so that peaks are its own.
"""

import multiprocessing
import resource
import time

import numpy as np

from cccount_dist.counting.placing.rates import EXACT
from cccount_dist.counting.placing.sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle

ITEMS, CLUSTERS, DIMENSIONS, ANSWERS = 100_000, 400, 64, 10_000
WAYS = {"pairs": (0.0, 1), "pairs, 4 % wrong": (0.04, 1), "pages of 24, 4 % wrong": (0.04, 24)}


def measure(way: str) -> str:
    error, grid = WAYS[way]
    random = np.random.default_rng(0)
    weights = random.lognormal(sigma=0.5, size=CLUSTERS)
    labels = random.choice(CLUSTERS, ITEMS, p=weights / weights.sum())
    vectors = random.standard_normal((ITEMS, DIMENSIONS), dtype=np.float32)
    vectors += 1.2 * random.standard_normal((CLUSTERS, DIMENSIONS), dtype=np.float32)[labels]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    began = time.perf_counter()
    sampler = PlacingSampler(vectors, np.zeros(ITEMS), grid=grid, rates=None if error else EXACT, fast=True)
    drive(sampler, LabelOracle(labels, error_rate=error), budget=ANSWERS, page_cost=3.0)
    found = sampler.result()
    seconds, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    interval = f"{found.estimate or 0:.0f} ({found.low:.0f} to {found.high:.0f})"
    return f"| {way} | {seconds:.1f} s | {peak:.2f} GiB | {found.anchors} | {interval} |"


if __name__ == "__main__":
    print("| asked as | time | peak memory | items placed | estimate, truth 400 |\n|---|---|---|---|---|")
    for name in WAYS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, (name,)), flush=True)

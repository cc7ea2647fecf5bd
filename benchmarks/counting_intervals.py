"""Coverage and width of the interval of a count over many shapes of sizes: sampling of labels alone, no vectors and no errors.

    python -m benchmarks.counting_intervals --runs 40

Each row is a shape of sizes, drawn from until a share of its clusters is seen. `widest` goes from the lowest to the highest end
of Chao's and of the posteriors under two priors; `one` is that of a single posterior from Chao's low end (`interval=one`).
`belief` is the width if sizes are believed to be about equal over that if they are believed to be very unequal.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.stored import Runs
from cccount_dist.counting.richness import Richness, richness

SEEN = (0.15, 0.3, 0.5, 0.7, 0.9)
FIRST_SEED = 1000  # others chose the priors
HEAD = ["sizes", "K", "n", "seen", "coverage, widest", "coverage, one", "width, widest", "width, one", "ratio", "belief"]
LEVEL = 0.95
Sizes = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--results", type=Path, help="a file of finished runs, to go on with")
    given = parser.parse_args()
    runs, rows = Runs(given.results), [HEAD]
    print(" | ".join(HEAD))
    coverage, ratios = [], []
    for name, sizes in shapes().items():
        for seen in SEEN:
            for seed in range(given.runs):
                runs.get(f"{name}, {seen}, {seed}", partial(run, sizes, seen, seed))
            before, now, prior = (np.array(one) for one in zip(*runs.of(f"{name}, {seen}", given.runs), strict=True))
            held = [float(np.mean((ends[:, 0] <= len(sizes)) & (len(sizes) <= ends[:, 1]))) for ends in (before, now)]
            width = [float(np.median(ends[:, 1] - ends[:, 0])) / len(sizes) for ends in (before, now)]
            ratio = width[1] / width[0] if width[0] > 0.0 else 1.0
            coverage.append(held)
            ratios.append(ratio)
            figures = (*held, *width, ratio, float(np.median(prior)))
            rows.append([name, str(len(sizes)), str(int(sizes.sum())), f"{seen:g}", *(f"{one:.2f}" for one in figures)])
        print("\n".join(" | ".join(row) for row in rows[-len(SEEN) :]), flush=True)
    widest, one = np.mean(coverage, axis=0)
    rows.append(["all", "", "", "", f"{widest:.3f}", f"{one:.3f}", "", "", f"{np.mean(ratios):.2f}", ""])
    print(" | ".join(rows[-1]))


def run(sizes: Sizes, seen: float, seed: int) -> tuple[list[float], list[float], float]:
    """Return the ends of the widest interval and of one posterior's, and what a belief does to the width."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    random = np.random.default_rng((FIRST_SEED + seed, len(sizes), int(100 * seen)))
    drawn = random.permutation(labels)[: items_until(sizes, seen)]
    counts = np.unique(drawn, return_counts=True)[1]
    widest, one = (richness(counts, len(labels), LEVEL, one=one) for one in (False, True))
    return [widest.low, widest.high], [one.low, one.high], _belief(one)


def _belief(found: Richness) -> float:
    if not found.beliefs:  # everything was drawn
        return 1.0
    equal, unequal = (found.beliefs[name][2] - found.beliefs[name][1] for name in ("if_equal", "if_very_unequal"))
    return equal / unequal if unequal > 0.0 else 1.0


def items_until(sizes: Sizes, seen: float) -> int:
    """How many items are drawn until this share of the clusters is expected to be seen."""
    items = int(sizes.sum())
    low, high = 2, items
    while high - low > 1:
        middle = (low + high) // 2
        share = 1.0 - np.exp(sizes * np.log1p(-min(middle / items, 1.0 - 1e-9))).mean()
        low, high = (middle, high) if share < seen else (low, middle)
    return high


def shapes() -> dict[str, Sizes]:
    """Sizes of clusters by a name: equal ones, gamma and log-normal ones, and some that are like those of real censuses."""
    random = np.random.default_rng(42)
    found = {
        f"equal, {clusters} x {size}": np.full(clusters, size)
        for clusters, size in ((20, 90), (100, 16), (100, 50), (400, 10), (300, 3))
    }
    found |= {
        f"gamma {shape}": _of(random.gamma(shape, 1, k), n) for shape, k, n in ((30, 100, 5000), (4, 300, 6000), (1, 200, 4000))
    }
    spreads = ((0.5, 150, 3000), (0.9, 180, 3600), (1.1, 250, 5000), (1.5, 150, 6000))
    found |= {f"log-normal {spread}": _of(np.exp(spread * random.standard_normal(k)), n) for spread, k, n in spreads}
    found["Zipf"] = _of(1.0 / np.arange(1.0, 201.0), 4000)
    found["20 x 100 and 80 x 10"] = np.repeat([100, 10], [20, 80])
    found["like salamanders"] = random.logseries(0.87, 587)
    found["like turtles"] = _of(np.exp(1.2 * random.standard_normal(438)), 8729)
    found["like lynxes"] = _of(np.geomspace(1.0, 353.0, 77), 2957)
    found["geometric"] = random.geometric(0.08, 200)
    return {name: sizes.astype(np.int64) for name, sizes in found.items()}


def _of(weights: NDArray[np.floating], items: int) -> Sizes:
    """Whole sizes of at least 1 in proportion to weights, that sum to so many items."""
    sizes = np.maximum(1, np.round(weights / weights.sum() * items)).astype(np.int64)
    sizes[int(sizes.argmax())] += items - int(sizes.sum())
    return np.asarray(sizes, np.int64)


if __name__ == "__main__":
    main()

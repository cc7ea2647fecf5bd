"""What skipping costs: the false splits that `placing` made beside those that it expected, at one answer an item.

    python -m benchmarks.counting_skipping --data FOLDER --runs 24 --write

The set `blank` is made: 100 clusters of 40, clear ones, but four items in ten have a vector that says nothing about them.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.countingsets import find
from benchmarks.pasting import paste
from cccount_dist.counting.labelled import LabelledSet, load
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.metrics import prepare

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "counting.md"
FIRST_SEED = 2000  # other seeds than those of the tables
HEAD = ["| set | runs | made | expected | bias | coverage |", "|---|---|---|---|---|---|"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the .npz files; sets that are not there are skipped")
    parser.add_argument("--sets", default="omniglot,longtail,balanced,blank")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/counting.md")
    given = parser.parse_args()
    lines = list(HEAD)
    print("\n".join(lines), flush=True)
    for name in given.sets.split(","):
        source = find(name, given.data) if name != "blank" else None
        collection = load(source) if source is not None else blank() if name == "blank" else None
        if collection is not None:
            lines.append(measure(name, collection, given.runs))
            print(lines[-1], flush=True)
    if given.write:
        paste(PAGE, "skipping", ["", *lines, ""])


def blank() -> LabelledSet:
    random = np.random.default_rng(7)
    labels = np.repeat(np.arange(100), 40)
    vectors = random.standard_normal((100, 32))[labels] + 0.35 * random.standard_normal((len(labels), 32))
    lost = random.random(len(labels)) < 0.4
    vectors[lost] = random.standard_normal((np.count_nonzero(lost), 32))
    return LabelledSet(prepare(vectors.astype(np.float32), "cosine"), labels)


def measure(name: str, collection: LabelledSet, runs: int) -> str:
    items, truth = len(collection.labels), collection.clusters
    made, expected, estimates, held = [], [], [], 0
    for seed in range(FIRST_SEED, FIRST_SEED + runs):
        one = PlacingSampler(collection.vectors, np.zeros(items), seed=seed, fast=True, sharp=collection.sharp)
        drive(one, LabelOracle(collection.labels), budget=items)
        found = one.result()
        groups = one.partition()
        made.append(len(groups) - len({int(collection.labels[group[0]]) for group in groups}))
        expected.append(found.details["false_splits"])
        estimates.append(float(items) if found.estimate is None else found.estimate)
        held += found.low <= truth <= found.high
    bias = np.mean(estimates) / truth - 1.0
    return f"| {name} | {runs} | {np.mean(made):.1f} | {np.mean(expected):.1f} | {bias:+.3f} | {held / runs:.2f} |"


if __name__ == "__main__":
    main()

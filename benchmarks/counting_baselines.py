"""Counts without people, beside counts with them, and what k-means makes of each (the paper's section 4 and figure 8).

    python -m benchmarks.counting_baselines --data FOLDER --sets digits,czoo --runs 20 --write

Without people: k-means at its elbow, mean-shift, connected components. With 0.5 n answers: the paper's nested importance sampling
as printed and as released, PCK-means, unique entity estimation, NP3, and `placing`; errors are means over the runs. Accuracy is
that of k-means with the number of clusters that was found (equation 12); for methods that ask, with the first run's.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.countingsets import find
from benchmarks.pasting import paste
from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.clustering.baselines.np3 import np3
from cccount_dist.counting.baselines.entities import unique_entities
from cccount_dist.counting.baselines.together import counts_without_people, kmeans_accuracy
from cccount_dist.counting.labelled import LabelledSet, load
from cccount_dist.counting.trials import Plan, run_trial
from cccount_dist.similarity.inmemory import neighbors_in_memory

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "counting.md"
EFFORT = 0.5
ASKING = {
    "nis": Plan("nis", (EFFORT,)),
    "nis-released": Plan("nis-released", (EFFORT,)),
    "pckmeans-explore": Plan("pckmeans-explore", (EFFORT,)),
    "placing": Plan("placing", (EFFORT,), parameters={"search": "fast", "space": "sharp"}),
}
HEAD = ["| set | K | method | answers / n | estimate | error | accuracy of k-means |", "|---|---|---|---|---|---|---|"]
NEIGHBORS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the .npz files; sets that are not there are skipped")
    parser.add_argument("--sets", default="digits,handwritten,czoo,market20,balanced")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--write", action="store_true", help="put the table into docs/evidence/counting.md")
    given = parser.parse_args()
    lines = list(HEAD)
    print("\n".join(lines), flush=True)
    for name in given.sets.split(","):
        if (source := find(name, given.data)) is not None:
            for line in measure(name, load(source), given.runs):
                print(line, flush=True)
                lines.append(line)
    if given.write:
        paste(PAGE, "baselines", ["", *lines, ""])


def measure(name: str, collection: LabelledSet, runs: int) -> Iterator[str]:
    truth = collection.clusters

    def row(method: str, answers: str, estimates: list[float]) -> str:
        error = sum(abs(estimate - truth) for estimate in estimates) / len(estimates) / truth
        found = kmeans_accuracy(collection.vectors, collection.labels, estimates[0])
        mean = sum(estimates) / len(estimates)
        return f"| {name} | {truth} | {method} | {answers} | {mean:.1f} | {error:.3f} | {found:.3f} |"

    near = neighbors_in_memory(collection.vectors, min(NEIGHBORS, len(collection.labels) - 1))
    yield row("the truth", "-", [float(truth)])
    for method, clusters in counts_without_people(collection.vectors, near.index, near.similarity):
        yield row(method, "0", [float(clusters)])
    yield row("unique entity estimation", f"{EFFORT:g}", [_entities(collection, run) for run in range(runs)])
    yield row("np3", f"{EFFORT:g}", [_groups(collection, run) for run in range(runs)])
    for method, plan in ASKING.items():
        yield row(method, f"{EFFORT:g}", [run_trial(collection, plan, run)[0].estimate for run in range(runs)])


def _entities(collection: LabelledSet, run: int) -> float:
    return unique_entities(collection.vectors, _asker(collection), run)


def _groups(collection: LabelledSet, run: int) -> float:
    return float(len(np.unique(np3(collection.vectors, 0, _asker(collection), run))))


def _asker(collection: LabelledSet) -> Asker:
    labels = collection.labels
    return Asker(lambda u, v: bool(labels[u] == labels[v]), int(EFFORT * len(labels)))


if __name__ == "__main__":
    main()

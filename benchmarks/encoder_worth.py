"""What better vectors are worth: the same questions asked over the vectors of two encoders.

    python -m benchmarks.encoder_worth --data FOLDER

For each collection: the error and the interval of a count after n / 4 questions, mean over seeds, and how right a grouping is
(adjusted Rand index) after n / 4 questions; with `efficientnet-lite0` as it was, and with `composite` and its map.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from benchmarks.encoder_accuracy import DRAWN, SETS, encoded, pictures
from cccount_dist import ClusterCounter, PairwiseClusterer
from cccount_dist.embedding.fitting import fit_in_memory
from flows.compute.clients import open_client

WAYS = ("efficientnet-lite0", "composite")


def counted(vectors: NDArray[np.float32], labels: NDArray[np.int64], seeds: int) -> str:
    errors, widths, held = [], [], []
    truth = len(np.unique(labels))
    for seed in range(seeds):
        found = ClusterCounter(budget=len(labels) // 4, random_state=seed).fit(
            vectors, oracle=lambda u, v: bool(labels[u] == labels[v])
        )
        low, high = found.interval_
        errors.append(abs(found.n_clusters_ - truth) / truth)
        widths.append((high - low) / truth)
        held.append(low <= truth <= high)
    return f"{np.mean(errors):.1%}, {np.mean(widths):.0%}, {sum(held)} of {seeds}"


def grouped(vectors: NDArray[np.float32], labels: NDArray[np.int64]) -> str:
    found = PairwiseClusterer(budget=len(labels) // 4).fit(vectors, oracle=lambda u, v: bool(labels[u] == labels[v]))
    return f"{adjusted_rand_score(labels, found.labels_):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="*", default=SETS[:3], choices=[*SETS, DRAWN])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    print("| set, encoder | count: error, width, held the truth | grouping: ARI |\n|---|---|---|")
    for name in options.sets:
        found = pictures(options.data, name)
        for encoder in WAYS:
            with tempfile.TemporaryDirectory() as made, open_client("local", workers=2) as client:
                vectors = encoded(found, encoder, Path(made, encoder), client)
            if encoder == "composite" and (fitted := fit_in_memory(vectors)) is not None:
                vectors = fitted[0].apply(vectors)
            cells = f"{counted(vectors, found.labels, options.seeds)} | {grouped(vectors, found.labels)}"
            print(f"| {name}, {encoder} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

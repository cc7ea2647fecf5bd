"""What local matches are worth in questions: the same campaigns with and without them, answered from the labels.

    python -m benchmarks.local_worth --data FOLDER

For each collection, over vectors of `composite` and their map: error and width of a count (placing) after n / 4 questions, and
how right a grouping is (adjusted Rand index) after n / 4 questions (evidence), and after sheets that take as long (catalogue);
means over seeds. Pictures are compared with their 30 nearest, as `cccount matches` does; of GTSRB pairs of one track are among
them.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from benchmarks.encoder_accuracy import DRAWN, SETS, Pictures, encoded, pictures
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.embedding.fitting import fit_in_memory
from cccount_dist.embedding.images import decode
from cccount_dist.embedding.localfeatures import local_features
from cccount_dist.embedding.localshard import matches_of
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.methods import Start
from cccount_dist.sampling.oracles import FunctionOracle
from cccount_dist.similarity.inmemory import Neighbors, neighbors_in_memory
from cccount_dist.similarity.localmatches import NEAREST, SIDE
from cccount_dist.similarity.localscores import LocalScores
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.sharp import SharpRows
from flows.compute.clients import open_client

Matches = NDArray[np.int16] | None


def oracle(labels: NDArray[np.int64]) -> FunctionOracle:
    return FunctionOracle(lambda u, v: bool(labels[u] == labels[v]))


def counted(vectors: NDArray[np.float32], near: Neighbors, labels: NDArray[np.int64], matches: Matches, seed: int) -> list[float]:
    """Return the error and the width of the interval, as shares of the truth."""
    sampler = make_counter(
        "placing", vectors=vectors, degree=np.zeros(len(labels)), seed=seed,
        parameters=counting_method("placing").frozen({}, Start(simulated=True)), sharp=lambda: SharpRows(vectors, near.index),
        local=None if matches is None else LocalScores(near.index, matches),
    )  # fmt: skip
    drive(sampler, oracle(labels), budget=len(labels) // 4, items=len(labels), constraints=Constraints())
    found, truth = sampler.result(), len(np.unique(labels))
    return [abs((found.estimate or np.nan) - truth) / truth, (found.high - found.low) / truth]


def grouped(
    method: str, vectors: NDArray[np.float32], near: Neighbors, labels: NDArray[np.int64], matches: Matches, seed: int
) -> list[float]:
    """Return the adjusted Rand index."""
    parameters = grouping_method(method).frozen({}, Start(simulated=True))
    sampler = make_grouper(
        method, GroupingInputs(vectors, near.index, near.similarity, seed, parameters=parameters, matches=matches)
    )
    budget = len(labels) // 4
    drive(sampler, oracle(labels), budget=budget, items=len(labels), constraints=Constraints())
    return [float(adjusted_rand_score(labels, sampler.result().labels))]


def rows(found: Pictures, vectors: NDArray[np.float32], seeds: int) -> dict[str, list[NDArray[np.float64]]]:
    fitted = fit_in_memory(vectors)
    unit = prepare(vectors if fitted is None else fitted[0].apply(vectors), "cosine")
    near = neighbors_in_memory(unit, 50)
    features = np.stack([local_features(decode(content, side=SIDE)) for _, content in found.files])
    compared = matches_of(features, near.index[:, :NEAREST])
    table: dict[str, list[NDArray[np.float64]]] = {}
    for way, matches in (("vectors", None), ("and local matches", compared)):
        some = range(seeds)
        table[way] = [
            np.mean([counted(unit, near, found.labels, matches, seed) for seed in some], axis=0),
            *(np.mean([grouped(name, unit, near, found.labels, matches, seed) for seed in some], axis=0)
              for name in ("evidence", "catalogue")),
        ]  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="*", default=SETS, choices=[*SETS, DRAWN])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    print("| set | count: error, width | evidence: ARI | catalogue: ARI |\n|---|---|---|---|")
    for name in options.sets:
        found = pictures(options.data, name)
        with tempfile.TemporaryDirectory() as made, open_client("local", workers=1) as client:
            vectors = encoded(found, "composite", Path(made, "e"), client)
        for way, (count, evidence, catalogue) in rows(found, vectors, options.seeds).items():
            print(f"| {name}, {way} | {count[0]:.1%}, {count[1]:.0%} | {evidence[0]:.3f} | {catalogue[0]:.3f} |", flush=True)


if __name__ == "__main__":
    main()

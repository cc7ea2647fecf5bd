"""More than two groups from ratings: several eigenvectors against recursive splitting, on the same answers."""

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from benchmarks.spectral_sets import Floats, Labels, ask_until, complete, exact, graph_of, some_classes
from benchmarks.stored import Runs, table
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.spectral_sampler import SpectralSampler
from cccount_dist.clustering.spectral.spectrum import spectrum


def groups(runs: int, done: Runs) -> list[str]:
    """More than two groups: several eigenvectors against recursive splitting, on the same answers; ARI with the truth."""
    iris, digits = load_iris(), load_digits()
    same = np.arange(90) % 3
    cases = {
        "iris": some_classes(iris.data, iris.target, range(3), 30),
        "digits 0-4": some_classes(digits.data, digits.target, range(5), 20),
        "three groups, same or different": ((same[:, None] == same).astype(np.float64), same),
    }
    for seed in range(runs):
        for name, (similarity, truth) in cases.items():
            done.get(f"groups, {name}, {seed}", partial(all_ways, similarity, truth, seed))
    rows = []
    for name, (similarity, truth) in cases.items():
        found = list(done.of(f"groups, {name}", runs))
        own = f"{ari(truth, complete(np.maximum(similarity, 0.01), int(truth.max()) + 1)):.2f}"
        for share, means in zip(("10%", "20%"), np.mean(found, axis=0) if found else (), strict=False):
            rows.append([name, share, *(f"{value:.2f}" for value in means), own, str(len(found))])
    head = [
        "set",
        "rated",
        "IU_RED",
        "random",
        "IU_RED, missing = 0",
        "its answers, recursive splitting",
        "all similarities",
        "runs",
    ]
    return table(head, rows)


def all_ways(similarity: Floats, truth: Labels, seed: int) -> list[list[float]]:
    """ARI at a tenth and a fifth: IU_RED, random questions, and IU_RED's answers with missing = 0 and by recursive splitting."""
    items, clusters = len(truth), int(truth.max()) + 1
    chosen = SpectralSampler(items, clusters, seed=seed)
    random = SpectralSampler(items, clusters, seed=seed, rule="random")
    found = []
    for share in (0.1, 0.2):
        for sampler in (chosen, random):
            ask_until(sampler, exact(similarity), round(share * items * (items - 1) / 2))
        values = [ari(truth, sampler.result().labels) for sampler in (chosen, random)]
        chosen._missing = "zero"
        values.append(ari(truth, chosen.result().labels))
        chosen._missing = "either"
        square = -chosen._graph.dense()
        np.fill_diagonal(square, 0.0)
        found.append([*values, ari(truth, recursive(square, square > 0.0, clusters))])
    return found


def recursive(similarity: Floats, known: NDArray[np.bool_], clusters: int) -> Labels:
    """Groups by splitting: always the part whose split has the smallest λ2, as long as both sides keep a twentieth of it."""
    labels = np.zeros(len(similarity), np.int64)
    splits: dict[int, tuple[float, Labels]] = {}

    def look(part: int) -> None:
        rows = np.flatnonzero(labels == part)
        graph = graph_of(similarity[np.ix_(rows, rows)], known[np.ix_(rows, rows)])
        parts, piece = graph.components()
        if parts > 1:
            splits[part] = (0.0, np.asarray(piece != np.bincount(piece).argmax(), np.int64))
        elif len(rows) > 2 and (found := spectrum(graph, 2)) is not None:
            side = place(found.block, None).labels
            balanced = min(side.mean(), 1.0 - side.mean()) >= 0.05
            splits[part] = (float(found.values[0]) if balanced else np.inf, side)

    look(0)
    for new in range(1, clusters):
        part = min(splits, key=lambda one: splits[one][0])
        rows = np.flatnonzero(labels == part)
        labels[rows[splits.pop(part)[1] > 0]] = new
        look(part)
        look(new)
    return labels

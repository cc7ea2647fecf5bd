"""One question after a random subset of the similarities, by IU_RED and by S&T: the paper's table 1.

The error before it and how far it falls, read with 0 for what is missing as in the paper, and with guesses as our result is.
"""

from functools import partial
from itertools import product

import numpy as np

from benchmarks.spectral_sets import FILLINGS, Floats, Labels, Sets, complete, error, graph_of, waveforms
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.filled import filled
from cccount_dist.clustering.spectral.graph import RatedGraph
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import spectrum

SUBSETS = (0.1, 0.2, 0.4)
CHUNKS = 10
KEYS: dict[Missing, str] = {"zero": "step", "either": "step, guesses"}


def step(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Mean decrease of the error by one question, and its standard error; 20 restarts make a run, and 10 runs are enough."""
    uniform = np.triu(np.random.default_rng(9).random((100, 100)), 1)
    small = {name: one for name, one in sets.items() if len(one[1]) <= 120}
    small |= {"waveform": waveforms(), "uniform similarities": (uniform + uniform.T, np.zeros(100, np.int64))}
    wanted = {name: complete(similarity) for name, (similarity, _) in small.items()}
    chunks = range(min(runs, CHUNKS))
    for missing, chunk, share in product(FILLINGS, chunks, SUBSETS):
        for name in small:
            work = partial(twenty_steps, small[name][0], wanted[name], share, chunk, missing)
            done.get(f"{KEYS[missing]}, {name}, {share}, {chunk}", work)
    rows = []
    for name in small:
        for share in SUBSETS:
            cells = [cell for missing in FILLINGS for cell in _cells(done, f"{KEYS[missing]}, {name}, {share}")]
            rows.append([name, f"{share:.0%}", *cells])
    head = ["before", "IU_RED", "S&T", "IU_RED - S&T", "restarts"]
    return table(["set", "subset", *(f"0: {one}" for one in head), *(f"guesses: {one}" for one in head)], rows)


def _cells(done: Runs, key: str) -> list[str]:
    falls = [one for chunk in done.of(key, CHUNKS) for one in chunk]
    if not falls:
        return ["–"] * 5
    found = np.column_stack([falls, np.array(falls) @ [0.0, 1.0, -1.0]])
    before, *means = found.mean(axis=0)
    errors = found[:, 1:].std(axis=0) / np.sqrt(len(found))
    return [f"{before:.3f}", *(f"{mean:+.4f} ± {e:.4f}" for mean, e in zip(means, errors, strict=True)), str(len(found))]


def twenty_steps(similarity: Floats, wanted: Labels, share: float, chunk: int, missing: Missing) -> list[list[float]]:
    tried = (one_step(similarity, wanted, share, 20 * chunk + restart, missing) for restart in range(20))
    return [one for one in tried if one is not None]


def one_step(similarity: Floats, wanted: Labels, share: float, seed: int, missing: Missing) -> list[float] | None:
    """The error, and how far one question of IU_RED and one of S&T lower it; None if the subset determines no grouping."""
    items = len(similarity)
    first, second = np.triu_indices(items, 1)
    drawn = np.random.default_rng(seed).permutation(len(first))[: round(share * len(first))]
    known = np.zeros((items, items), np.bool_)
    known[first[drawn], second[drawn]] = True
    graph = graph_of(similarity, known)
    found = spectrum(graph, 2) if graph.components()[0] == 1 else None
    if found is None or not found.is_determined:
        return None
    item = place(found.block, None).least_sure(set())
    changes = None if item is None else sensitivity(graph, found, item)
    if changes is None:
        return None
    errors = [_error(graph, wanted, missing)]
    for pair in (best_pair(graph, found.block, changes), best_of_matrix(graph, all_changes(graph))):
        assert pair is not None
        asked = known.copy()
        asked[pair] = True
        errors.append(_error(graph_of(similarity, asked), wanted, missing))
    return [errors[0], errors[0] - errors[1], errors[0] - errors[2]]


def _error(graph: RatedGraph, wanted: Labels, missing: Missing) -> float:
    found = spectrum(filled(graph, 2) if missing == "either" else graph, 2)
    assert found is not None
    return error(place(found.block, None).labels, wanted)

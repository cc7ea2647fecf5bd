"""One question after a random subset of the similarities, by IU_RED and by S&T: the paper's table 1.

The error before it and how far it falls, read with 0 for what is missing as in the paper, and with guesses as our result is.
"""

from functools import partial

import numpy as np

from benchmarks.spectral_sets import FILLINGS, Floats, Labels, Sets, complete, error, graph_of, waveforms
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.filled import filled
from cccount_dist.clustering.spectral.graph import RatedGraph
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.placing import place
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import spectrum

SUBSETS = (0.1, 0.2, 0.4)


def step(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Mean decrease of the error by one question, and its standard error; 10 restarts make a run."""
    uniform = np.triu(np.random.default_rng(9).random((100, 100)), 1)
    small = {name: one for name, one in sets.items() if len(one[1]) <= 120}
    small |= {"waveform": waveforms(), "uniform similarities": (uniform + uniform.T, np.zeros(100, np.int64))}
    wanted = {name: complete(similarity) for name, (similarity, _) in small.items()}
    for chunk in range(runs):
        for name, (similarity, _) in small.items():
            for share in SUBSETS:
                done.get(f"steps, {name}, {share}, {chunk}", partial(ten_steps, similarity, wanted[name], share, chunk))
    rows = []
    for name in small:
        for share in SUBSETS:
            falls = [one for chunk in done.of(f"steps, {name}, {share}", runs) for one in chunk]
            if falls:
                found = np.array(falls)  # (restarts, 6): before, IU_RED, S&T, with 0 and with guesses
                differences = found[:, [1, 4]] - found[:, [2, 5]]
                cells = [cell for at in (0, 1) for cell in _cells(found[:, 3 * at : 3 * at + 3], differences[:, at])]
                rows.append([name, f"{share:.0%}", *cells, str(len(found))])
    head = ["before", "IU_RED", "S&T", "IU_RED - S&T"]
    return table(["set", "subset", *head, *(f"guesses: {one}" for one in head), "restarts"], rows)


def _cells(found: Floats, differences: Floats) -> list[str]:
    before, *means = found.mean(axis=0)
    error_of_mean = differences.std() / np.sqrt(len(differences))
    return [f"{before:.3f}", *(f"{mean:+.4f}" for mean in means), f"{differences.mean():+.4f} ± {error_of_mean:.4f}"]


def ten_steps(similarity: Floats, wanted: Labels, share: float, chunk: int) -> list[list[float]]:
    tried = (one_step(similarity, wanted, share, 10 * chunk + restart) for restart in range(10))
    return [one for one in tried if one is not None]


def one_step(similarity: Floats, wanted: Labels, share: float, seed: int) -> list[float] | None:
    """Error, and how far one question of IU_RED and one of S&T lower it, by both readings; None if there is no grouping yet."""
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
    errors = [_errors(graph, wanted)]
    for pair in (best_pair(graph, found.block, changes), best_of_matrix(graph, all_changes(graph))):
        assert pair is not None
        asked = known.copy()
        asked[pair] = True
        errors.append(_errors(graph_of(similarity, asked), wanted))
    return [value for one in FILLINGS for value in (errors[0][one], *(errors[0][one] - after[one] for after in errors[1:]))]


def _errors(graph: RatedGraph, wanted: Labels) -> dict[Missing, float]:
    errors: dict[Missing, float] = {}
    for missing in FILLINGS:
        found = spectrum(filled(graph, 3) if missing == "either" else graph, 2)
        assert found is not None
        errors[missing] = error(place(found.block, None).labels, wanted)
    return errors

"""Guesses from places beside guesses of low rank alone, for similarities that fall off with the distance in several ways.

The sets are Gaussian kernels, which is what `shepard.py` fits: so the same distances are turned into other similarities, too.
A random fifth of them is rated, without noise, so that questions play no part.
"""

from functools import partial

import numpy as np

from benchmarks.spectral_sets import Floats, Labels, Sets, complete, error, graph_of
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.filled import filled_with, share_of_places
from cccount_dist.clustering.spectral.lowrank import low_rank
from cccount_dist.clustering.spectral.shepard import places
from cccount_dist.clustering.spectral.spectrum import spectrum

SHARE = 0.2
MOST_ITEMS = 120


def kinds_of(similarity: Floats) -> dict[str, Floats]:
    """The set's own similarities, exp(-d²), and others of the same distances."""
    squares = -np.log(np.maximum(similarity, 1e-300))
    far = np.sqrt(squares)
    pairs = np.triu_indices(len(far), 1)
    farther = np.zeros_like(far)
    farther[pairs] = 1.0 - np.argsort(np.argsort(far[pairs], kind="stable")) / len(pairs[0])
    return {
        "exp(-d²)": similarity,
        "exp(-d)": np.exp(-far),
        "0.3 + 0.7 exp(-d²)": 0.3 + 0.7 * similarity,
        "1 / (1 + d²)": 1.0 / (1.0 + squares),
        "1 - d / largest d": 1.0 - far / far.max(),
        "share of pairs farther apart": farther + farther.T,
        "exp(-9 d²)": similarity**9,
    }


def kinds(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Errors against all similarities and against the labels, and how far guesses are off: with low rank alone / with places."""
    small = {name: kinds_of(similarity) for name, (similarity, _) in sets.items() if len(similarity) <= MOST_ITEMS}
    for seed in range(runs):
        for name, some in small.items():
            for kind, similarity in some.items():
                done.get(f"kinds, {name}, {kind}, {seed}", partial(both, similarity, sets[name][1], seed))
    rows = []
    for name, some in small.items():
        for kind in some:
            found = np.array(list(done.of(f"kinds, {name}, {kind}", runs)))
            if len(found):
                means = found.mean(axis=0)
                cells = [f"{means[at]:.3f} / {means[at + 3]:.3f}" for at in range(3)]
                rows.append([name, kind, *cells, f"{means[-1]:.2f}", str(len(found))])
    head = ["error against all similarities", "against the labels", "guesses off by", "share of places", "runs"]
    return table(["set", "similarity", *head], rows)


def both(similarity: Floats, truth: Labels, seed: int) -> list[float]:
    """Errors against all similarities and the labels and the root of the guesses' mean squared error, without and with places."""
    items, wanted = len(similarity), complete(similarity)
    first, second = np.triu_indices(items, 1)
    drawn = np.random.default_rng(seed).permutation(len(first))
    rated, left = np.split(drawn, [round(SHARE * len(first))])
    known = np.zeros((items, items), np.bool_)
    known[first[rated], second[rated]] = True
    graph = graph_of(similarity, known)
    ratings = graph.rated()
    share = share_of_places(ratings, 2)
    pairs = first[left], second[left]
    flat, near = low_rank(ratings, 3).at(*pairs), places(ratings, 8).at(*pairs)
    measured = []
    for one in (0.0, share):
        found = spectrum(filled_with(graph, 2, one), 2)
        assert found is not None
        labels = place(found.block, None).labels
        off = float(np.sqrt(np.square((1.0 - one) * flat + one * near - similarity[pairs]).mean()))
        measured += [error(labels, wanted), error(labels, truth), off]
    return [*measured, share]

"""Unique entity estimation (Chen, Shrivastava and Steorts 2018): pairs that hashing puts together are asked about, and the number
of components that their "same" answers make is corrected for the pairs that hashing did not put together.

A pair of the same cluster is asked about with probability p. So a cluster of two breaks with probability 1 - p, one of three
stays whole with p²(3 - 2p), and larger ones hardly break. With n'_i components of i items seen the number of clusters is

    n'_1 + n'_2 (2p - 1)/p + n'_3 (1 - 6p(1 - p)²)/(p²(3 - 2p)) + n'_4 + n'_5 + …

The authors count records of a person, mostly one to three. Where clusters are large and many pairs are missed, parts of them
count as clusters, and nothing corrects for it. p is measured on a few random items, of which all pairs are asked about; without
any that are the same nothing is corrected.
Time O(n d) for a table; memory O(n) and the pairs that are asked about.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.baselines.asking import Asker
from cccount_dist.similarity.metrics import usable
from cccount_dist.similarity.threads import one_thread

_TABLES, _MOST_BITS = 16, 62
_FOR_RATE = 4  # one of so many questions measures p


def unique_entities(vectors: NDArray[np.float32], asker: Asker, seed: int = 0) -> float:
    """Return the number of clusters after the asker's budget was used, at most.

    Parameters
    ----------
    vectors : (n, d), prepared; a row with NaN is left out

    >>> x = np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2, 3]]
    >>> labels = [0, 0, 1, 1, 2, 3]
    >>> unique_entities(x, Asker(lambda u, v: labels[u] == labels[v], 15))
    4.0
    """
    items = np.flatnonzero(usable(vectors))
    every = len(items) * (len(items) - 1) // 2
    complete = every <= asker.left
    random = np.random.default_rng(seed)
    few = int((1.0 + np.sqrt(1.0 + 8.0 * (asker.left // _FOR_RATE))) / 2.0)  # so many have as many pairs
    sample = np.sort(random.permutation(items)[:few]).tolist()
    same = [(u, v) for place, u in enumerate(sample) for v in sample[place + 1 :] if asker(u, v)]
    pairs = _together(vectors, items, every if complete else asker.left, random)
    asked = {(u, v) for u, v in pairs.tolist()}
    rate = 1.0 if complete else (1.0 + sum(pair in asked for pair in same)) / (1.0 + len(same))
    parent = {int(item): int(item) for item in items}
    for u, v in pairs.tolist():
        if asker(u, v):
            parent[_root(parent, u)] = _root(parent, v)
    roots = np.array([_root(parent, int(item)) for item in items])
    sizes = np.unique(roots, return_counts=True)[1]
    return float(np.clip(corrected_components(np.bincount(sizes, minlength=4), rate), 1.0, max(len(items), 1)))


def corrected_components(components: NDArray[np.int64], rate: float) -> float:
    """Return the estimate from the number of components of 0, 1, 2, … items, with at least four entries.

    >>> corrected_components(np.array([0, 3, 2, 1, 1]), 1.0)
    7.0
    """
    one, two, three = (float(number) for number in components[1:4])
    lost = 1.0 - rate
    whole = rate**2 * (3.0 - 2.0 * rate)
    rest = float(components[4:].sum())
    return one + two * (2.0 * rate - 1.0) / rate + three * (1.0 - 6.0 * rate * lost**2) / whole + rest


def _together(vectors: NDArray[np.float32], items: NDArray[np.intp], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return pairs (m, 2), u < v, that fall on the same side of random planes through the middle, in some table; `most` at most.

    As few planes as that allows.
    """
    if len(items) * (len(items) - 1) // 2 <= most:
        return np.stack([items[side] for side in np.triu_indices(len(items), 1)], axis=1).astype(np.int64)
    planes = random.standard_normal((_TABLES, vectors.shape[1], _MOST_BITS))
    middle = vectors[items].mean(axis=0, dtype=np.float64)
    codes = np.zeros((_TABLES, len(items)), np.int64)
    for bit in range(_MOST_BITS):
        for table in range(_TABLES):
            with one_thread():
                codes[table] = 2 * codes[table] + ((vectors[items] - middle) @ planes[table, :, bit] > 0.0)
        counts = np.concatenate([np.unique(code, return_counts=True)[1] for code in codes])
        if int((counts * (counts - 1) // 2).sum()) <= most:
            break
    found = {pair for code in codes for pair in _equal(code, most)}
    pairs = items[np.array(sorted(found), np.int64).reshape(-1, 2)].astype(np.int64)
    return pairs[np.sort(random.permutation(len(pairs))[:most])]


def _equal(code: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Return the places that have the same code, by pairs; no more than `most`, if even the last plane leaves so many."""
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    found: list[tuple[int, int]] = []
    for group in np.split(order, starts[1:]):
        for place, u in enumerate(group.tolist()):
            found += [(u, v) for v in group[place + 1 :].tolist()]
            if len(found) >= most:
                return found[:most]
    return found


def _root(parent: dict[int, int], item: int) -> int:
    while parent[item] != item:
        parent[item] = item = parent[parent[item]]
    return item

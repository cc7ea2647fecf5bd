"""Labels that keep to what people said: items that are the same have one label, items that differ have not."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.values import SAME

Ints = NDArray[np.int64]


def respecting(labels: Ints, links: Sequence[tuple[int, int, float]], *, corrected: bool = False) -> Ints:
    """Return the labels with every link respected: sets of same items go where most of them are, the smaller of two sets that
    differ and share a label leaves. Nobody else moves. O(n + answers).

    After a correction by hand (`corrected`) the set leaves that differs from more sets there, so that few move; of equals the
    smaller one. Campaigns without one keep the rule that they always had.

    Parameters
    ----------
    links : (u, v, 1 or 0); none contradicts the others

    >>> respecting(np.array([0, 0, 0, 1]), [(0, 1, 0.0), (2, 3, 1.0), (0, 2, 1.0)]).tolist()
    [0, 1, 0, 0]
    >>> respecting(np.array([0, 0, 0, 0]), [(0, 1, 1.0), (0, 2, 0.0), (0, 3, 0.0)], corrected=True).tolist()
    [1, 1, 0, 0]
    """
    labels = labels.copy()
    root: dict[int, int] = {}

    def find(item: int) -> int:
        while root.setdefault(item, item) != item:
            root[item] = root[root[item]]
            item = root[item]
        return item

    for u, v, value in links:
        if value == SAME:
            root[find(u)] = find(v)
    sets: dict[int, list[int]] = {}
    for item in sorted({item for u, v, _ in links for item in (u, v)}):
        sets.setdefault(find(item), []).append(item)
    for together in sets.values():
        counts = Counter(labels[together].tolist())
        labels[together] = min(counts, key=lambda label: (-counts[label], label))
    fresh = int(labels.max(initial=-1)) + 1
    crowded = Counter[int]()
    if corrected:
        apart = {tuple(sorted((find(u), find(v)))) for u, v, value in links if value != SAME and labels[u] == labels[v]}
        crowded.update(one for pair in apart for one in pair)
    for u, v, value in links:
        if value != SAME and labels[u] == labels[v]:
            leaves = min((find(u), find(v)), key=lambda one: (-crowded[one], len(sets[one]), -sets[one][0]))
            labels[sets[leaves]] = fresh
            fresh += 1
    return labels


__all__ = ["respecting"]

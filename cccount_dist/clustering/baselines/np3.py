"""NP3 and AAS (Sani, Khurana and Anand 2026): ask where two ways to cluster disagree, and repair the clusters by the answers.

DBSCAN and the first level of FINCH (components of the graph of first neighbours) are set beside each other. Clusters that are not
the same in both make regions of doubt. Asked about are pairs of close regions, by their medoids (too many clusters), and the
closest pairs that one way puts together and the other one apart (too few), each drawn by its similarity: ambiguity-aware
sampling. Answers "same" join clusters; a cluster with a "different" in it is split by colouring the graph of what must not be
together, and what nobody was asked about joins the nearest part: NP3. Needs no K. O(n²) similarities.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.baselines.asking import Asker, BudgetUsed, Labels, Vectors
from cccount_dist.similarity.threads import one_thread

_MEDOIDS, _LEAST = 5, 0.3  # regions that one is compared with, and how alike they must be
_BETWEEN = 0.6  # share of the questions that is about two regions
_NEAR = 5  # parts of a cluster that one part is compared with
_ROUNDS = 10
Pairs = dict[tuple[int, int], float]


def np3(vectors: Vectors, clusters: int, asker: Asker, seed: int) -> Labels:  # noqa: ARG001  the method finds K by itself
    """Return the clusters when the budget is used, or no doubt is left."""
    random = np.random.default_rng(seed)
    with one_thread():
        similarity = np.asarray(vectors, np.float64) @ np.asarray(vectors, np.float64).T
    np.fill_diagonal(similarity, -np.inf)
    nearest = similarity.max(axis=1)
    first = _components(np.column_stack([np.arange(len(vectors)), similarity.argmax(axis=1)]), len(vectors))
    found = _dense(similarity, float(np.median(nearest)))
    batch = max(1, asker.left // _ROUNDS)
    try:
        while pool := _doubts(found, first, similarity, asker):
            pairs, weights = list(pool), np.array(list(pool.values()))
            chosen = random.choice(len(pairs), min(batch, len(pairs)), replace=False, p=weights / weights.sum())
            for number in chosen.tolist():
                asker(*pairs[number])
            found = _repaired(found, similarity, asker)
    except BudgetUsed:
        pass
    return _repaired(found, similarity, asker)


def _dense(similarity: NDArray[np.float64], radius: float) -> Labels:
    """DBSCAN with two neighbours at least: then every item with one within the radius is a core, and the others are alone."""
    return _components(np.argwhere(similarity >= radius), len(similarity))


def _components(pairs: NDArray[np.integer], items: int) -> Labels:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(items, items))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def _doubts(a: Labels, b: Labels, similarity: NDArray[np.float64], asker: Asker) -> Pairs:
    """The pairs worth asking about, that nothing is known of, with the weights that they are drawn by."""
    both = np.unique(np.column_stack([a, b]), axis=0)
    agreed = (np.bincount(both[:, 0])[a] == 1) & (np.bincount(both[:, 1], minlength=b.max() + 1)[b] == 1)
    doubtful = np.flatnonzero(~agreed)
    if not len(doubtful):
        return {}
    regions = _components(np.concatenate([_chain(a), _chain(b)]), len(a))
    medoids = [_medoid(np.flatnonzero(regions == region), similarity) for region in np.unique(regions[doubtful]).tolist()]
    apart: Pairs = {}
    for place, item in enumerate(medoids):
        others = [other for other in medoids if other != item]
        for other in sorted(others, key=lambda other: -similarity[item, other])[:_MEDOIDS]:
            if similarity[item, other] >= _LEAST and medoids.index(other) > place:
                apart[item, other] = float(similarity[item, other])
    inside: Pairs = {}
    for mine, others_way in ((a, b), (b, a)):
        for cluster in np.unique(mine[doubtful]).tolist():
            inside |= _between(np.flatnonzero(mine == cluster), others_way, similarity)
    found: Pairs = {}
    for pairs, share in ((apart, _BETWEEN), (inside, 1.0 - _BETWEEN)):
        fresh = {pair: max(weight, 1e-3) for pair, weight in pairs.items() if asker.known.known(*pair) is None}
        total = sum(fresh.values())
        found |= {pair: share * weight / total for pair, weight in fresh.items()}
    return found


def _chain(labels: Labels) -> NDArray[np.int64]:
    """Pairs that connect the items of each cluster."""
    order = np.argsort(labels, kind="stable")
    same = np.flatnonzero(labels[order][1:] == labels[order][:-1])
    return np.column_stack([order[same], order[same + 1]])


def _medoid(items: Labels, similarity: NDArray[np.float64]) -> int:
    own = np.where(np.isfinite(similarity[np.ix_(items, items)]), similarity[np.ix_(items, items)], 0.0)
    return int(items[own.sum(axis=1).argmax()])


def _between(items: Labels, other: Labels, similarity: NDArray[np.float64]) -> Pairs:
    """The closest pair of every two parts of a cluster that the other way puts apart; of each part with the nearest ones."""
    parts = [items[other[items] == part] for part in np.unique(other[items]).tolist()]
    closest = np.array([[similarity[np.ix_(p, q)].max() if p is not q else -np.inf for q in parts] for p in parts])
    found: Pairs = {}
    for place, part in enumerate(parts):
        for number in np.argsort(-closest[place], kind="stable")[: min(_NEAR, len(parts) - 1)].tolist():
            u, v = np.unravel_index(int(similarity[np.ix_(part, parts[number])].argmax()), (len(part), len(parts[number])))
            pair = int(part[u]), int(parts[number][v])
            found[min(pair), max(pair)] = float(closest[place, number])
    return found


def _repaired(labels: Labels, similarity: NDArray[np.float64], asker: Asker) -> Labels:
    """NP3: join what is the same, then split every cluster that has a "different" in it."""
    must, cannot = asker.links()
    items = len(labels)
    groups = _components(must, items)  # which nothing may separate
    joined = _components(np.concatenate([_chain(labels), must]), items)
    impure = np.unique(joined[cannot[:, 0]][joined[cannot[:, 0]] == joined[cannot[:, 1]]])
    found, number = joined.copy(), int(joined.max()) + 1
    for cluster in impure.tolist():
        inside = np.flatnonzero(joined == cluster)
        conflicts = {(int(groups[u]), int(groups[v])) for u, v in cannot.tolist() if joined[u] == joined[v] == cluster}
        colours = _colours(conflicts)
        colour = np.array([colours.get(int(group), -1) for group in groups[inside]])
        colour = _joining(inside, colour, groups, similarity)
        found[inside] = number + colour
        number += int(colour.max()) + 1
    return np.asarray(np.unique(found, return_inverse=True)[1].reshape(-1), np.int64)


def _colours(conflicts: set[tuple[int, int]]) -> dict[int, int]:
    """Colour groups so that those in conflict differ, the one with most conflicts first."""
    beside: dict[int, set[int]] = {}
    for u, v in conflicts:
        beside.setdefault(u, set()).add(v)
        beside.setdefault(v, set()).add(u)
    colours: dict[int, int] = {}
    for group in sorted(beside, key=lambda one: (-len(beside[one]), one)):
        taken = {colours[other] for other in beside[group] if other in colours}
        colours[group] = next(colour for colour in range(len(beside)) if colour not in taken)
    return colours


def _joining(inside: Labels, colour: Labels, groups: Labels, similarity: NDArray[np.float64]) -> Labels:
    """Give groups without a colour that of the items with one that they are most alike, on average."""
    coloured = [np.flatnonzero(colour == one) for one in range(int(colour.max()) + 1)]
    found = colour.copy()
    for group in np.unique(groups[inside[colour < 0]]).tolist():
        own = np.flatnonzero(groups[inside] == group)
        found[own] = int(np.argmax([similarity[np.ix_(inside[own], inside[part])].mean() for part in coloured]))
    return found

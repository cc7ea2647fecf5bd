"""The slow, obvious way: costs of subclusters from their definition, every swap tried, PAM as it was first published."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.subclustering.candidates import Candidates

Cost = tuple[int, float]


def set_distance(candidates: Candidates, known: Constraints, first: int, second: int) -> float:
    """The least distance of candidates that are known to be the same as one or the other."""
    of = [[r for r, item in enumerate(candidates.items.tolist()) if known.known(int(candidates.items[c]), item) == 1.0]
          for c in (first, second)]  # fmt: skip
    rows = candidates.rows.numbers.astype(np.float64)
    squared = [((rows[a] - rows[b]) ** 2).sum() for a in of[0] for b in of[1]]
    return float(candidates.real(np.array(min(squared))))


def nearest_cost(candidates: Candidates, known: Constraints, c: int, vectors: NDArray[np.float64]) -> float:
    """Distances to the nearest images: known-same ones are free and take places first, known-different ones leave."""
    centroid = int(candidates.items[c])
    relation = [known.known(centroid, item) for item in range(len(vectors))]
    same = sum(value == 1.0 for value in relation) - 1
    others = sorted(
        float(np.sqrt(((vectors[centroid] - vectors[item]) ** 2).sum()))
        for item, value in enumerate(relation)
        if value is None and item != centroid
    )
    return sum(others[: max(candidates.size - 1 - same, 0)])


def cost_of(candidates: Candidates, known: Constraints, chosen: list[int], scale: float, vectors: NDArray[np.float64]) -> Cost:
    finite, infinite = sum(nearest_cost(candidates, known, c, vectors) for c in chosen) / scale, 0
    for a in range(len(chosen)):
        for b in range(a):
            relation = known.known(int(candidates.items[chosen[a]]), int(candidates.items[chosen[b]]))
            distance = set_distance(candidates, known, chosen[a], chosen[b])
            if relation == 1.0 or (relation is None and distance == 0.0):
                infinite += 1
            elif relation is None:
                finite += -np.log(1.0 - np.exp(-distance / scale))
    return infinite, float(finite)


def overlaps_of(candidates: Candidates, c: int, others: list[int]) -> int:
    def nearest(r: int) -> set[int]:
        return {int(candidates.items[r]), *candidates.index[r, : candidates.size - 1].tolist()}

    return sum(bool(nearest(c) & nearest(other)) for other in others)


def best_change(
    candidates: Candidates, known: Constraints, chosen: list[int], scale: float, vectors: NDArray[np.float64]
) -> Cost | None:
    """What the best allowed swap changes, over all of them; None if none lowers the cost."""
    before = cost_of(candidates, known, chosen, scale, vectors)
    best: Cost | None = None
    for k, c in enumerate(chosen):
        rest = chosen[:k] + chosen[k + 1 :]
        allowed = overlaps_of(candidates, c, rest)
        for r in range(len(candidates)):
            if r in chosen or overlaps_of(candidates, r, rest) > allowed:
                continue
            after = cost_of(candidates, known, [*rest, r], scale, vectors)
            change = after[0] - before[0], after[1] - before[1]
            if change < (0, -1e-9) and (best is None or change < best):
                best = change
    return best


def pam(distances: NDArray[np.floating], first: list[int]) -> tuple[list[int], list[float]]:
    """PAM's swap phase by trying everything; the medoids and the loss after each swap."""
    chosen, losses = list(first), [float(distances[first].min(axis=0).sum())]
    while True:
        best, swap = losses[-1] * (1 - 1e-9), None
        for r in range(len(distances)):
            for k in range(len(chosen)):
                loss = float(distances[[*chosen[:k], r, *chosen[k + 1 :]]].min(axis=0).sum())
                if loss < best:
                    best, swap = loss, (k, r)
        if swap is None:
            return chosen, losses
        chosen[swap[0]] = swap[1]
        losses.append(best)

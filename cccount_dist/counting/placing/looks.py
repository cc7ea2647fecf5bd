"""How alike a drawn item and the known clusters look: the features that decide in which order clusters are asked about.

Similarity is corrected for how central both items are: for their mean similarity to 64 random items. Only items that were
drawn are looked at: O(t d) memory for t of them; features against D clusters take O(16 D d) time. Sums have a fixed order, so
the same collection always gets the same questions.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.clusters import Clusters
from cccount_dist.similarity.rows import LANES, sum_lanes

FEATURES = 4  # 1, largest and mean similarity to the members, log of the size
PILOT = 64  # first items of the random order: they say what is central, and give similarities their scale


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _similarities(
    row: NDArray[np.float32], others: NDArray[np.float32], places: NDArray[np.int32], mean_square: float, out: NDArray[np.float64]
) -> None:
    """Similarities of a row to the rows at some places; Euclidean ones if `mean_square` is not negative."""
    lanes = np.empty(LANES, np.float32)
    for number in range(len(places)):
        sum_lanes(row, others[places[number]], mean_square >= 0.0, lanes)
        total = 0.0
        for lane in range(LANES):
            total += lanes[lane]
        if mean_square >= 0.0:
            total = 1.0 - (total / mean_square if mean_square > 0.0 else total)
        out[number] = total


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _features(
    rows: NDArray[np.float32],  # (t, d)
    centrality: NDArray[np.float64],  # (t,)
    scale: float,
    mean_square: float,
    slot: int,
    members: NDArray[np.int32],
    held: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out: NDArray[np.float64],
    best: NDArray[np.int64],
) -> None:
    similarity = np.empty(members.shape[1])
    for cluster in range(len(held)):
        count = held[cluster]
        _similarities(rows[slot], rows, members[cluster, :count], mean_square, similarity)
        largest, total = -np.inf, 0.0
        for place in range(count):
            value = (similarity[place] - 0.5 * (centrality[slot] + centrality[members[cluster, place]])) / scale
            total += value
            if value > largest:
                largest = value
                best[cluster] = place
        out[cluster, 0] = 1.0
        out[cluster, 1] = largest
        out[cluster, 2] = total / count
        out[cluster, 3] = np.log(sizes[cluster])


class Looks:
    """The rows of the items drawn so far, by slot: 0 for the first item that was looked at, and so on."""

    def __init__(self, vectors: NDArray[np.float32], order: NDArray[np.int64], mean_square: float | None = None) -> None:
        self._vectors = vectors
        self._mean_square = -1.0 if mean_square is None else mean_square
        self._slots: dict[int, int] = {}
        self.items: list[int] = []
        self._rows = np.zeros((0, vectors.shape[1]), np.float32)
        self._centrality = np.zeros(0)
        pilot = order[:PILOT].tolist()
        self._pilot = np.ascontiguousarray(vectors[order[:PILOT]])
        similarity = np.stack([self._with_pilot(self._pilot[place]) for place in range(len(pilot))])
        centrality = similarity.mean(axis=1)
        corrected = similarity - 0.5 * (centrality[:, None] + centrality[None, :])
        spread = float(corrected[np.triu_indices(len(pilot), 1)].std())
        self._scale = spread if spread > 0.0 else 1.0

    def slot(self, item: int) -> int:
        """Return the slot of an item, looking at it if that is new."""
        slot = self._slots.get(item)
        if slot is None:
            slot = self._slots[item] = len(self.items)
            self.items.append(item)
            if slot == len(self._rows):
                more = max(PILOT, slot)
                self._rows = np.concatenate([self._rows, np.zeros((more, self._rows.shape[1]), np.float32)])
                self._centrality = np.concatenate([self._centrality, np.zeros(more)])
            self._rows[slot] = self._vectors[item]
            self._centrality[slot] = self._with_pilot(self._rows[slot]).mean()
        return slot

    def against(self, slot: int, clusters: Clusters, first: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return features (D - first, 4) against the clusters first … D - 1, and the place of each one's most similar member."""
        count = len(clusters)
        out, best = np.empty((count - first, FEATURES)), np.zeros(count - first, np.int64)
        members, held, sizes = clusters.members[first:count], clusters.held[first:count], clusters.size[first:count]
        _features(self._rows, self._centrality, self._scale, self._mean_square, slot, members, held, sizes, out, best)
        return out, best

    def _with_pilot(self, row: NDArray[np.float32]) -> NDArray[np.float64]:
        out = np.empty(len(self._pilot))
        _similarities(row, self._pilot, np.arange(len(self._pilot), dtype=np.int32), self._mean_square, out)
        return out

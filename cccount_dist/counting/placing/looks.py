"""How alike a drawn item and the known clusters look: the features that decide in which order clusters are asked about.

Similarity is corrected for how central both items are: for their mean similarity to 64 random items. It is taken in the given
space and, where there are neighbour lists, in a second one that knows more (`similarity/sharp.py`). Only items that were drawn
are looked at: O(t d) memory for t of them; features against D clusters take O(32 D d) time. Sums have a fixed order, so the same
collection always gets the same questions.
"""

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.foundclusters import Clusters
from cccount_dist.similarity.localscores import LocalScores
from cccount_dist.similarity.rows import LANES, sum_lanes
from cccount_dist.similarity.sharp import SharpRows

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
def _largest_and_mean(
    rows: NDArray[np.float32],  # (t, d)
    centrality: NDArray[np.float64],  # (t,)
    scale: float,
    mean_square: float,
    slot: int,
    members: NDArray[np.int32],
    held: NDArray[np.int64],
    out: NDArray[np.float64],  # (D, 2)
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
        out[cluster, 0] = largest
        out[cluster, 1] = total / count


class GivenRows:
    """Rows of the given space."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._vectors = vectors

    def row(self, item: int) -> NDArray[np.float32]:
        return np.asarray(self._vectors[item])


class _View:
    """The rows of the items drawn so far in one space."""

    def __init__(self, row: Callable[[int], NDArray[np.float32]], pilot: list[int], mean_square: float) -> None:
        self._row, self._mean_square = row, mean_square
        self._pilot = np.stack([row(item) for item in pilot])
        self._rows = np.zeros((0, self._pilot.shape[1]), np.float32)
        self._centrality = np.zeros(0)
        similarity = np.stack([self._with_pilot(one) for one in self._pilot])
        centrality = similarity.mean(axis=1)
        corrected = similarity - 0.5 * (centrality[:, None] + centrality[None, :])
        spread = float(corrected[np.triu_indices(len(pilot), 1)].std())
        self._scale = spread if spread > 0.0 else 1.0

    def add(self, slot: int, item: int) -> None:
        if slot == len(self._rows):
            more = max(PILOT, slot)
            self._rows = np.concatenate([self._rows, np.zeros((more, self._rows.shape[1]), np.float32)])
            self._centrality = np.concatenate([self._centrality, np.zeros(more)])
        self._rows[slot] = self._row(item)
        self._centrality[slot] = self._with_pilot(self._rows[slot]).mean()

    def against(self, slot: int, clusters: Clusters, first: int, out: NDArray[np.float64]) -> NDArray[np.int64]:
        """Write the largest and the mean similarity to each cluster; return the place of its most similar member."""
        return self.among(slot, clusters.members[first : len(clusters)], clusters.held[first : len(clusters)], out)

    def among(
        self, slot: int, members: NDArray[np.int32], held: NDArray[np.int64], out: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        best = np.zeros(len(out), np.int64)
        _largest_and_mean(self._rows, self._centrality, self._scale, self._mean_square, slot, members, held, out, best)
        return best

    def _with_pilot(self, row: NDArray[np.float32]) -> NDArray[np.float64]:
        out = np.empty(len(self._pilot))
        _similarities(row, self._pilot, np.arange(len(self._pilot), dtype=np.int32), self._mean_square, out)
        return out


class Looks:
    """What the items drawn so far look like, by slot: 0 for the first item that was looked at, and so on.

    Features are 1, the log of the size, and in each space the largest and the mean similarity to the members; then, where
    pictures were compared, the largest score of local matches with a member.
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        order: NDArray[np.int64],
        mean_square: float | None = None,
        sharp: SharpRows | None = None,
        local: LocalScores | None = None,
    ) -> None:
        pilot = order[:PILOT].tolist()
        self._views = [_View(GivenRows(vectors).row, pilot, -1.0 if mean_square is None else mean_square)]
        if sharp is not None:
            self._views.append(_View(sharp.row, pilot, -1.0))
        self._local = local
        self.features = 2 + 2 * len(self._views) + self.further
        self._slots: dict[int, int] = {}
        self.items: list[int] = []

    @property
    def further(self) -> int:
        """How many features stand behind the similarities, whose worth only answers can tell."""
        return 0 if self._local is None else 1

    def slot(self, item: int) -> int:
        """Return the slot of an item, looking at it if that is new."""
        slot = self._slots.get(item)
        if slot is None:
            slot = self._slots[item] = len(self.items)
            self.items.append(item)
            for view in self._views:
                view.add(slot, item)
        return slot

    def known_slot(self, item: int) -> int | None:
        """The slot of an item that was looked at; None of another one, which gets none by being asked for."""
        return self._slots.get(item)

    def against(self, slot: int, clusters: Clusters, first: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return features against the clusters first … D - 1, and the place of each one's most similar member."""
        out = np.ones((len(clusters) - first, self.features))
        out[:, 1] = np.log(clusters.size[first : len(clusters)])
        best = np.zeros(len(out), np.int64)
        for number, view in enumerate(self._views):
            best = view.against(slot, clusters, first, out[:, 2 + 2 * number : 4 + 2 * number])
        if self._local is not None:
            out[:, -1] = self._matching(self._local, slot, clusters, first)
        return out, best

    def beside(self, slot: int, others: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return features against clusters of one item each."""
        out = np.ones((len(others), self.features))
        out[:, 1] = 0.0
        for number, view in enumerate(self._views):
            view.among(slot, others[:, None], np.ones(len(others), np.int64), out[:, 2 + 2 * number : 4 + 2 * number])
        if self._local is not None:
            out[:, -1] = self._by_slot(self._local, slot)[others]
        return out

    def _matching(self, local: LocalScores, slot: int, clusters: Clusters, first: int) -> NDArray[np.float64]:
        """Return the largest local score of an item with the members that are held of each cluster."""
        by_slot = self._by_slot(local, slot)
        members, held = clusters.members[first : len(clusters)], clusters.held[first : len(clusters)]
        there = np.arange(members.shape[1]) < held[:, None]
        return np.asarray(np.where(there, by_slot[np.where(there, members, -1)], 0.0).max(axis=1, initial=0.0))

    def _by_slot(self, local: LocalScores, slot: int) -> NDArray[np.float64]:
        """Return the local scores of an item with all that were drawn, and a 0 behind them."""
        scores = np.zeros(len(self.items) + 1)
        for other, score in zip(*(column.tolist() for column in local.of(self.items[slot])), strict=True):
            scores[self._slots.get(other, -1)] = score
        scores[-1] = 0.0  # of items that were not drawn
        return scores

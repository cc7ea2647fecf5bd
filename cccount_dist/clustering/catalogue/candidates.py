"""The candidate clusters of an item, and how likely each of them is, or a new one: compiled, for each item by itself.

Candidates are the clusters of its 48 nearest items (the first 24) and the 8 clusters whose means are nearest: never all K.
Each is scored by the distance to its mean, by that of its nearest member, by its size and by the votes; where pictures were
compared, also by the best local match with one of its listed members. Because an item's row
depends on nothing but its own candidates, rows that nothing touched need not be made again. Memory O(32 n); time O(32 p) an item.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.clusters import Clusters, Ints
from cccount_dist.clustering.catalogue.space import Space
from cccount_dist.clustering.catalogue.votes import Votes
from cccount_dist.clustering.distance import squared_apart
from cccount_dist.clustering.evidence.kernels import OPTIONS

LISTED, MEANS = 24, 8  # candidates out of the neighbours, and nearest means
WIDTH = LISTED + MEANS
FEATURES = 3  # distance to the mean, to the nearest member, log size; a fourth one where there are local matches

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scoring:
    """The weights of the features, of a new cluster (level and distance), and what a mark and a cell without one are worth."""

    weight: Floats  # (5,), or (6,) with that of local matches
    level: float  # added to "new"
    mark: float
    no_mark: float


@dataclass
class Rows:
    """For each of some items: its candidates, their probability, that of a new cluster, and the log of the normaliser."""

    cluster: NDArray[np.int32]  # (m, 32), -1 where there are fewer
    chance: NDArray[np.float32]  # (m, 32)
    new: NDArray[np.float32]  # (m,)
    norm: NDArray[np.float32]  # (m,)

    @classmethod
    def empty(cls, count: int) -> "Rows":
        return cls(
            np.full((count, WIDTH), -1, np.int32), np.zeros((count, WIDTH), np.float32),
            np.zeros(count, np.float32), np.zeros(count, np.float32),
        )  # fmt: skip

    def copy(self) -> "Rows":
        return Rows(self.cluster.copy(), self.chance.copy(), self.new.copy(), self.norm.copy())

    def put(self, items: Ints, found: "Rows") -> None:
        """Put rows of some items in their places, where there is one for each item of the collection."""
        self.cluster[items], self.chance[items] = found.cluster, found.chance
        self.new[items], self.norm[items] = found.new, found.norm

    def of(self, row: int) -> dict[int, float]:
        """Return the candidates of one row with their probability."""
        found = self.cluster[row] >= 0
        return dict(zip(self.cluster[row][found].tolist(), self.chance[row][found].tolist(), strict=True))


def nearest_means(space: Space, clusters: Clusters) -> NDArray[np.int32]:
    """Return for each item (n, 8) the clusters whose means are nearest, in no order; -1 where there are fewer."""
    found = np.full((len(space.rows), MEANS), -1, np.int32)
    live = clusters.live
    if len(live):
        count = min(MEANS, len(live))
        centre = clusters.centre[live]
        square = np.square(centre).sum(axis=1)
        for start in range(0, len(found), 8192):
            away = square[None, :] - 2.0 * (space.rows[start : start + 8192] @ centre.T)
            found[start : start + 8192, :count] = live[np.argpartition(away, count - 1, axis=1)[:, :count]]
    return found


def score(
    items: Ints, space: Space, means: NDArray[np.int32], clusters: Clusters, votes: Votes, by: Scoring, *, leave: bool = False
) -> Rows:
    """Return the rows of some items. A placed item is judged without itself; with `leave`, without its cluster."""
    found = Rows.empty(len(items))
    _score(
        items, leave, space.rows, space.lists, space.apart, space.local, means, clusters.label, clusters.centre, clusters.size,
        clusters.alias, votes.head, votes.following, votes.cluster, votes.said, by.weight, by.level, by.mark, by.no_mark,
        found.cluster, found.chance, found.new, found.norm,
    )  # fmt: skip
    return found


def touched(rows: Rows, space: Space, means: NDArray[np.int32], clusters: Clusters) -> Ints:
    """Return the items whose row may have changed since the clusters were settled."""
    alike = np.zeros(max(len(clusters.size), 1), np.bool_)
    alike[list(clusters.changed)] = True
    moved = np.zeros(len(space.rows), np.bool_)
    moved[list(clusters.moved)] = True
    return np.asarray(_touched(rows.cluster, space.lists, means, alike, moved), np.int64)


def features(
    items: Ints, space: Space, means: NDArray[np.int32], clusters: Clusters, *, leave: bool
) -> tuple[NDArray[np.int32], Floats, Floats]:
    """Return candidates (m, 32), their features (m, 32, 3 or 4), and the distance to the nearest item (m,)."""
    cluster = np.full((len(items), WIDTH), -1, np.int32)
    found = np.zeros((len(items), WIDTH, FEATURES + (space.local.shape[1] > 0)))
    nearest = np.zeros(len(items))
    _all_features(
        items, leave, space.rows, space.lists, space.apart, space.local, means, clusters.label, clusters.centre, clusters.size,
        clusters.alias, cluster, found, nearest,
    )  # fmt: skip
    return cluster, found, nearest


@njit(**OPTIONS)
def _features(i, leave, rows, lists, apart, local, means, label, centre, size, alias, cluster, found):
    """Fill in candidates and features of item i; return how many there are."""
    own, count, k = label[i], 0, lists.shape[1]
    compared = local.shape[1] > 0
    nearest = apart[i, 0]
    for t in range(k):
        if lists[i, t] < 0 or count == LISTED:
            break
        c = label[lists[i, t]]
        if c < 0 or (leave and c == own):
            continue
        known = False
        for s in range(count):
            if cluster[s] == c:
                known = True
                if compared:
                    found[s, 3] = max(found[s, 3], local[i, t])
        if not known:
            cluster[count] = c
            found[count, 1] = apart[i, t] - nearest
            if compared:
                found[count, 3] = local[i, t]
            count += 1
    for t in range(means.shape[1]):
        if means[i, t] < 0:
            break
        c = alias[means[i, t]]
        if size[c] == 0 or (c == own and (leave or size[c] < 2)):
            continue
        known = False
        for s in range(count):
            known = known or cluster[s] == c
        if not known:
            cluster[count] = c
            found[count, 1] = apart[i, k - 1] - nearest
            if compared:
                found[count, 3] = 0.0
            count += 1
    for s in range(count):
        c = cluster[s]
        members = np.float64(size[c])
        away = squared_apart(rows[i], centre[c])
        if c == own:  # the mean of the others
            away *= (members / (members - 1.0)) ** 2
            members -= 1.0
        found[s, 0] = away / (1.0 + 1.0 / members)
        found[s, 2] = math.log(members)
    for s in range(count, len(cluster)):
        cluster[s] = -1
    return count


@njit(**OPTIONS)
def _all_features(items, leave, rows, lists, apart, local, means, label, centre, size, alias, cluster, found, nearest):
    for a in range(len(items)):
        _features(items[a], leave, rows, lists, apart, local, means, label, centre, size, alias, cluster[a], found[a])
        nearest[a] = apart[items[a], 0]


@njit(**OPTIONS)
def _score(
    items, leave, rows, lists, apart, local, means, label, centre, size, alias, head, following, voted, said, weight, level,
    mark, no_mark, cluster, chance, new, norm,
):  # fmt: skip
    found = np.zeros((cluster.shape[1], 4))
    total = np.zeros(cluster.shape[1])
    for a in range(len(items)):
        i = items[a]
        count = _features(i, leave, rows, lists, apart, local, means, label, centre, size, alias, cluster[a], found)
        fresh = weight[3] - weight[4] * apart[i, 0] + level
        top = fresh
        for s in range(count):
            total[s] = weight[2] * found[s, 2] - weight[0] * found[s, 0] - weight[1] * found[s, 1]
            if len(weight) > 5:
                total[s] += weight[5] * found[s, 3]
            place = head[i]
            while place >= 0:
                if alias[voted[place]] == cluster[a, s]:
                    total[s] += said[place, 0] * mark + said[place, 1] * no_mark
                place = following[place]
            top = max(top, total[s])
        whole = math.exp(fresh - top)
        for s in range(count):
            total[s] = math.exp(total[s] - top)
            whole += total[s]
        for s in range(count):
            chance[a, s] = total[s] / whole
        new[a] = math.exp(fresh - top) / whole
        norm[a] = top + math.log(whole)


@njit(**OPTIONS)
def _touched(cluster, lists, means, alike, moved):
    out = np.empty(len(lists), np.int64)
    count = 0
    for i in range(len(lists)):
        hit = moved[i]
        for s in range(cluster.shape[1]):
            if hit or cluster[i, s] < 0:
                break
            hit = alike[cluster[i, s]]
        for t in range(lists.shape[1]):
            if hit or lists[i, t] < 0:
                break
            hit = moved[lists[i, t]]
        for t in range(means.shape[1]):
            if hit or means[i, t] < 0:
                break
            hit = alike[means[i, t]]
        if hit:
            out[count] = i
            count += 1
    return out[:count]

"""What a sample that is being grouped says of the classes in it: how many items of each, and what may be wrong with that.

Only the first items of the sample count, up to the last size at which nearly all are placed: they are a random sample as ever,
while those that were added last are still on their way. Two things may be wrong, and are expected numbers here:

- groups that are parts of others, because a mark was missed, or they were never shown beside each other. Small groups are looked
  at beside all others near them, again and again; how often the last looks of that kind found such a part is how likely the next
  one would. Of larger groups the engine's opinion counts, moved by what random pages said of such opinions;
- classes that are hidden, because their only item in the sample is in a wrong group: as likely as random pages found any placed
  item in a wrong one.

Time O(32 t + 160 p D) for t items in D groups.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.labels import main_chance
from cccount_dist.clustering.catalogue.pairs import cluster_pairs
from cccount_dist.clustering.catalogue.quality import SHIFTS, shift_posterior, shifted
from cccount_dist.clustering.catalogue.state import Look, State

LEFT = 0.03  # share of the items that may be without a cluster in a sample that counts
MOST_LEFT = 0.15  # … and in one that was settled before
RECENT = 40  # looks, and random pages, that count
FIRST_LOOK, NEXT_LOOK = 0.1, 0.25  # how likely a first look finds a part, and a further one, for each that the last one found …
WEIGHT = 4.0  # … worth so many looks
SMALL, SHARE = 3, 0.3  # members of a small group, and what is small, as a share of the median
_LITTLE = 1e-4  # of the posterior of a shift

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grouped:
    """The first items of a sample, grouped."""

    counts: Counts  # placed items of each group
    items: int  # how many they are, with those that are not placed
    splits: float  # groups that are expected to be parts of others
    hidden: float  # classes that are expected to be hidden in groups of others

    @property
    def left(self) -> int:
        """Items in no group."""
        return self.items - int(self.counts.sum())

    def apart(self, number: int) -> Counts:
        """Return the counts if so many members, of the largest groups, are classes of their own."""
        counts = np.sort(self.counts)[::-1]
        for place in range(number):
            counts[place % len(counts)] -= counts[place % len(counts)] > 1
        return np.concatenate([counts, np.ones(int(self.counts.sum() - counts.sum()), np.int64)])


def grouped(state: State, items: int) -> Grouped:
    """Return what is known of the first `items` items of a sample."""
    label = state.book.clusters.label[:items]
    seen, counts = np.unique(label[label >= 0], return_counts=True)
    splits = _splits(state, seen.astype(np.int64)) if len(seen) else 0.0
    return Grouped(counts.astype(np.int64), items, splits, wrong_share(state) * float((counts == 1).sum()))


def settled_size(state: State) -> int:
    """Return the largest size that the sample had or has at which nearly all items are placed; 0 if there is none.

    Items leave their groups again, also those of a sample that was settled: then the one with most items placed counts.
    """
    free = np.cumsum(state.book.clusters.label < 0)
    sizes = (*state.earlier, state.items)
    settled = [size for size in sizes if free[size - 1] <= LEFT * size]
    if settled or not state.earlier:
        return settled[-1] if settled else 0
    best = min(state.earlier, key=lambda size: free[size - 1] / size)
    return best if free[best - 1] <= MOST_LEFT * best else 0


def found_by_look(looks: list[Look], before: int) -> float:
    """Return how likely a look finds that a group is a part of another one, after so many looks that did not.

    >>> found_by_look([], 0), found_by_look([], 1)
    (0.1, 0.025)
    """
    chance = 0.0
    for times in range(before + 1):
        recent = [look.part for look in looks if look.before == times][-RECENT:]
        usual = FIRST_LOOK if not times else NEXT_LOOK * chance
        chance = (sum(recent) + WEIGHT * usual) / (len(recent) + WEIGHT)
    return chance


def wrong_share(state: State) -> float:
    """How likely a placed item is in a wrong group, by random pages; what people missed there is taken off."""
    recent = [page.right for page in state.book.random if page.placed][-RECENT:]
    if not recent:
        return 0.1
    wrong = len(recent) - sum(recent)
    return max(wrong - state.fit.rates.miss * len(recent), 0.5) / (len(recent) + 1.0)


def _splits(state: State, seen: NDArray[np.int64]) -> float:
    """How many of these groups are expected to be parts of others."""
    book, clusters = state.book, state.book.clusters
    size = clusters.size[seen]
    small = size <= max(float(SMALL), SHARE * float(np.median(clusters.size[clusters.live])))
    times = [book.checked.get(group, 0) for group in seen[small].tolist()]
    chances = {before: found_by_look(book.looks, before) for before in set(times)}
    main = main_chance(state, cluster_pairs(state))[seen[~small]]
    weight = shift_posterior([page for page in book.random if page.placed], state.fit.rates)
    kept = np.flatnonzero(weight > _LITTLE)
    others = sum(weight[place] * (1.0 - shifted(main, float(SHIFTS[place]))).sum() for place in kept)
    return float(sum(chances[before] for before in times) + others)

"""What the ways of placing an item share: the clusters, the looks, the chances, the rates of wrong answers, the tallies.

A way of placing (`Placing`) says what it wants to be asked (`Wanted`), is told the values, and says `TURN` when it only waits for
the items before it. It is no generator, because a snapshot cannot keep one. Items are counted in their random order: were they
counted as soon as they are settled, the quick ones, which match, would be over-represented.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.chances import Chances
from cccount_dist.counting.placing.estimatedrates import Rates
from cccount_dist.counting.placing.fast import Rule, Shortcut, look_back
from cccount_dist.counting.placing.foundclusters import Clusters
from cccount_dist.counting.placing.looks import Looks
from cccount_dist.counting.placing.repeats import Repeats

Value = float | None
PAGE_COST = 3  # a page of up to 24 is worth about three pairs of a person's time: what is as cheap as pairs is asked as pairs
LIKELY = 0.5  # a cluster above this is asked alone, before any page
_REFIT_GROWTH, _REFIT_STEP, _FIRST_REFIT = 1.15, 30.0, 60.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Is `item` the same as each of `others`? Shown together as one page if `paged`."""

    item: int
    others: tuple[int, ...]
    purpose: str
    paged: bool = False


class Turn(Enum):
    """The other thing that a placement may wait for."""

    TURN = "turn"


TURN = Turn.TURN


@dataclass(frozen=True, slots=True)
class Prospects:
    """What may still be asked about an item that is not decided yet. Arrays are over the clusters found so far, D of them.

    odds : of each cluster, as far as answers were taken in
    open : never asked about, and can be
    new : odds of a new cluster
    factors : of an early "different" and an early "same"
    place : the member of a cluster that would be shown first
    skips : whether these clusters may be left out (`fast.py`)
    """

    item: int
    slot: int
    odds: NDArray[np.float64]
    open: NDArray[np.bool_]
    new: float
    factors: tuple[float, float]
    purpose: str
    place: Callable[[int], int]
    skips: Callable[[NDArray[np.int64]], bool]


class Placing(ABC):
    """Something that goes on from question to question."""

    @abstractmethod
    def go_on(self, values: Sequence[Value] = ()) -> Wanted | Turn | None:
        """Begin, or go on with the values of what was wanted; return what is wanted next, None at the end."""

    @property
    def decided(self) -> bool:
        """Whether it is known which cluster the item belongs to."""
        return False

    def prospects(self) -> Prospects | None:
        """What may be asked beside that, before there are values; None if nothing may. Changes nothing."""
        return None


class State:
    """Everything that a placement reads and changes when it is its turn."""

    def __init__(self, looks: Looks, rates: Rates, grid: int, *, fast: Rule | None = None, same_pair: int = 0) -> None:
        self.looks = looks
        self.rates = rates
        self.grid = grid
        self.same_pair = same_pair  # how often two items may be asked about; 0: as often as it helps
        self.shown: Counter[tuple[int, int]] = Counter()  # how often they were, the smaller item first; only if there is a limit
        self.early: dict[int, dict[int, None]] = {}  # item -> others it is compared with before that was its turn (`ahead.py`)
        self.on_pages: Container[tuple[int, int, int]] = ()  # questions that were asked on a page, where some are asked early
        self.keeps_up = False  # whether an item under way is judged by what was learnt since it was begun
        self.shortcut = Shortcut() if fast is None else Shortcut(on=True, rule=fast)
        self.clusters = Clusters()
        self.chances = Chances(looks.features, looks.further)
        self.placed = 0  # items that are in a cluster
        self.doubtful: list[int] = []  # items that people could not place; never counted as different
        self.effort = 0.0  # in pair answers
        self.rechecks = 0.0  # part of the effort
        self.missed = 0.0  # expected false splits that were made (Horvitz-Thompson)
        self.merges = 0
        self.searched = 0.0  # drop of doubt by re-checks
        self.repeats = Repeats()
        self.sequence: list[int] = []  # cluster of each item that was placed, in the random order …
        self.slots: list[int] = []  # … and the slot of that item
        self._next_refit = _FIRST_REFIT

    @property
    def drawn(self) -> int:
        return self.placed + len(self.doubtful)

    @property
    def new_rate(self) -> float:
        """How likely the next item founds a cluster: Good's estimate, from the clusters with a single item."""
        return (self.clusters.once + 1.0) / (self.drawn + 2.0)

    def probabilities(self, features: NDArray[np.float64], first: int, floor_share: float | None = None) -> NDArray[np.float64]:
        """Probability that an item belongs to each of the clusters first … D - 1."""
        floored = self.chances.floor if floor_share is None else floor_share
        sizes = self.clusters.size[first : len(self.clusters)]
        floor = (1.0 - self.new_rate) * sizes / max(self.drawn + 1, 1)
        chances: NDArray[np.float64] = (1.0 - floored) * self.chances.logistic(features) + floored * floor
        return chances

    def place(self, cluster: int, slot: int) -> None:
        """Write down that the next item of the random order is in a cluster."""
        self.sequence.append(cluster)
        self.slots.append(slot)

    def chance_beside(self, slot: int, others: NDArray[np.int32]) -> NDArray[np.float64]:
        """Probability that an item belongs to the cluster that each of the others, alone, would be."""
        floor = (1.0 - self.new_rate) / max(self.drawn + 1, 1)
        logistic = self.chances.logistic(self.looks.beside(slot, others))
        chances: NDArray[np.float64] = (1.0 - self.chances.floor) * logistic + self.chances.floor * floor
        return chances

    def clusters_of(self, items: Sequence[int]) -> list[tuple[int, int]]:
        """The clusters that hold some of the items, each with such an item."""
        slots = [slot for item in items if (slot := self.looks.known_slot(item)) is not None]
        if not slots:
            return []
        count = len(self.clusters)
        members, held = self.clusters.members[:count], self.clusters.held[:count]
        found = np.isin(members, slots) & (np.arange(members.shape[1]) < held[:, None])
        return [
            (cluster, self.item(cluster, int(np.argmax(found[cluster]))))
            for cluster in np.flatnonzero(found.any(axis=1)).tolist()
        ]

    def early_clusters(self, item: int) -> list[tuple[int, int, bool]]:
        """Clusters that the item was compared with before it was its turn, the place of that member, and whether on a page."""
        early = self.early.get(item)
        if not early:
            return []
        found = [(cluster, other) for cluster, other in self.clusters_of(list(early)) if self.clusters.live[cluster]]
        places = [(cluster, self.early_place(item, cluster) or 0, other) for cluster, other in found]
        return [(cluster, place, (item, other, 0) in self.on_pages) for cluster, place, other in places]

    def early_place(self, item: int, cluster: int) -> int | None:
        """The place of a member that the item was compared with before it was its turn."""
        early = self.early.get(item)
        if not early:
            return None
        return next((place for place in range(int(self.clusters.held[cluster])) if self.item(cluster, place) in early), None)

    def item(self, cluster: int, place: int) -> int:
        """The item at a place among the members that are held of a cluster."""
        return self.looks.items[int(self.clusters.members[cluster, place])]

    def fresh(self, item: int, cluster: int, first: int = 0) -> int | None:
        """The place of the member that the item was least compared with, of equals the first from `first` on.

        None if it was compared with all of them as often as may be.
        """
        held = int(self.clusters.held[cluster])
        places = [(first + step) % held for step in range(held)]
        others = [self.item(cluster, place) for place in places]
        times = [self.shown[min(item, other), max(item, other)] if other != item else self.same_pair for other in others]
        least = min(times)
        return places[times.index(least)] if least < self.same_pair else None

    def set_aside(self, item: int, unsure: NDArray[np.int64], *, settled: bool) -> None:
        """Nobody could say whether the item belongs to some cluster. If the fault is the cluster's, that one goes."""
        for cluster in unsure.tolist():
            self.clusters.unsure[cluster] += 1
            alone = self.clusters.size[cluster] == 1 and self.clusters.settled[cluster] == 0
            if alone and (settled or self.clusters.unsure[cluster] > 1):
                self.clusters.dissolve(cluster)
                self.placed -= 1
                self.doubtful.append(self.item(cluster, 0))
        self.doubtful.append(item)

    def refit_due(self) -> bool:
        """Whether questions have grown by 15 % since the last fit; the fit is then done if there is enough to learn from."""
        if self.effort < self._next_refit:
            return False
        trusting = self.shortcut.rule.trusting
        self._next_refit = _REFIT_GROWTH * self.effort + (_REFIT_STEP / 3.0 if trusting else _REFIT_STEP)
        if self.chances.matches >= self.shortcut.rule.matches:
            self.chances.fit()
        if trusting:
            look_back(self)
        return True

"""What the ways of placing an item share: the clusters, the looks, the chances, the rates of wrong answers, the tallies.

A way of placing is a generator: it yields what it wants to be asked (`Wanted`), is sent the values, and yields `TURN` when it
only waits for the items before it. Items are counted in their random order: were they counted as soon as they are settled, the
quick ones, which match, would be over-represented.
"""

from collections.abc import Generator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.placing.chances import Chances
from cccount_dist.counting.placing.clusters import Clusters
from cccount_dist.counting.placing.fast import Shortcut
from cccount_dist.counting.placing.looks import Looks
from cccount_dist.counting.placing.rates import Rates
from cccount_dist.counting.placing.repeats import Repeats

Value = float | None
PAGE_COST = 3  # a page of up to 24 is worth about three pairs of a person's time: what is as cheap as pairs is asked as pairs
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
Placing = Generator[Wanted | Turn, list[Value], None]


class State:
    """Everything that a placement reads and changes when it is its turn."""

    def __init__(self, looks: Looks, rates: Rates, grid: int, *, fast: bool = False) -> None:
        self.looks = looks
        self.rates = rates
        self.grid = grid
        self.shortcut = Shortcut(on=fast)
        self.clusters = Clusters()
        self.chances = Chances(looks.features)
        self.placed = 0  # items that are in a cluster
        self.doubtful: list[int] = []  # items that people could not place; never counted as different
        self.effort = 0.0  # in pair answers
        self.rechecks = 0.0  # part of the effort
        self.missed = 0.0  # expected false splits that were made (Horvitz-Thompson)
        self.merges = 0
        self.searched = 0.0  # drop of doubt by re-checks
        self.repeats = Repeats()
        self.sequence: list[int] = []  # cluster of each item that was placed, in the random order
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

    def item(self, cluster: int, place: int) -> int:
        """The item at a place among the members that are held of a cluster."""
        return self.looks.items[int(self.clusters.members[cluster, place])]

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
        self._next_refit = _REFIT_GROWTH * self.effort + _REFIT_STEP
        if self.chances.matches >= 5:
            self.chances.fit()
        return True

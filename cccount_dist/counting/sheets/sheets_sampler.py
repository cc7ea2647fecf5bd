"""`sheets`: a random sample of the items is grouped completely by sheets, and what it did not show is extrapolated.

The engine is that of `clustering/catalogue`, on the first t items of a random order: they are numbered by it, so that more items
come behind those that are there, and nothing that was said is lost. The sample grows when what is unfinished in it widens the
interval little, by as much as takes people about as long again as they have spent, by what its groups and items have taken. The
result rests on the first items of the order of which nearly all are placed (`grouped.py`), extrapolated as in `placing`
(`richness.py`). Memory O(n p) for the components of all items, p at most 128, and O(t (p + 200)) for the sample; time of a glance
as in `catalogue`, with t for n; of a result some tens of milliseconds.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.choice import choose
from cccount_dist.clustering.catalogue.fitting import begun, grown
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Kind, Sheet
from cccount_dist.clustering.catalogue.sheet_sampler import SheetSampler
from cccount_dist.clustering.catalogue.space import Base, nearest_of
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.counting.intervals import check_level
from cccount_dist.counting.order import random_order
from cccount_dist.counting.population import Population
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.richness import richness
from cccount_dist.counting.sheets.extrapolated import extrapolated
from cccount_dist.counting.sheets.grouped import LEFT, grouped, settled_size
from cccount_dist.counting.sheets.sample import sample_base
from storage.errors import InputError

FIRST = 96  # items of the first sample
GROUP_GLANCES, ITEM_GLANCES = 2.0, 1 / 12  # what a group and an item take, before a campaign has shown its own pace
PACE = (0.5, 2.0)  # how far that may be from it
AGAIN, MORE = 2.0, 20.0  # glances that a larger sample may have taken at its end, for each that was spent, and beyond that
STEP, SIZES = (1.25, 2.5), 20  # the sample grows at least, and at most, by; and sizes that are looked at
PATIENCE = 1.5  # an interval that is so much wider, because of what is unfinished, does not wait for it


class SheetsSampler(SheetSampler[CountResult]):
    """The sampler.

    Parameters
    ----------
    vectors : (n, d), an array or a memory map
    neighbors : (n, k), most similar first; -1 for an item without a vector
    degree : (n,), NaN for an item that is not counted
    given : the parameters, those of `catalogue`
    rates : how often cells are missed and falsely marked; None: learned
    right : whether answers are always right
    earlier : how many items there were before the collection grew, the oldest number first (`order.py`)
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        neighbors: NDArray[np.int32],
        degree: NDArray[np.float64],
        given: CatalogueParameters,
        *,
        seed: int = 0,
        level: float = 0.95,
        rates: SheetRates | None = None,
        right: bool = False,
        earlier: Sequence[int] = (),
    ) -> None:
        population = Population(np.where(neighbors[:, 0] >= 0, degree, np.nan))
        if population.items < 2:
            raise InputError(f"counting needs at least 2 items with a vector, not {population.items}")
        if seed < 0:
            raise InputError(f"seed must not be negative, and is {seed}")
        self._level, self._right, self._all = check_level(level), right, population.items
        present = population.to_items(np.arange(self._all))
        order = random_order(seed, self._all, earlier)
        number = np.full(len(neighbors) + 1, -1, np.int32)  # the last entry is that of -1
        number[present] = np.arange(self._all, dtype=np.int32)
        everybody = self._all == len(neighbors)
        lists = neighbors if everybody else number[neighbors[present]]
        self._base = sample_base(vectors if everybody else vectors[present], lists, order)
        self._turn = np.random.default_rng([seed, 7]).random(self._all)  # by which random pages come, however large the sample is
        first = self._first(min(FIRST, self._all))
        super().__init__(begun(first, nearest_of(first), given, seed, rates), present[order], given.open, rates)

    def result(self) -> CountResult:
        """Return the estimate from the items that are grouped."""
        state = self._look()
        answered = sum(value is not None for value in self._said.values())
        size = settled_size(state)
        if not size:
            return CountResult(None, 1.0, float(self._all), self._level, 0, answered)
        found = grouped(state, size)
        if self._right and size == self._all and not found.left and self.done:
            found = replace(found, splits=0.0, hidden=0.0)
        return extrapolated(found, state, self._all, self._level, answered)

    def _chosen(self, state: State) -> tuple[State, Sheet | None]:
        placed = len(state.book.clusters.unplaced) <= LEFT * state.items
        sheet = choose(state, self._order(state), checks=placed)
        compared = sheet is not None and sheet.kind in (Kind.CLUSTER, Kind.SEED, Kind.ODD)  # all that had to be, by now
        if placed and compared and state.items < self._all and self._is_finished(state):
            sheet = None
        while sheet is None and state.items < self._all:
            state = grown(state, self._first(self._next_size(state)), self._rates)
            sheet = choose(state, self._order(state))
        return state, sheet

    def _order(self, state: State) -> NDArray[np.int64]:
        return np.argsort(self._turn[: state.items], kind="stable")

    def _first(self, items: int) -> Base:
        return Base(self._base.rows[:items], self._base.within)

    def _is_finished(self, state: State) -> bool:
        """Whether what is unfinished in the sample widens the interval little: then more items narrow it more."""
        found = grouped(state, state.items)
        ideal = richness(found.counts, self._all, self._level)
        real = richness(found.counts, self._all, self._level, false_splits=found.splits)
        return real.high - real.low <= PATIENCE * (ideal.high - ideal.low)

    def _next_size(self, state: State) -> int:
        """The largest sample that is expected to have taken about twice the glances so far, when it is grouped."""
        found, spent = grouped(state, state.items), state.book.glances
        classes = richness(found.counts, self._all, self._level).estimate if len(found.counts) else float(self._all)

        def glances(items: int) -> float:
            return GROUP_GLANCES * classes * (1.0 - math.exp(-items / classes)) + ITEM_GLANCES * items

        pace = min(max(spent / glances(state.items), PACE[0]), PACE[1])
        sizes = np.minimum(np.geomspace(STEP[0] * state.items, STEP[1] * state.items, SIZES).astype(np.int64) + 1, self._all)
        fitting = [size for size in sizes.tolist() if pace * glances(size) <= AGAIN * spent + MORE]
        return int(fitting[-1] if fitting else sizes[0])

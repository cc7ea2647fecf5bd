"""`catalogue`: every item with its class, by sheets; never told how many classes there are.

How answers become the next state is in `sheet_sampler.py`. Memory O(n (p + k + 64)): the space, its lists, and 32 candidates for
each item, twice while somebody looks.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.choice import best_value, choose
from cccount_dist.clustering.catalogue.fitting import begun
from cccount_dist.clustering.catalogue.labels import labels_of
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.quality import measured
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Sheet
from cccount_dist.clustering.catalogue.sheet_sampler import SheetSampler
from cccount_dist.clustering.catalogue.space import base_of
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.clustering.quality import Quality
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.drive import PAGE_SECONDS
from cccount_dist.similarity.localscores import LocalScores

SHEETS_AN_HOUR = 3600 / PAGE_SECONDS


class CatalogueSampler(SheetSampler[Grouping]):
    """Asks the sheet whose marks are expected to move most items.

    Parameters
    ----------
    vectors : (n, d), an array or a memory map
    neighbors : (n, k), most similar first; -1 for an item without a vector
    given : the parameters
    rates : how often cells are missed and falsely marked; None: learned
    matches : (n, m) local matches with the first m neighbours; None where pictures were not compared
    """

    def __init__(
        self,
        vectors: NDArray[np.float32],
        neighbors: NDArray[np.int32],
        seed: int,
        given: CatalogueParameters,
        rates: SheetRates | None = None,
        matches: NDArray[np.int16] | None = None,
    ) -> None:
        present = np.flatnonzero(neighbors[:, 0] >= 0)
        self._items = len(neighbors)
        number = np.full(self._items + 1, -1, np.int32)  # the last entry is that of -1
        number[present] = np.arange(len(present), dtype=np.int32)
        everybody = len(present) == self._items
        lists = neighbors if everybody else number[neighbors[present]]
        local = None
        if matches is not None:
            local = LocalScores(lists, matches if everybody else matches[present])
        base = base_of(vectors if everybody else vectors[present], lists, local)
        super().__init__(begun(base, lists, given, seed, rates), present, given.open, rates)
        self._order = np.random.default_rng([seed, 0]).permutation(len(present))

    def _chosen(self, state: State) -> tuple[State, Sheet | None]:
        return state, choose(state, self._order)

    def result(self) -> Grouping:
        """Return the groups: placed items as they are placed, others with their likeliest cluster, or alone."""
        state = self._look()
        labels = np.full(self._items, -1, np.int64)
        labels[self._present] = labels_of(state)
        labels = numbered(labels)
        quality, count, warning = measured(state, labels[self._present])
        least = tuple(self._present[list(quality.least_sure)].tolist())
        quality = replace(quality, least_sure=least, hour=self._next_hour(state, quality))
        return Grouping(labels, warning=warning, quality=quality, count=count)

    def _next_hour(self, state: State, quality: Quality) -> float | None:
        """What an hour of sheets should add to the share that is right: as many as now, and ever fewer as the rest shrinks."""
        if quality.right is None:
            return None
        rest = 1.0 - quality.right.value
        pace = SHEETS_AN_HOUR * (1 - 1 / state.random_every) * best_value(state, self._order) / state.items
        return rest * (1.0 - math.exp(-pace / rest)) if rest > 0.0 else 0.0

"""The space, the weights and the calibration, fitted again to what is known by now.

Time: `space.fitted`, the rows of all items (O(32 n p)), and at most 400 placed and 2,000 unplaced items for the rest.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.answers import own_chance, renewed
from cccount_dist.clustering.catalogue.belief import new_share
from cccount_dist.clustering.catalogue.candidates import WIDTH, Rows, features, nearest_means
from cccount_dist.clustering.catalogue.clusters import Clusters
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.posterior import PLAIN, START, fitted_level, fitted_platt, fitted_weights
from cccount_dist.clustering.catalogue.rates import SheetRates, learned_rates
from cccount_dist.clustering.catalogue.space import Base, fitted
from cccount_dist.clustering.catalogue.state import Book, Fit, State
from cccount_dist.clustering.catalogue.votes import Votes
from cccount_dist.similarity.threads import one_thread

PLACED, LEFT = 400, 2000  # items that the weights, and the level of "new", are fitted to
FEWEST, FEWEST_SEEN = 20, 24
SOON, LATE, SHARE = 4, 40, 0.08
MANY = 20_000  # items for each of which a fit is due as much later


def is_due(state: State) -> bool:
    """Whether enough was answered since the last fit."""
    done = state.book.glances
    patience = max(SOON, min(LATE, SHARE * done)) * (1 + state.items // MANY)
    return done - state.fit.glances >= patience or (done < SOON and done > state.fit.glances)


def refitted(state: State, given: SheetRates | None) -> None:
    """Fit everything again. `given`: rates of wrong answers that are known; None: they are learned."""
    renewed(state)
    _fit(state, given, state.fit.space.lists)


def begun(base: Base, lists: NDArray[np.int32], given: CatalogueParameters, seed: int, rates: SheetRates | None) -> State:
    """Return the state in which nothing was asked."""
    count = len(base.rows)
    space = fitted(base, np.full(count, -1, np.int32), lists)
    clusters = Clusters.none(space.rows)
    weight = START if base.local is not None else START[:PLAIN]
    fit = Fit(space, nearest_means(space, clusters), weight.copy(), rates=rates or SheetRates())
    book = Book(clusters, Votes.none(count))
    state = State(base, fit, book, Rows.empty(count), np.ones(count), given.cells, given.random_every, seed)
    _all_rows(state)
    return state


def _fit(state: State, given: SheetRates | None, lists: NDArray[np.int32]) -> None:
    book, fit = state.book, state.fit
    clusters = book.clusters
    rates = _rates(state) if given is None and book.cells else fit.rates
    space = fitted(state.base, clusters.label, lists)
    clusters.moved_to(space.rows)
    with one_thread():
        fit = replace(fit, space=space, means=nearest_means(space, clusters), glances=book.glances, level=0.0, rates=rates)
        state.fit = fit
        share = new_share(state)
        fit.weight = _weights(state, share)
    fit.platt = tuple(_platt(state, curve) for curve in range(len(fit.platt)))
    _all_rows(state)
    left = _some(state, clusters.unplaced, LEFT, 2)
    if len(left) and len(clusters.live):
        fit.level = fitted_level(state.rows.new[left].astype(np.float64), share)
        _all_rows(state)


def _all_rows(state: State) -> None:
    everything = np.arange(state.items)
    state.rows.put(everything, state.score(everything))
    state.own = own_chance(state, everything.tolist())
    state.book.clusters.settled()


def _some(state: State, items: NDArray[np.int64], most: int, stream: int) -> NDArray[np.int64]:
    if len(items) <= most:
        return items
    chance = np.random.default_rng([state.seed, stream, state.book.glances])
    return np.sort(chance.choice(items, most, replace=False))


def _weights(state: State, share: float) -> NDArray[np.float64]:
    fit, clusters = state.fit, state.book.clusters
    placed = clusters.placed
    placed = placed[clusters.size[clusters.label[placed]] > 1]
    if len(placed) < FEWEST:
        return fit.weight
    placed = _some(state, placed, PLACED, 1)
    options = []
    for leave, importance in ((False, 1 - share), (True, share)):
        cluster, found, nearest = features(placed, fit.space, fit.means, clusters, leave=leave)
        own = cluster == clusters.label[placed][:, None]
        there = np.ones(len(placed), np.bool_) if leave else own.any(axis=1)
        right = np.full(len(placed), WIDTH) if leave else own.argmax(axis=1)
        weight = np.full(int(there.sum()), importance)
        options.append((cluster[there], found[there], nearest[there], right[there], weight))
    return fitted_weights(options, fit.weight)


def _platt(state: State, curve: int) -> NDArray[np.float64]:
    seen = [one for one in state.book.seen if one.curve == curve][-600:]
    if len(seen) < FEWEST_SEEN:
        return state.fit.platt[curve]
    columns = np.array([(one.odds, one.marked, state.book.glances - one.glance) for one in seen], np.float64)
    return fitted_platt(columns[:, 0], columns[:, 1], columns[:, 2])


def _rates(state: State) -> SheetRates:
    """By how likely each answered cell is the same as its anchor, as things are now."""
    anchor, item, marked = (np.array(column) for column in zip(*state.book.cells, strict=True))
    label = state.book.clusters.label
    known = (label[item] >= 0) & (label[anchor] >= 0)  # what is left unplaced is guessed too high
    anchor, item, marked = anchor[known], item[known], marked[known].astype(np.bool_)
    mine = state.rows.cluster[item] == label[anchor][:, None]
    chance = (state.rows.chance[item] * mine).sum(axis=1).astype(np.float64)
    together = label[item] == label[anchor]
    chance[together] = state.own[item[together]]
    return learned_rates(chance, marked)


__all__ = ["begun", "is_due", "refitted"]

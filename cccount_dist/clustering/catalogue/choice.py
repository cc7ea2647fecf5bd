"""Which sheet is asked next: the one whose marks are expected to move most items, and now and then a random page.

Sheets that are open are respected: their items, and their pairs of clusters, are not asked about again, and another cluster is
preferred. Choosing changes nothing (`answers.asked` does). Time: `best.py` and `pairs.py`; memory O(24 K).
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.answers import NOT_ASKED, PAGES, RANDOM_PAGES
from cccount_dist.clustering.catalogue.belief import belief
from cccount_dist.clustering.catalogue.best import SURE, best_cells, best_seed, seed_cells
from cccount_dist.clustering.catalogue.labels import guessed, surety
from cccount_dist.clustering.catalogue.nearest import nearest_clusters
from cccount_dist.clustering.catalogue.pairs import ClusterPairs, cluster_pairs
from cccount_dist.clustering.catalogue.rates import USUAL_MISS
from cccount_dist.clustering.catalogue.sheet import GROUP, ITEM, Kind, Sheet
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.clustering.catalogue.votes import pair_of

WORTH_A_GLANCE = 0.15  # items that a sheet has to be expected to move
BUSY = 0.5  # what a sheet counts about a cluster that an open one is about
CENTRAL = 5  # members that stand for a cluster by turns
UNCLEAR = 3  # cells of which nobody could tell, from which an item is not asked about any more
ODD_FROM, ODD_GROWTH, ODD_LAST = 24, 4, 6
ODD_ENOUGH, ODD_RARE = 200, 0.01  # odd-one-out sheets stop when so many cells had fewer than this share
CHECKS, CHECK_SIZE = 3, 0.3  # pages for a small cluster at the end, and what is small, as a share of the median
CHECKED, UNLIKELY = 0.05, 0.004  # how likely two clusters are taken to be the same that nothing else says are
SELDOM = 0.012  # the same, where every cluster is compared with others: one mark does not merge
FRESH, DOUBTFUL = 0.2, 0.1  # one of the three nearest was not compared, or some others; two groups that are worth another look
TURNS = 3  # a count draws a random item, compares clusters and asks what moves most items in turn
KNOWN_CELLS = 18  # of such an item's sheet, if so many clusters are known
AUDITED = 8  # one in so many items of a count's random order has a page although it is surely placed
REFUSALS = 2  # from which two clusters are not shown together again to fill a sheet
REFUSED = -2.0  # log-odds of votes below which a cluster comes last on a page


@dataclass
class Table:
    """What is on open sheets, so that nothing is asked twice."""

    taken: NDArray[np.bool_]  # (n,) items
    pairs: set[tuple[int, int]] = field(default_factory=set)  # of clusters
    busy: set[int] = field(default_factory=set)  # clusters that a sheet is about
    unclear: set[int] = field(default_factory=set)  # clusters of which nobody can tell: all members were tried


def choose(state: State, order: NDArray[np.int64], *, counting: bool = False) -> Sheet | None:
    """Return the next sheet, None if nothing is worth a glance.

    order : (n,) the order of the random pages
    counting : what matters is how many clusters there are: they are compared with each other instead of being looked through, and
        random pages pass over items that are surely placed, but for some
    """
    table = _table(state)
    number = len(state.asked)
    for item, random in state.book.queue:
        if table.taken[item] or state.book.unclear.get(item, 0) >= UNCLEAR:
            continue
        if sheet := _page(state, table, item, Kind.RANDOM if random else Kind.PAGE, NOT_ASKED):
            return sheet
    if (number + 1) % (TURNS if counting else state.random_every) == 0:
        sheet = _draw(state, table, order) if counting else _random_page(state, table, order)
        if sheet is not None:
            return sheet
    compare = counting and number % TURNS == 0
    return (
        (_comparison(state, table) if compare else None)
        or (None if counting else _odd(state, table))
        or _best(state, table, order)
        or (_comparison(state, table) if counting else None)
        or _last_pages(state, table)
        or _check(state, table)
        or _odd(state, table, last=True)
    )


def _table(state: State) -> Table:
    clusters = state.book.clusters
    table = Table(np.zeros(state.items, np.bool_))
    tried = {item for item, times in state.book.unclear.items() if times >= UNCLEAR}
    for cluster in {int(clusters.label[item]) for item in tried} - {-1}:
        if tried.issuperset(clusters.members[cluster].tolist()):
            table.unclear.add(cluster)
    for sheet in state.open:
        about = int(clusters.label[sheet.anchor])
        table.busy.add(about)
        table.taken[sheet.anchor] = True
        for cell, role in zip(sheet.cells, sheet.roles, strict=True):
            if role == ITEM:
                table.taken[cell] = True
            else:
                table.pairs.add(pair_of(about, int(clusters.label[cell])))
    return table


def _clear(state: State) -> NDArray[np.float64]:
    """What a cell of each item counts: less where people could not tell, nothing after some times."""
    clear = np.ones(state.items)
    for item, times in state.book.unclear.items():
        clear[item] = 0.5**times if times < UNCLEAR else 0.0
    return clear


# -- the sheet that moves most ---------------------------------------------------------------------------------------------


def _best(state: State, table: Table, order: NDArray[np.int64]) -> Sheet | None:
    clear = _clear(state)
    cells = best_cells(state, _free(cluster_pairs(state), table), table.taken, clear)
    total = cells.value.sum(axis=1)
    total[list(table.busy)] *= BUSY
    total[list(table.unclear)] = 0.0
    value, cluster = (float(total.max()), int(total.argmax())) if len(total) else (0.0, -1)
    seed_value, seed = best_seed(state, order, table.taken, clear)
    if max(value, seed_value) < WORTH_A_GLANCE:
        return None
    if value >= seed_value:
        return _about(state, cluster, _filled(state, table, cluster, cells.of(cluster)), Kind.CLUSTER)
    shown = seed_cells(state, seed, table.taken, clear, table.unclear)
    if state.careful:
        shown = _filled(state, table, -1, shown, seed)
    return _sheet(state, Kind.SEED, seed, shown) if shown else None


def _filled(
    state: State, table: Table, cluster: int, cells: list[tuple[int, int, float]], item: int = -1
) -> list[tuple[int, int, float]]:
    """Fill the cells that are left with the nearest clusters, those first that were compared least: it costs no glance.

    So parts of one class find each other, also where one comparison was missed.
    """
    room = state.cells - len(cells)
    if room <= 0:
        return cells
    book, clusters = state.book, state.book.clusters
    shown = {number for number, role, _ in cells if role == GROUP} | table.unclear | {cluster}
    refused = {
        other: book.votes.pairs.get(pair_of(cluster, other), (0.0, 0.0))[1]
        for other in clusters.live.tolist()
        if other not in shown and pair_of(cluster, other) not in table.pairs
    }
    others = np.array([other for other, times in refused.items() if times < REFUSALS], np.int64)
    centre = clusters.centre[cluster] if item < 0 else state.fit.space.rows[item]
    away = np.square(clusters.centre[others].astype(np.float64) - centre).sum(axis=1)
    order = np.lexsort((others, away, np.array([refused[other] for other in others.tolist()])))
    return [*cells, *((int(others[place]), GROUP, UNLIKELY) for place in order[:room])]


def best_value(state: State, order: NDArray[np.int64]) -> float:
    """Return how many items the best sheet is expected to move."""
    table, clear = _table(state), _clear(state)
    cells = best_cells(state, _free(cluster_pairs(state), table), table.taken, clear)
    return max(float(cells.value.sum(axis=1).max(initial=0.0)), best_seed(state, order, table.taken, clear)[0])


def _free(pairs: ClusterPairs, table: Table) -> ClusterPairs:
    if not table.pairs and not table.unclear:
        return pairs
    both = list(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    free = np.array([pair not in table.pairs and not table.unclear.intersection(pair) for pair in both], np.bool_)
    return ClusterPairs(pairs.first[free], pairs.second[free], pairs.prior[free], pairs.chance[free])


# -- pages of one item -----------------------------------------------------------------------------------------------------


def _random_page(state: State, table: Table, order: NDArray[np.int64]) -> Sheet | None:
    before = [sheet.anchor for sheet in state.asked if sheet.guess != NOT_ASKED]
    start = int(np.flatnonzero(order == before[-1])[0]) + 1 if before else 0
    for step in range(len(order)):
        item = int(order[(start + step) % len(order)])
        if not table.taken[item] and state.book.unclear.get(item, 0) < UNCLEAR:
            return _page(state, table, item, Kind.RANDOM, -1)
    return None


def _draw(state: State, table: Table, order: NDArray[np.int64]) -> Sheet | None:
    """The next item of a count's random order that is in no cluster, as an anchor; one that surely is in one needs no sheet."""
    clusters = state.book.clusters
    before = [sheet.anchor for sheet in reversed(state.asked) if sheet.drawn][:1]
    start = int(np.flatnonzero(order == before[0])[0]) + 1 if before else 0
    for place in range(start, len(order)):
        item = int(order[place])
        placed = clusters.label[item] >= 0
        if placed and place % AUDITED and state.own[item] > SURE:
            continue
        if table.taken[item] or state.book.unclear.get(item, 0) >= UNCLEAR:
            continue
        if placed:
            page = _page(state, table, item, Kind.RANDOM, -1)
            return None if page is None else replace(page, drawn=True)
        believed = belief(state, item)
        most = state.cells if len(clusters.live) <= state.cells else KNOWN_CELLS
        likely = [cluster for cluster in np.argsort(-believed, kind="stable")[:most].tolist() if clusters.size[cluster]]
        shown = [(cluster, GROUP, float(believed[cluster])) for cluster in likely if cluster not in table.unclear]
        others = [cell for cell in seed_cells(state, item, table.taken, _clear(state), table.unclear) if cell[1] == ITEM]
        cells = _filled(state, table, -1, [*shown, *others][: state.cells], item)
        return replace(_sheet(state, Kind.SEED, item, cells), drawn=True) if cells else None
    return None


def _last_pages(state: State, table: Table) -> Sheet | None:
    """At the end each item that no cluster wants has pages of its own."""
    for item in state.book.clusters.unplaced.tolist():
        if table.taken[item] or state.book.unclear.get(item, 0) >= UNCLEAR:
            continue
        if (sheet := _page(state, table, item, Kind.PAGE, NOT_ASKED)) is not None:
            return sheet
    return None


def _page(state: State, table: Table, item: int, kind: Kind, guess: int) -> Sheet | None:
    """Show the clusters that an item may belong to: its own first, then the likeliest, those that it was refused by last."""
    clusters = state.book.clusters
    own = int(clusters.label[item])
    belongs = own >= 0 and clusters.size[own] > 1
    chances = state.rows.of(item)
    said = state.book.votes.on(item, clusters.alias)
    if state.careful and own >= 0 and not belongs:
        said |= {sum(pair) - own: votes for pair, votes in state.book.votes.pairs.items() if own in pair}
    rates = state.fit.rates
    live = clusters.live
    away = np.square(clusters.centre[live].astype(np.float64) - state.fit.space.rows[item]).sum(axis=1)
    ranked = []
    for cluster, distance in zip(live.tolist(), away.tolist(), strict=True):
        if cluster != own and cluster not in table.unclear and pair_of(own, cluster) not in table.pairs:
            yes, no = said.get(cluster, (0.0, 0.0))
            refused = yes * rates.mark + no * rates.no_mark < REFUSED
            ranked.append((refused, -chances.get(cluster, 0.0), distance, cluster))
    ranked.sort()
    if kind is Kind.PAGE or guess == NOT_ASKED:
        ranked = [one for one in ranked if not one[0]]
    shown = ([own] if belongs else []) + [one[3] for one in ranked]
    shown = [cluster for cluster in shown if _can_stand(state, cluster, item)][: state.cells]
    if not shown:
        return None
    if guess != NOT_ASKED:
        labelled = own if belongs else guessed(state, item) if own < 0 else -1
        guess = shown.index(labelled) if labelled in shown else -1
    sure = 0.0 if guess == NOT_ASKED else float(surety(state, cluster_pairs(state))[item])
    return _sheet(state, kind, item, [(cluster, GROUP, chances.get(cluster, 0.01)) for cluster in shown], guess, sure)


def _can_stand(state: State, cluster: int, item: int) -> bool:
    """Whether a cluster can be shown beside an item: by another member than the item itself."""
    clusters = state.book.clusters
    return bool(clusters.size[cluster] > (1 if clusters.label[item] == cluster else 0))


# -- clusters that are looked through, and small ones at the end -------------------------------------------------------------


def _odd(state: State, table: Table, *, last: bool = False) -> Sheet | None:
    """Members of one cluster, the least sure and random ones: not where such sheets find nothing."""
    book, clusters = state.book, state.book.clusters
    if book.odd[1] >= ODD_ENOUGH and book.odd[0] < ODD_RARE * book.odd[1]:
        return None
    for cluster in clusters.live.tolist():
        size = int(clusters.size[cluster])
        grown = size >= ODD_FROM and size >= ODD_GROWTH * book.odd_size.get(cluster, 0)
        final = last and size >= ODD_LAST and abs(size - book.final_size.get(cluster, -ODD_FROM)) > 2
        if not (grown or final) or cluster in table.busy:
            continue
        anchor = representative(state, cluster, book.shown.get(cluster, 0))
        others = clusters.members[cluster][clusters.members[cluster] != anchor]
        others = others[~table.taken[others]]
        by_doubt = others[np.lexsort((others, state.own[others]))]
        half = state.cells // 2
        rest = by_doubt[half:]
        chance = np.random.default_rng([state.seed, 3, len(state.asked)])
        some = np.sort(chance.permutation(len(rest))[: state.cells - half])
        shown = [*by_doubt[:half].tolist(), *rest[some].tolist()]
        if shown:
            return _sheet(state, Kind.ODD, anchor, [(item, ITEM, float(state.own[item])) for item in shown])
    return None


def _check(state: State, table: Table) -> Sheet | None:
    """Small clusters beside those that they were never compared with."""
    clusters = state.book.clusters
    live = clusters.live
    if len(live) < 2:
        return None
    small = max(2.0, CHECK_SIZE * float(np.median(clusters.size[live])))
    for cluster in live[np.lexsort((live, clusters.size[live]))].tolist():
        if clusters.size[cluster] > small:
            break
        if state.book.checked.get(cluster, 0) < CHECKS and (sheet := _compared(state, table, cluster)) is not None:
            return sheet
    return None


def pair_belief(state: State, pair: tuple[int, int]) -> float:
    """How likely two clusters that were compared are the same, by the votes alone."""
    yes, no = state.book.votes.pairs[pair]
    no_mark = max(state.fit.rates.no_mark, math.log(USUAL_MISS))
    odds = math.log(SELDOM / (1.0 - SELDOM)) + yes * state.fit.rates.mark + no * no_mark
    return 1.0 / (1.0 + math.exp(min(max(-odds, -50.0), 50.0)))


def _comparison(state: State, table: Table) -> Sheet | None:
    """Two clusters that were marked once, again; else the cluster that was compared with fewest of the nearest others."""
    book, clusters = state.book, state.book.clusters
    open_ = table.busy | table.unclear
    doubtful = [
        (-chance, pair)
        for pair, (yes, _) in book.votes.pairs.items()
        if yes and pair not in table.pairs and not open_.intersection(pair) and clusters.size[list(pair)].all()
        and (chance := pair_belief(state, pair)) > DOUBTFUL
    ]  # fmt: skip
    if doubtful:
        first, second = sorted(min(doubtful)[1], key=lambda one: (clusters.size[one], one))
        return _about(state, first, _filled(state, table, first, [(second, GROUP, SELDOM)]), Kind.CHECK)
    best, least, told = None, FRESH, book.votes.pairs.keys() | table.pairs
    for cluster, others in nearest_clusters(state).items():
        if cluster in open_:
            continue
        fresh = [
            (place, other)
            for place, other in enumerate(others)
            if other not in table.unclear and pair_of(cluster, other) not in told
        ]
        value = sum(1.0 / (place + 2.0) for place, _ in fresh)
        if value > least + 1e-12:
            best, least = (cluster, fresh), value
    if best is None:
        return None
    cells = [(other, GROUP, SELDOM) for _, other in best[1]]
    return _about(state, best[0], _filled(state, table, best[0], cells), Kind.CHECK)


def _compared(state: State, table: Table, cluster: int) -> Sheet | None:
    """A cluster beside the nearest ones that it was never compared with, or was marked beside."""
    if cluster in table.busy or cluster in table.unclear:
        return None
    book, clusters, rates = state.book, state.book.clusters, state.fit.rates
    rest = []
    for other in clusters.live.tolist():
        yes, no = book.votes.pairs.get(pair_of(cluster, other), (0.0, 0.0))
        refused = yes + no > 0 and yes * rates.mark + no * rates.no_mark <= 0
        if other != cluster and other not in table.unclear and pair_of(cluster, other) not in table.pairs and not refused:
            rest.append(other)
    if not rest:
        return None
    away = np.square(clusters.centre[rest].astype(np.float64) - clusters.centre[cluster]).sum(axis=1)
    nearest = [rest[place] for place in np.argsort(away, kind="stable")[: state.cells].tolist()]
    return _about(state, cluster, _filled(state, table, cluster, [(other, GROUP, CHECKED) for other in nearest]), Kind.CHECK)


# -- making a sheet ----------------------------------------------------------------------------------------------------------


def representative(state: State, cluster: int, turn: int, not_item: int = -1) -> int:
    """Return one of the most central sure members, another one each time; clear pictures first."""
    clusters = state.book.clusters
    members = clusters.members[cluster]
    members = members[members != not_item]
    sure = members[state.own[members] > SURE]
    if not len(sure):
        sure = members[np.lexsort((members, -state.own[members]))][:1]
    clear = np.array([item for item in sure.tolist() if state.book.unclear.get(item, 0) < 2], np.int64)
    sure = clear if len(clear) else sure
    away = np.square(state.fit.space.rows[sure].astype(np.float64) - clusters.centre[cluster]).sum(axis=1)
    return int(sure[np.argsort(away, kind="stable")[turn % min(CENTRAL, len(sure))]])


def _about(state: State, cluster: int, cells: list[tuple[int, int, float]], kind: Kind) -> Sheet:
    return _sheet(state, kind, representative(state, cluster, state.book.shown.get(cluster, 0)), cells)


def _sheet(
    state: State, kind: Kind, anchor: int, cells: list[tuple[int, int, float]], guess: int = NOT_ASKED, sure: float = 0.0
) -> Sheet:
    """Return a sheet; cells are items, or clusters, which are shown by a member."""
    book = state.book
    about = int(book.clusters.label[anchor])
    shown = []
    for number, role, _ in cells:
        if role == ITEM:
            shown.append(number)
        else:
            said = book.votes.pairs.get(pair_of(about, number), (0.0, 0.0))
            shown.append(representative(state, number, book.shown.get(number, 0) + round(sum(said)), anchor))
    last = state.asked[-1] if state.asked else None
    return Sheet(
        page=len(state.asked),
        first=0 if last is None else last.first + len(last.cells),
        kind=kind,
        anchor=anchor,
        cells=tuple(shown),
        roles=tuple(role for _, role, _ in cells),
        chance=tuple(float(chance) for _, _, chance in cells),
        fresh=about < 0,
        guess=guess,
        sure=sure,
    )


__all__ = ["PAGES", "RANDOM_PAGES", "Table", "choose", "representative"]

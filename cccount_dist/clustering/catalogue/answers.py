"""From the answers of a sheet to clusters: votes, items that join or leave, clusters that merge or are split.

Nothing here depends on when an answer came, only on the order of the history: `replayed` makes the book again from it, after an
answer was replaced. Time of a sheet: its cells, and the clusters that change; of a replay: all sheets.
"""

import math

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.belief import belief
from cccount_dist.clustering.catalogue.candidates import touched
from cccount_dist.clustering.catalogue.clusters import UNPLACED, Clusters
from cccount_dist.clustering.catalogue.sheet import GROUP, ITEM, Kind, Sheet
from cccount_dist.clustering.catalogue.state import (
    ON_CLUSTER,
    ON_GROUP,
    ON_SEED,
    Book,
    Fresh,
    Look,
    RandomPage,
    Seen,
    State,
    Values,
)
from cccount_dist.clustering.catalogue.votes import Votes, pair_of

NOT_ASKED = -2  # `guess` of a page that measures nothing
PAGES, RANDOM_PAGES = 3, 2  # that an item without a cluster may have
SEEN = 600  # cells that each Platt curve is fitted to
RATED = 4000  # cells that the rates are learned from
SEED_WEIGHT = 0.25
STAYS = 0.5  # a member that was not marked stays from this probability on
SMALL = 2  # members up to which one mark merges
BAD_WANTED, BAD_SHARE, BAD_SIZE, BAD_AFTER = 6.0, 0.1, 6, 300
ODD_LEAST, ODD_SHARE = 3, 0.2  # members that do not belong from which a cluster is split
NEAR = 3  # that decide on which side of a split a member goes
_MERGE = 3.0  # log-odds


def asked(state: State, sheet: Sheet) -> None:
    """Note that a sheet was asked: its anchor is a cluster from now on."""
    state.asked.append(sheet)
    state.history.append((True, sheet.page))
    _note_asked(state, sheet)


def told(state: State, page: int, values: Values) -> None:
    """Take in the answers of a sheet."""
    state.values[page] = values
    state.history.append((False, page))
    _note_told(state, state.asked[page], values)


def replayed(state: State) -> None:
    """Make the book again from the history, in the present space."""
    state.book = Book(Clusters.none(state.fit.space.rows), Votes.none(state.items))
    _take_over(state)
    for was_asked, page in state.history:
        if was_asked:
            _note_asked(state, state.asked[page])
        else:
            _note_told(state, state.asked[page], state.values[page])


def renewed(state: State) -> None:
    """Make the rows again that may have changed, and how sure each placed item is."""
    clusters = state.book.clusters
    items = touched(state.rows, state.fit.space, state.fit.means, clusters)
    found = state.score(items)
    state.rows.put(items, found)
    state.own[items] = own_chance(state, items.tolist())
    clusters.settled()


def own_chance(state: State, items: list[int]) -> NDArray[np.float64]:
    """How likely each item is in the cluster that it is in; 1 for one that is alone or in none."""
    book, label = state.book, state.book.clusters.label[items]
    rows, at = state.rows.cluster[items], state.rows.chance[items]
    mine = (rows == label[:, None]) & (label >= 0)[:, None]
    chance: NDArray[np.float64] = (at * mine).sum(axis=1).astype(np.float64)
    for place in np.flatnonzero((label >= 0) & ~mine.any(axis=1)).tolist():
        cluster = int(label[place])
        if book.clusters.size[cluster] > 1:  # its cluster is no candidate: the votes alone say
            yes, no = book.votes.on(items[place], book.clusters.alias).get(cluster, (0.0, 0.0))
            chance[place] = _sigmoid(yes * state.fit.rates.mark + no * state.fit.rates.no_mark - _MERGE)
        else:
            chance[place] = 1.0
    chance[label < 0] = 1.0
    return chance


def calibrated(state: State, chance: float, curve: int) -> float:
    """Return a probability as cells of this kind came true."""
    slope, shift = state.fit.platt[curve].tolist()
    return _sigmoid(slope * _log_odds(chance) + shift)


# -- one sheet -------------------------------------------------------------------------------------------------------------


def _take_over(state: State) -> None:
    """Begin with what is known from elsewhere: items that are the same are a cluster, and all of it counts as votes."""
    book = state.book
    known = [(pair, said) for pair, said in sorted(state.outside.items()) if pair[1] < state.items]  # others are not there yet
    same = [pair for pair, said in known if said]
    for u, v in same:
        first, second = int(book.clusters.label[u]), int(book.clusters.label[v])
        if first < 0 and second < 0:
            first = book.clusters.found(u)
        if first >= 0 and second >= 0 and first != second:
            book.votes.merge(*reversed(book.clusters.merge(first, second)))
        elif first != second:
            book.clusters.place([u, v], max(first, second))
        cluster = int(book.clusters.label[u])
        _vote(book, u, cluster, marked=True)
        _vote(book, v, cluster, marked=True)
    for (u, v), said in known:
        if not said:
            for item, other in ((u, v), (v, u)):
                if book.clusters.label[other] >= 0:
                    _vote(book, item, int(book.clusters.label[other]), marked=False)


def _note_asked(state: State, sheet: Sheet) -> None:
    book = state.book
    if sheet.drawn:
        book.drawn.append((sheet.anchor, len(book.clusters.members), sheet.page))
    if book.clusters.label[sheet.anchor] < 0:
        book.clusters.found(sheet.anchor)
        state.own[sheet.anchor] = 1.0
    cluster = int(book.clusters.label[sheet.anchor])
    book.shown[cluster] = book.shown.get(cluster, 0) + 1
    size = int(book.clusters.size[cluster])
    if sheet.kind is Kind.ODD:
        book.odd_size[cluster] = size
        book.final_size[cluster] = size
    elif sheet.kind is Kind.CHECK:
        book.checked[cluster] = book.checked.get(cluster, 0) + 1
    elif sheet.kind in (Kind.PAGE, Kind.RANDOM):
        book.paged[sheet.anchor] = book.paged.get(sheet.anchor, 0) + 1
        book.queue = tuple(one for one in book.queue if one[0] != sheet.anchor)


def _note_told(state: State, sheet: Sheet, values: Values) -> None:
    book = state.book
    book.glances += 1
    if book.clusters.label[sheet.anchor] < 0:  # it has left its cluster meanwhile
        book.clusters.found(sheet.anchor)
    said = [(cell, value >= 0.5) for cell, value in zip(sheet.cells, values, strict=True) if value is not None]
    for cell, value in zip(sheet.cells, values, strict=True):
        if value is None:
            book.unclear[cell] = book.unclear.get(cell, 0) + 1
    if not said and sheet.cells:
        book.unclear[sheet.anchor] = book.unclear.get(sheet.anchor, 0) + 1
    book.cells = [*book.cells, *((sheet.anchor, cell, marked) for cell, marked in said)][-RATED:]
    book.marks = book.marks[0] + sum(marked for _, marked in said), book.marks[1] + len(said)
    if sheet.kind in (Kind.PAGE, Kind.RANDOM):
        _tell_page(state, sheet, values)
    elif sheet.kind is Kind.ODD:
        _tell_odd(state, sheet, said)
    else:
        _tell_cluster(state, sheet, values)


def _tell_cluster(state: State, sheet: Sheet, values: Values) -> None:
    """A cluster, or an item that may found one, beside items and clusters."""
    book, clusters = state.book, state.book.clusters
    cluster = int(clusters.label[sheet.anchor])
    size = int(clusters.size[cluster])
    items: list[tuple[int, bool, float]] = []
    groups: list[tuple[float, int, bool]] = []
    fresh: list[Seen] = []
    curve = ON_SEED if sheet.kind is Kind.SEED else ON_CLUSTER
    for cell, role, chance, value in zip(sheet.cells, sheet.roles, sheet.chance, values, strict=True):
        if value is None:
            continue
        marked, other = value >= 0.5, int(clusters.label[cell])
        if other >= 0 and other != cluster and (role == GROUP or clusters.size[other] <= SMALL):
            groups.append((chance, other, marked))
            if role == GROUP and sheet.kind is not Kind.SEED:
                fresh.append(Seen(ON_GROUP, _log_odds(chance), marked, book.glances))
        else:
            items.append((cell, marked, chance))
            if other < 0 and role == ITEM:
                fresh.append(Seen(curve, _log_odds(chance), marked, book.glances))
    if _is_bad_anchor(state, sheet, fresh, size):
        book.bad_anchors |= {(cluster, sheet.anchor)}
        _vote(book, sheet.anchor, cluster, marked=False)
        _leave(state, [sheet.anchor], cluster)
        return
    book.seen = _trimmed([*book.seen, *fresh])
    for cell, marked, _ in items:
        _vote(book, cell, cluster, marked=marked)
    founding = state.careful and sheet.fresh and not any(marked for _, _, marked in groups)
    for (
        _,
        other,
        marked,
    ) in groups:  # what is founded because nothing was marked is compared once more: a mark may have been missed
        if not founding:
            book.votes.add_pair(cluster, other, marked=marked)
    hits = [(chance, other) for chance, other, marked in groups if marked]
    if sheet.kind is Kind.CHECK and groups:
        apart = math.prod(1.0 - _sigmoid(_log_odds(chance) + state.fit.rates.mark) for chance, _ in hits)
        book.looks.append(Look(book.checked.get(cluster, 1) - 1, 1.0 - apart))
    if sheet.kind is Kind.SEED and groups:
        book.fresh.append(Fresh(not hits, book.glances, 1.0 if sheet.drawn else SEED_WEIGHT))
    for chance, other in sorted(hits, reverse=True):
        cluster = _joined(state, cluster, other, chance)
    wanted = _log_odds(state.sure)
    joining = []
    for cell, marked, chance in items:
        likely = not state.careful or _log_odds(calibrated(state, chance, curve)) + state.fit.rates.mark > wanted
        if marked and clusters.label[cell] < 0 and likely:
            joining.append((cell, chance))
    clusters.place([cell for cell, _ in joining], cluster)
    if sheet.drawn and clusters.size[cluster] == 1:
        book.queue = (*book.queue, (sheet.anchor, False))
    for cell, chance in joining:
        state.own[cell] = _sigmoid(_log_odds(chance) + state.fit.rates.mark)
    _leave(state, [cell for cell, marked, _ in items if not marked], cluster)


def _is_bad_anchor(state: State, sheet: Sheet, fresh: list[Seen], size: int) -> bool:
    """Whether many hits were expected and nearly none came: then the anchor is not what it was taken for."""
    book = state.book
    if size < BAD_SIZE or len(book.seen) <= BAD_AFTER or sheet.kind is not Kind.CLUSTER:
        return False
    items = [one for one in fresh if one.curve == ON_CLUSTER]
    wanted = sum(calibrated(state, _sigmoid(one.odds), ON_CLUSTER) for one in items)
    came = sum(one.marked for one in items)
    known = (int(book.clusters.label[sheet.anchor]), sheet.anchor) in book.bad_anchors
    return wanted >= BAD_WANTED and came <= BAD_SHARE * wanted and not known


def _tell_page(state: State, sheet: Sheet, values: Values) -> None:
    """One item beside clusters: where does it belong?"""
    book, clusters, item = state.book, state.book.clusters, sheet.anchor
    own = int(clusters.label[item])
    alone = clusters.size[own] == 1
    hits, said = [], 0
    for cell, value in zip(sheet.cells, values, strict=True):
        other = int(clusters.label[cell])
        if value is None or other < 0:
            continue
        said += 1
        if alone and state.careful:
            book.votes.add_pair(own, other, marked=value >= 0.5)
        else:
            _vote(book, item, other, marked=value >= 0.5)
        if value >= 0.5 and other not in hits:
            hits.append(other)
    if sheet.guess != NOT_ASKED and said:
        right = not hits if sheet.guess < 0 else values[sheet.guess] == 1.0
        book.random.append(_random_page(state, sheet, hits, right=right, alone=alone))
    if hits:
        chances = state.score([item], leave=bool(alone)).of(0)
        best = max(hits, key=lambda one: (chances.get(one, 0.0), -one))
        if alone and state.careful:
            believed = belief(state, item)
            best = max(hits, key=lambda one: (float(believed[one]), -one))
            again = book.paged.get(item, 0) < PAGES
            if believed[best] < (state.sure if again else 0.5):
                if again:
                    book.queue = (*book.queue, (item, sheet.kind is Kind.RANDOM))
                elif sheet.fresh:
                    book.fresh.append(Fresh(new=True, glance=book.glances, weight=1.0))
                return
        if alone or (own not in hits and chances.get(own, 0.0) < STAYS):
            clusters.place([item], best)
        cluster = int(clusters.label[item])
        for other in sorted(set(hits) - {cluster}):
            if clusters.size[other]:
                book.votes.add_pair(cluster, other, marked=True)
                cluster = _joined(state, cluster, other, 0.05)
        if sheet.fresh:
            book.fresh.append(Fresh(new=False, glance=book.glances, weight=1.0))
    elif not alone:
        _leave(state, [item], own)
    elif said:
        most = RANDOM_PAGES if sheet.kind is Kind.RANDOM else PAGES
        if book.paged.get(item, 0) < most and len(sheet.cells) == state.cells:
            book.queue = (*book.queue, (item, sheet.kind is Kind.RANDOM))
        elif sheet.fresh:
            book.fresh.append(Fresh(new=True, glance=book.glances, weight=1.0))


def _random_page(state: State, sheet: Sheet, hits: list[int], *, right: bool, alone: bool) -> RandomPage:
    """What a random page says: an item is right if its cluster was marked, and no larger one, which would be the main one."""
    clusters = state.book.clusters
    guessed = int(clusters.label[sheet.cells[sheet.guess]]) if sheet.guess >= 0 else -1
    size = 0 if guessed < 0 else int(clusters.size[guessed])
    shown = {int(clusters.label[cell]) for cell in sheet.cells} - {guessed, -1}
    larger = [one for one in shown if (clusters.size[one], -one) > (size, -guessed)]
    right = right and not set(hits) & set(larger)
    return RandomPage(state.book.glances, not sheet.fresh, sheet.sure, right, len(larger), len(hits), alone and not hits)


def _tell_odd(state: State, sheet: Sheet, said: list[tuple[int, bool]]) -> None:
    """Members of one cluster: if many do not belong, it is split; other members go to the nearer side."""
    book, clusters = state.book, state.book.clusters
    cluster = int(clusters.label[sheet.anchor])
    inside = [(cell, marked) for cell, marked in said if clusters.label[cell] == cluster]
    others, same = [cell for cell, marked in inside if not marked], [cell for cell, marked in inside if marked]
    for cell, marked in inside:
        _vote(book, cell, cluster, marked=marked)
    book.odd = book.odd[0] + len(others), book.odd[1] + len(inside)
    if len(others) < max(ODD_LEAST, ODD_SHARE * len(inside)):
        _leave(state, others, cluster)
        return
    same.append(sheet.anchor)
    shown = set(others) | set(same)
    rest = np.array([one for one in clusters.members[cluster].tolist() if one not in shown], np.int64)
    part = list(others)
    if len(rest):
        part += rest[_nearness(state, rest, others) < _nearness(state, rest, same)].tolist()
    clusters.place([part[0]], UNPLACED)
    new = clusters.found(part[0])
    clusters.place(part, new)
    book.votes.move(part, cluster, new, clusters.alias)
    for cell in others:
        _vote(book, cell, new, marked=True)
        _vote(book, cell, cluster, marked=False)
    book.votes.add_pair(cluster, new, marked=False, times=2.0)
    book.odd_size[new] = 0


def _nearness(state: State, rest: NDArray[np.int64], side: list[int]) -> NDArray[np.float64]:
    """Mean squared distance of each to the nearest few of one side."""
    rows = state.fit.space.rows
    away = np.square(rows[rest][:, None].astype(np.float64) - rows[side][None]).sum(axis=2)
    return np.asarray(np.sort(away, axis=1)[:, : min(NEAR, len(side))].mean(axis=1))


def _vote(book: Book, item: int, cluster: int, *, marked: bool) -> None:
    book.votes.add(item, cluster, marked=marked)
    book.clusters.moved.add(item)


def _leave(state: State, items: list[int], cluster: int) -> None:
    """Members that were not marked leave if they are more likely elsewhere."""
    clusters = state.book.clusters
    members = [item for item in items if clusters.label[item] == cluster]
    if members:
        rows = state.score(members)
        gone = [item for place, item in enumerate(members) if rows.of(place).get(cluster, 0.0) < STAYS]
        clusters.place(gone[: int(clusters.size[cluster]) - 1], UNPLACED)


def _joined(state: State, a: int, b: int, chance: float) -> int:
    """Merge two clusters if votes and chance say so; return the cluster that `a` is in then.

    Two marks with different members are wanted, because one wrong one would make one cluster of two; of a cluster of one or two
    items one mark is enough.
    """
    book, clusters = state.book, state.book.clusters
    if a == b or not clusters.size[a] or not clusters.size[b]:
        return a
    small = min(clusters.size[a], clusters.size[b]) <= SMALL
    low, high = (0.004, 0.98) if small and not state.careful else (0.01, 0.1)
    yes, no = book.votes.pairs.get(pair_of(a, b), (0.0, 0.0))
    odds = _log_odds(min(max(chance, low), high)) + yes * state.fit.rates.mark + no * state.fit.rates.no_mark
    if odds <= (0.0 if small and not state.careful else _MERGE):
        less, more = (a, b) if clusters.size[a] <= clusters.size[b] else (b, a)
        if not (small and state.careful) or belief(state, int(clusters.members[less][0]))[more] < state.sure:
            return a
    into, gone = clusters.merge(a, b)
    book.votes.merge(gone, into)
    return into


def _trimmed(seen: list[Seen]) -> list[Seen]:
    if len(seen) <= 4 * SEEN:
        return seen
    return [one for curve in (ON_CLUSTER, ON_SEED, ON_GROUP) for one in [one for one in seen if one.curve == curve][-SEEN:]]


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0


def _log_odds(chance: float) -> float:
    sane = min(max(chance, 1e-6), 1 - 1e-6)
    return math.log(sane / (1 - sane))

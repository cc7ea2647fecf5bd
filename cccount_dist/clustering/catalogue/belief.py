"""Where an item belongs that is alone, or in no cluster: what its vector says, moderated, and what people said.

With few items placed the posterior is surer than it should be, and a sheet of 24 cells has a false mark now and then. So half of
what is believed before votes is spread over all clusters and "new", and a mark moves an item only where that makes it likely.
Time and memory O(K) for an item.
"""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.state import State
from cccount_dist.clustering.catalogue.votes import pair_of

SPREAD = 0.5  # share of what is believed that does not rest on vectors
RECENT = 64  # items without a cluster that were asked about, from which the share of new ones is taken
HALF_LIFE = 30.0  # glances after which such an item counts half
_MOST = 60.0  # log-odds of votes


def new_share(state: State) -> float:
    """The share of unplaced items whose cluster is not known: random pages say it, and seed sheets; what is old fades."""
    recent = state.book.fresh[-RECENT:]
    weight = np.array([one.weight * 0.5 ** ((state.book.glances - one.glance) / HALF_LIFE) for one in recent])
    new = np.array([one.new for one in recent], np.float64)
    return (float((weight * new).sum()) + 0.25) / (float(weight.sum()) + 0.5)


def belief(state: State, item: int) -> NDArray[np.float64]:
    """Return how likely an item is in each other cluster (K,); what is missing to 1 is how likely it is in none of them."""
    book, rates = state.book, state.fit.rates
    clusters, own = book.clusters, int(book.clusters.label[item])
    count = len(clusters.members)
    said = np.zeros(count)
    for cluster, (yes, no) in book.votes.on(item, clusters.alias).items():
        said[cluster] += yes * rates.mark + no * rates.no_mark
    rows = state.score([item], leave=True)
    at = rows.cluster[0][rows.cluster[0] >= 0]
    raw = np.zeros(count + 1)
    raw[at] = np.log(np.maximum(rows.chance[0][: len(at)].astype(np.float64), 1e-30)) - said[at]
    top = max(float(raw[at].max(initial=-np.inf)), float(np.log(max(float(rows.new[0]), 1e-30))))
    raw[at] = np.exp(raw[at] - top)
    raw[count] = float(rows.new[0]) / np.exp(top)
    there = clusters.size[:count] > 0
    if own >= 0:
        there[own] = False
        for other in np.flatnonzero(there).tolist():
            yes, no = book.votes.pairs.get(pair_of(own, other), (0.0, 0.0))
            said[other] += yes * rates.mark + no * rates.no_mark
    share = new_share(state)
    found = (1.0 - SPREAD) * raw / raw.sum()
    found[:count][there] += SPREAD * (1.0 - share) / max(int(there.sum()), 1)
    found[count] += SPREAD * share
    found[:count] *= np.where(there, np.exp(np.clip(said, -_MOST, _MOST)), 0.0)
    return np.asarray(found[:count] / found.sum())

"""How many groups are expected to be parts of others: because a mark was missed, or they were never shown beside each other.

Every group is compared with the nearest others (`catalogue/choice.py`). How often such a sheet found a part says how likely two
near groups are of one class before anybody compared them; votes move that. Time O(K² p).
"""

import math

from cccount_dist.clustering.catalogue.nearest import nearest_clusters
from cccount_dist.clustering.catalogue.rates import USUAL_MISS
from cccount_dist.clustering.catalogue.state import State
from cccount_dist.clustering.catalogue.votes import pair_of

RECENT, WEIGHT, USUAL = 40, 4.0, 0.15  # sheets that count, and what is expected before the first, worth so many
LEAST = 0.1  # what is expected as long as items are in no group
NEAR = 2.0  # the nearest is likelier a part than the next one, as 1 / (place + 2)
UNLIKE = 0.07  # parts that differ so much that nobody marks them, in addition to what is missed
FAR = 0.05  # parts that are not among the nearest, for each that is


def expected_parts(state: State) -> float:
    """Return the number of groups that are expected to be parts of others."""
    book, rates = state.book, state.fit.rates
    nearest = nearest_clusters(state)
    near = {pair_of(cluster, other) for cluster, others in nearest.items() for other in others}
    if not near:
        return 0.0
    recent = [look.part for look in book.looks if not look.before][-RECENT:]
    found = (sum(recent) + WEIGHT * USUAL) / (len(recent) + WEIGHT)
    if len(book.clusters.unplaced):  # they may found new ones
        found = max(found, LEAST)
    no_mark = math.log(
        (max(rates.miss, USUAL_MISS) + UNLIKE) / (1.0 - rates.false)
    )  # what is missed makes parts, and hides in them
    most = max(len(others) for others in nearest.values())
    whole = sum(1.0 / (place + NEAR) for place in range(most))
    before = dict.fromkeys(near, 0.0)
    for cluster, others in nearest.items():
        for place, other in enumerate(others):
            pair = pair_of(cluster, other)
            before[pair] = max(before[pair], found / (place + NEAR) / whole)
    total = 0.0
    for pair in near | {pair for pair, (yes, _) in book.votes.pairs.items() if yes and set(pair) <= nearest.keys()}:
        yes, no = book.votes.pairs.get(pair, (0.0, 0.0))
        chance = before.get(pair, found / most / NEAR)
        odds = math.log(chance / (1.0 - chance)) + yes * rates.mark + no * no_mark
        total += 1.0 / (1.0 + math.exp(min(-odds, 50.0)))
    return total * (1.0 + FAR)

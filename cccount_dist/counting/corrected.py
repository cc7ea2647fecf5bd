"""A count by what was seen, kept to what people corrected by hand: the sampler's own answers cannot take that back.

A merge makes two clusters of the sample one, a split makes one two; the sample stays the random one that it was, so the estimate
from its sizes holds. Groups that were searched for (`sheets`) are no such sample: the estimate moves by as many as there are
more or fewer. Time: the sample and the corrections, and one extrapolation.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cccount_dist.clustering.respecting import respecting
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.richness import richness

SEARCHED = "drawn"  # in the details of a count whose groups were searched for: how many items were drawn at random beside


def corrected(
    result: CountResult, clusters: Sequence[Sequence[int]], links: Sequence[tuple[int, int, float]], items: int
) -> CountResult:
    """Return the result with what people said respected; `items`: how many there are that could have been drawn.

    As it is where nothing they said is about two pictures of the sample, or no estimate is there yet.
    """
    order = [item for cluster in clusters for item in cluster]
    place = {item: number for number, item in enumerate(order)}
    own = [(place[u], place[v], value) for u, v, value in links if u in place and v in place]
    if result.estimate is None or not own:
        return result
    before = np.repeat(np.arange(len(clusters)), [len(cluster) for cluster in clusters])
    labels = respecting(before, own, corrected=True)
    if np.array_equal(labels, before):
        return result
    counts = np.unique(labels, return_counts=True)[1]
    if SEARCHED in result.details:
        return _moved(result, len(counts) - len(clusters))
    fewer = max(len(clusters) - len(counts), 0)  # parts of others that a person has found meanwhile
    splits = max(result.details.get("false_splits", 0.0) - fewer, 0.0)
    unplaced = int(result.details.get("items_set_aside", 0.0))
    one = "if_equal" in result.details  # what was said of each belief: the interval is that of one posterior
    found = richness(counts, items, result.level, false_splits=splits, unplaced=unplaced, one=one)
    values, times = np.unique(counts, return_counts=True)
    details = {name: value for name, value in result.details.items() if not name.startswith("inverse")} | {
        "false_splits": splits, "clusters_found": max(len(counts) - splits, 1.0), **found.details,
    }  # fmt: skip
    return replace(
        result,
        estimate=found.estimate,
        low=found.low,
        high=found.high,
        certain_low=min(max(result.certain_low + len(counts) - len(clusters), 1.0), float(len(counts))),
        details=details,
        sizes=dict(zip(values.tolist(), times.tolist(), strict=True)),
    )


def _moved(result: CountResult, more: int) -> CountResult:
    """The result with so many clusters more (fewer, if negative) than it says."""
    estimate, low, high, certain = (
        max((number or 0.0) + more, 1.0) for number in (result.estimate, result.low, result.high, result.certain_low)
    )
    return replace(result, estimate=estimate, low=low, high=high, certain_low=certain)


__all__ = ["corrected"]

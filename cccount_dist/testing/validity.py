"""What a result must look like, whatever was answered: the types that samplers here return; of others only that they are there.

Time and memory: one pass over the result.
"""

import math

import numpy as np

from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.counting.result import CountResult
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.testing.difference import SamplerError


def check_result(result: object, items: int, askable: frozenset[int]) -> None:
    """Raise `SamplerError` if a result cannot be."""
    if isinstance(result, CountResult):
        _check_count(result, len(askable))
    elif isinstance(result, Grouping):
        _check_grouping(result, items, askable)
    elif isinstance(result, Subclusters):
        _check_subclusters(result, askable)
    elif result is None:
        raise SamplerError("result() returned None: it gives the best result so far at any time")


def _check_count(result: CountResult, items: int) -> None:
    numbers = [result.low, result.high, result.certain_low, *([] if result.estimate is None else [result.estimate])]
    if not all(math.isfinite(number) for number in [*numbers, *result.details.values()]):
        raise SamplerError(f"a number of the result is not finite: {result}")
    if not result.low <= result.high:
        raise SamplerError(f"the interval from {result.low} to {result.high} cannot be: {result}")
    if result.estimate is None and (result.low > 1.0 + items or result.high < items):
        raise SamplerError(f"nothing is known, and the interval is not the certain one, up to {items}: {result}")


def _check_grouping(result: Grouping, items: int, askable: frozenset[int]) -> None:
    labels = result.labels
    if labels.shape != (items,) or labels.dtype != np.int64:
        raise SamplerError(f"labels are {labels.shape} {labels.dtype}, and there are {items} items: ({items},) int64")
    if labels.tolist() != numbered(labels).tolist():
        raise SamplerError(f"labels are not numbered from 0 by first appearance: {labels.tolist()}")
    absent = [item for item in range(items) if item not in askable and labels[item] >= 0]
    if absent:
        raise SamplerError(f"item {absent[0]} must not be asked about, and is in cluster {labels[absent[0]]}: its label is -1")


def _check_subclusters(result: Subclusters, askable: frozenset[int]) -> None:
    filled = result.members[result.members != EMPTY].tolist()
    if len(filled) != len(set(filled)):
        raise SamplerError(f"an item is in two subclusters: {result.members.tolist()}")
    if strange := sorted(set(filled) - askable):
        raise SamplerError(f"item {strange[0]} must not be asked about, and is in a subcluster")

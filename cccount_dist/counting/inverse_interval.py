"""From the lengths of inverse-sampling replicates to an estimate and an interval on the log scale, with Student's t.

All replicates of a number fixed in advance are complete: the mean, exactly unbiased. A budget has cut the next one: T draws in
all and R complete ones are a renewal process, where E R = T/K + (CV² - 1)/2, so T/R is too large; K̂ = T/(R + (1 + CV²)/2) takes
this out to first order (for equal clusters it is the likelihood's T/R, corrected as T/(R + 1)). O(R).
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betaincinv, stdtrit

_FEW = 10  # replicates that took more than one draw: below, a normal interval is out of place


def inverse_result(lengths: Sequence[int], cut: int | None, items: int, level: float) -> tuple[float | None, float, float]:
    """Return estimate, low and high; `cut` is what an incomplete replicate has so far, None if there is none to come.

    The interval is cut at 1 and n; the estimate is not, because that would bias it.

    >>> inverse_result([3, 1, 2], None, 10, 0.95)[0], inverse_result([3, 1, 2], 0, 10, 0.95)[0]
    (2.0, 1.6)
    """
    certain = (1.0, float(items))
    count = len(lengths)
    if count == 0:
        return None, *certain
    total = sum(lengths) + (cut or 0)
    spread = _squared_variation(lengths, cut)
    estimate = total / count if cut is None else total / (count + (1.0 + spread) / 2)
    if count < 2:
        return estimate, *certain
    # Long replicates are worth less than their number: Student's t gets the degrees of freedom of R/CV² equal ones.
    freedom = max(1.0, count / max(spread, 1.0) - 1.0)
    half = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(max(spread, 1e-12) / count)
    low = estimate * math.exp(-half)
    high = estimate * math.exp(min(half, 700.0))
    if (longer := sum(length > 1 for length in lengths)) < _FEW:
        # Nearly all replicates ended at once: how many items lie in small clusters was hardly seen. At most this share of all
        # items does (Clopper and Pearson), and each of these may be a cluster.
        share = 1.0 if longer == count else float(betaincinv(longer + 1, count - longer, 0.5 + level / 2))
        high = max(high, 1.0 + share * (items - 1))
    return estimate, min(max(low, 1.0), certain[1]), min(max(high, 1.0), certain[1])


def replicates_in(drawn: Sequence[int]) -> tuple[list[int], int]:
    """Return the replicates that a random sequence of clusters holds, and what the last one has so far if it is not complete.

    A replicate is an item and those drawn after it until one is of the same cluster; then the next item begins one.

    >>> replicates_in([3, 1, 3, 2, 2, 5, 1])
    ([2, 1], 1)
    """
    lengths: list[int] = []
    wanted: int | None = None
    length = 0
    for cluster in drawn:
        if wanted is None:
            wanted, length = cluster, 0
            continue
        length += 1
        if cluster == wanted:
            lengths.append(length)
            wanted = None
    return lengths, length if wanted is not None else 0


def _squared_variation(lengths: Sequence[int], cut: int | None) -> float:
    """Return CV² of one replicate, never below 1 - 1/K: less is impossible, whatever the sizes and weights are.

    Var = E[2/p²] - E[1/p] - K² ≥ K² - K by Jensen, with p the weight of the cluster and K = E[1/p].
    """
    values = np.array(lengths, float)
    if cut is not None and cut > values.mean():  # it will be at least as long: leaving it out would hide the spread
        values = np.append(values, cut)
    mean = values.mean()
    sample = values.var(ddof=1) / mean**2 if len(values) > 1 else 0.0
    return float(max(sample, 1.0 - 1.0 / mean))

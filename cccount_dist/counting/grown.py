"""A count whose collection grew: what it came to before holds until the larger random order says more.

New items are drawn into the random order, so that the first of them that nobody placed ends the sample on which an estimate may
rest, however many old ones were placed. But m items more are at most m clusters more: whoever was sure that there are L to H is
as sure that there are now L to H + m. That holds without a single new answer, and is what people are told until as many items are
placed in the new order as in the old one, or fewer give a narrower interval.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cccount_dist.counting.result import CountResult

UNCOUNTED = "new_items"  # among the details of a result: items that it does not rest on


def remembered(
    row: Mapping[str, Any], details: Mapping[str, float], before: Mapping[str, float] | None
) -> dict[str, float] | None:
    """What is kept of the last estimate when an epoch begins; None if there was none. `before`: what the last epoch kept."""
    if row["estimate"] is None:
        return None
    return {
        "estimate": row["estimate"],
        "low": row["low"],
        "high": row["high"],
        "seen": row["clusters_seen"] or 1.0,
        "placed": details.get("items_placed", (before or {}).get("placed", 0.0)),
        UNCOUNTED: details.get(UNCOUNTED, 0.0),
    }


def with_earlier(result: CountResult, before: Mapping[str, float] | None, more: int) -> CountResult:
    """Return the result, or what was known before `more` items came (fewer if negative), whichever says more.

    >>> before = {"estimate": 12.0, "low": 10.0, "high": 14.0, "seen": 12.0, "placed": 37.0, "new_items": 0.0}
    >>> with_earlier(CountResult(None, 1.0, 73.0, 0.95, 0, 0), before, 36).high
    50.0
    """
    if before is None or result.anchors >= before["placed"] > 0.0:
        return result
    low, high = max(1.0, before["low"] + min(0, more)), before["high"] + max(0, more)
    if result.estimate is not None and result.high - result.low <= high - low:
        return result
    new = before[UNCOUNTED] + max(0, more)
    return replace(
        result,
        estimate=min(max(before["estimate"], low), high),
        low=low,
        high=high,
        certain_low=max(result.certain_low, before["seen"] + min(0, more)),
        details={UNCOUNTED: new} if new else result.details,
        sizes={} if new else result.sizes,
    )

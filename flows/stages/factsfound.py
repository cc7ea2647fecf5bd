"""What is known of the pictures of a collection beside their looks, in a line: so a wrong pattern or clock is seen at once."""

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.campaign.answerwords import plural
from storage.collection import SIDES


def facts_found(table: pa.Table) -> str | None:
    """Return how many pictures have a time and from when to when, coordinates, a place, a side; None without time and side.

    >>> facts_found(pa.table({"taken_at": [None], "latitude": [1.0], "group": ["a"], "side": [None]})) is None
    True
    >>> facts_found(pa.table({"taken_at": [None, None], "latitude": [None, None], "group": ["a", "a"], "side": ["left", None]}))
    'Known of them: 1 place, sides (left 1, not known 1).'
    """
    times, sides = table.column("taken_at").drop_null(), Counter(table.column("side").to_pylist())
    if not len(times) and not set(sides) - {None}:
        return None
    said = []
    if len(times):
        ends = pc.min_max(times)
        first, last = (ends[name].as_py().date() for name in ("min", "max"))
        missing = len(table) - len(times)
        said.append(f"times from {first} to {last}{f' (not of {missing:,})' if missing else ''}")
    if placed := len(table.column("latitude").drop_null()):
        said.append(f"coordinates{f' of {placed:,}' if placed < len(table) else ''}")
    if places := len(pc.unique(table.column("group").drop_null())):
        said.append(plural(places, "place"))
    if set(sides) - {None}:
        names = [f"{side} {sides[side]:,}" for side in SIDES if sides[side]]
        said.append(f"sides ({', '.join([*names, *([f'not known {sides[None]:,}'] if sides[None] else [])])})")
    return f"Known of them: {', '.join(said)}."


__all__ = ["facts_found"]

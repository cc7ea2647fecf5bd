"""Points that two pictures share, for whoever wants to see them: worked out from the stored features when they are asked for.

Time: two reads of a shard (10 MB each) and one pair, some tens of milliseconds; nothing is kept.
"""

from cccount_dist.similarity.localmatches import SIDE, matched_points, places
from storage.errors import CccountError
from storage.schema import FEATURES
from storage.workspace import Workspace


def shared_points(workspace: Workspace, first: int, second: int) -> list[tuple[float, float, float, float]] | None:
    """Return x, y in the first picture and x, y in the second of every point, as shares of their width and height.

    None where pictures were not looked at: nobody ran `cccount matches`, or not since these items came.
    """
    if not workspace.has_array(FEATURES):
        return None
    array = workspace.array(FEATURES)
    try:
        # In the order in which they were compared: the same points, whichever picture is shown first.
        one, other = (array.read(item, item + 1)[0] for item in sorted((first, second)))
    except CccountError:  # being computed just now, or of fewer items
        return None
    pairs = matched_points(one, other)
    here, there = places(one)[pairs[:, 0]] / SIDE, places(other)[pairs[:, 1]] / SIDE
    if first > second:
        here, there = there, here
    return [(a, b, c, d) for (a, b), (c, d) in zip(here.tolist(), there.tolist(), strict=True)]


__all__ = ["shared_points"]

"""How many classes each side shows, for methods that must be told how many there are. Light to import.

K that a person gives is that of every side: an animal has two. A count that kept sides apart says it of each side, and a campaign
that takes its K from there is frozen with all of them.
"""

from collections.abc import Mapping

from storage.settings import Scalar


def written(of_side: Mapping[str, int]) -> str:
    """Return the numbers as a campaign is frozen with them.

    >>> written({"left": 41, "right": 44})
    'left=41, right=44'
    """
    return ", ".join(f"{side}={clusters}" for side, clusters in of_side.items())


def clusters_of(side: str, items: int, clusters: int | None, of_side: Scalar | None) -> int | None:
    """Return K for one side that has so many items; None if nobody told K.

    >>> clusters_of("right", 500, 41, "left=41, right=44"), clusters_of("other", 12, 41, "left=41, right=44")
    (44, 12)
    """
    if clusters is None:
        return None
    own = dict(pair.split("=") for pair in str(of_side or "").split(", ") if pair)
    return min(int(own.get(side, clusters)), items)


def said(of_side: str) -> str:
    """The same for people.

    >>> said("left=41, right=44")
    '41 (left), 44 (right)'
    """
    pairs = (pair.split("=") for pair in of_side.split(", "))
    return ", ".join(f"{clusters} ({side})" for side, clusters in pairs)


__all__ = ["clusters_of", "said", "written"]

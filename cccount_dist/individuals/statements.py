"""What a correction by hand says about pairs of pictures: the answers that it is in the log.

Merging and confirming say that all these pictures are the same; splitting and moving also which ones they are not. A correction
names every picture that the person was shown, so that it holds whatever a method makes of the rest. Pure; time: the pictures.
"""

from collections.abc import Sequence

from cccount_dist.sampling.types import DIFFERENT, SAME

Pair = tuple[int, int, float]


def all_the_same(items: Sequence[int]) -> list[Pair]:
    """Return the answers that these pictures show one individual: each is the same as the first.

    >>> all_the_same([4, 7, 9])
    [(4, 7, 1.0), (4, 9, 1.0)]
    """
    return [(items[0], item, SAME) for item in items[1:]]


def parted(marked: Sequence[int], rest: Sequence[int]) -> list[Pair]:
    """Return the answers that the marked pictures show one individual, and none of the rest shows that one.

    Nothing is said about the rest: whether those are one individual was not the question.

    >>> parted([1, 2], [5, 6])
    [(1, 2, 1.0), (1, 5, 0.0), (1, 6, 0.0)]
    """
    return [*all_the_same(marked), *((marked[0], item, DIFFERENT) for item in rest)]


def moved(item: int, there: Sequence[int], rest: Sequence[int]) -> list[Pair]:
    """Return the answers that a picture shows the individual of the pictures `there`, and not that of the rest.

    >>> moved(3, [8, 9], [1])
    [(3, 8, 1.0), (3, 9, 1.0), (3, 1, 0.0)]
    """
    return [*((item, other, SAME) for other in there), *((item, other, DIFFERENT) for other in rest)]


__all__ = ["Pair", "all_the_same", "moved", "parted"]

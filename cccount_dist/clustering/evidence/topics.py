"""What can be asked about, most valuable first: two blocks (are they one?), or the two halves of a past merge (is it pure?).

Every purpose begins with "confirm": an answer that follows from others is no vote of its own, so each question goes to a person
even where the closure knows. With 5 % wrong answers, inferred votes made the groups worse on market20 and digits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.agglomerate import LARGE
from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Floats, Ints, Merges, Pairs, Partition
from cccount_dist.clustering.evidence.questions import Worth, best_first
from cccount_dist.clustering.evidence.representatives import side

CONFIRM = 0.02  # share of all pairs inside blocks from which a surprising answer is confirmed
_THRICE = 0.05  # P of an answer about whole classes (LARGE) below which three of it must agree
_AGAIN = " again"
_UNSURE = 0.5  # what is left of a value after each unsure answer


@dataclass(frozen=True, slots=True)
class Topic:
    """Two sets of micro-clusters that a question may be asked about."""

    purpose: str
    left: tuple[int, ...]  # micro-clusters that stand for both sets
    right: tuple[int, ...]
    features: Floats  # (4,)
    doubt_same: bool  # whether "same" would be a surprise: the partition has them apart
    doubt_different: bool  # whether "different" would be: the partition has them together, or the model would
    teaches: bool  # nothing was asked between them: the model learns from the answer
    needs: int  # votes that must agree before a surprising answer counts: 1, or more where it moves many items
    case: int | None = None  # first question about these sets, if this one confirms it


def again_about(topic: Topic, case: int) -> Topic:
    """Return the topic of a question that confirms the first one of a case."""
    return replace(topic, purpose=f"{topic.purpose.removesuffix(_AGAIN)}{_AGAIN}", case=case)


class Topics:
    """Topics one after another: first those that are told, then the `count` most valuable ones, worked out when they are wanted.

    A snapshot keeps how many were taken: the list is then begun again and goes on from there.
    """

    __unsaved__: ClassVar = ("_source",)

    def __init__(
        self, first: Sequence[Topic], micro: Micro, partition: Partition, worth: Worth, count: int, unsure: NDArray[np.int64]
    ) -> None:
        self._first = first
        self._of = micro, partition, worth, count, unsure
        self._taken = 0
        self._source: Iterator[Topic] | None = None

    def following(self) -> Topic | None:
        """Return the next topic; None after the last one."""
        if self._source is None:
            self._source = islice(chain(self._first, topics(*self._of)), self._taken, None)
        self._taken += 1
        return next(self._source, None)


def topics(micro: Micro, partition: Partition, worth: Worth, count: int, unsure: NDArray[np.int64]) -> Iterator[Topic]:
    """Yield the `count` most valuable topics, most valuable first."""
    if not count:
        return
    pair, merge = best_first(worth.pair, count), best_first(worth.merge, count)
    value = np.concatenate([worth.pair[pair], worth.merge[merge]])

    def halves(at: int) -> tuple[Ints, Ints]:
        return _blocks(partition, int(pair[at])) if at < len(pair) else _halves(partition, int(merge[at - len(pair)]))

    if len(unsure):
        value = value * [_UNSURE ** _between(partition, unsure, *halves(at)) for at in range(len(value))]
    for at in np.argsort(-value, kind="stable")[:count].tolist():
        if value[at] <= 0.0:
            return
        left, right = halves(at)
        source: Pairs | Merges = partition.pairs if at < len(pair) else partition.merges
        number = int(pair[at]) if at < len(pair) else int(merge[at - len(pair)])
        products = micro.size[left].sum() * micro.size[right].sum()
        known = bool(source.evidence[number] != 0.0)
        apart = at < len(pair)
        kind = "confirm apart" if apart else "confirm together"
        same = float(worth.same[number] if apart else worth.held[number])
        yield Topic(
            f"{kind}{_AGAIN}" if known else kind,
            side(micro, left),
            side(micro, right),
            source.features[number].copy(),  # a view would keep the whole partition in memory
            apart,
            not apart or same > 0.5,
            not known,
            1 if known else _needs(products / partition.within, same if apart else 1.0 - same),
        )


def _needs(share: float, likely: float) -> int:
    """Return how many votes make a surprising answer that moves this share of all pairs and that the model finds so likely."""
    if share > LARGE and likely < _THRICE:
        return 3
    return 2 if share > CONFIRM else 1


def _blocks(partition: Partition, number: int) -> tuple[Ints, Ints]:
    pairs = partition.pairs
    return partition.micros_of(int(pairs.first[number])), partition.micros_of(int(pairs.second[number]))


def _halves(partition: Partition, number: int) -> tuple[Ints, Ints]:
    merges = partition.merges
    return (
        partition.micros(int(merges.left[number]), int(merges.left_count[number])),
        partition.micros(int(merges.right[number]), int(merges.right_count[number])),
    )


def _between(partition: Partition, unsure: NDArray[np.int64], left: Ints, right: Ints) -> int:
    """Return how many unsure answers there are between two runs of the order."""
    at = partition.position[unsure]
    first, second = partition.position[left[0]], partition.position[right[0]]
    in_left = (at >= first) & (at < first + len(left))
    in_right = (at >= second) & (at < second + len(right))
    return int(((in_left[:, 0] & in_right[:, 1]) | (in_left[:, 1] & in_right[:, 0])).sum())

"""Step 7: questions that were asked, their answers, and which of them count.

A case is a question about a pair of sets together with the questions that confirm it. An answer about many items that contradicts
the partition or the model is held back, and asked again with other items at once; two against one settle it. What is held back
neither moves items nor teaches the model. All of it is worked out from the answers as they are: an undo is no special case.
Columns with one row for each question, so that a look at all of them takes microseconds, and a snapshot keeps and reads them as
they are; memory O(questions).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.logistic import Model, probability
from cccount_dist.clustering.evidence.micro import Micro
from cccount_dist.clustering.evidence.partition import Evidence, Floats, Ints
from cccount_dist.clustering.evidence.representatives import STANDING, pick
from cccount_dist.clustering.evidence.topics import Topic
from cccount_dist.clustering.evidence.worth import Rates

OPEN, UNSURE, DIFFERENT, SAME = -2, -1, 0, 1
_ROW = np.dtype([
    ("u", np.int64), ("v", np.int64), ("case", np.int64), ("reply", np.int64), ("features", np.float64, 4),
    ("doubt_same", bool), ("doubt_different", bool), ("teaches", bool), ("needs", np.int64), ("purpose", np.int64),
])  # fmt: skip
_NOBODY = -1  # in the place of a micro-cluster


@dataclass(frozen=True, slots=True)
class Asked:
    """A question."""

    id: int
    u: int
    v: int
    case: int  # id of the first question about these sets
    topic: Topic


@dataclass(frozen=True, slots=True)
class Count:
    """What counts at one moment."""

    evidence: Floats  # (q,) log-odds of each question; 0 if it is open, unsure or held back
    unsettled: Ints  # first questions of the cases that need another vote
    features: Floats  # (c, 4) of the cases that the model learns from
    votes: Floats  # (c,) answers "same" minus answers "different" of those cases
    lessons: Floats  # (c,) the log-odds that these votes are

    @property
    def answers(self) -> int:
        """How many answers count."""
        return int((self.evidence != 0.0).sum())


class Cases:
    """All questions so far, with the replies as they are now."""

    def __init__(self) -> None:
        self.pairs: set[tuple[int, int]] = set()
        self._count = 0
        self._rows = np.zeros(64, _ROW)
        self._sides = np.zeros((64, 2, STANDING), np.int32)  # micro-clusters that stand for both sets
        self._purposes: list[str] = []

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[np.void]:
        return self._rows[: self._count]

    def add(self, questions: Sequence[Asked]) -> None:
        for q in questions:
            if self._count == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
                self._sides = np.concatenate([self._sides, np.zeros_like(self._sides)])
            topic = q.topic
            if topic.purpose not in self._purposes:
                self._purposes.append(topic.purpose)
            row = (
                q.u, q.v, q.case, OPEN, topic.features, topic.doubt_same, topic.doubt_different,
                topic.teaches and q.id == q.case, topic.needs, self._purposes.index(topic.purpose),
            )  # fmt: skip
            self._rows[self._count] = row
            for place, side in enumerate((topic.left, topic.right)):
                self._sides[self._count, place] = [*side, *[_NOBODY] * (STANDING - len(side))]
            self._count += 1
            self.pairs.add((min(q.u, q.v), max(q.u, q.v)))

    def topic(self, case: int) -> Topic:
        """Return what the first question of a case was about."""
        row = self.rows[case]
        left, right = (tuple(side[side != _NOBODY].tolist()) for side in self._sides[case])
        return Topic(
            self._purposes[row["purpose"]], left, right, row["features"].copy(), bool(row["doubt_same"]),
            bool(row["doubt_different"]), bool(row["teaches"]), int(row["needs"]),
        )  # fmt: skip

    def reply(self, number: int, value: float | None) -> None:
        self._rows["reply"][number] = UNSURE if value is None else (SAME if value >= 0.5 else DIFFERENT)

    def count(self, micro: Micro, rates: Rates) -> Count:
        """Return what the replies amount to, if people err by these rates."""
        rows = self.rows
        q = len(rows)
        same = np.bincount(rows["case"], weights=rows["reply"] == SAME, minlength=q)
        different = np.bincount(rows["case"], weights=rows["reply"] == DIFFERENT, minlength=q)
        # A case hangs on a surprising vote until enough of them agree, or two of the others go against it.
        surprising = same * rows["doubt_same"] + different * rows["doubt_different"]
        enough = [np.where(rows[doubt], rows["needs"], 2) for doubt in ("doubt_same", "doubt_different")]
        hangs = (rows["needs"] > 1) & (surprising >= 1) & (same < enough[0]) & (different < enough[1])
        opened = np.bincount(rows["case"], weights=rows["reply"] == OPEN, minlength=q)
        for case in np.flatnonzero(hangs & (opened == 0)).tolist():
            topic = self.topic(case)
            hangs[case] = pick(micro, topic.left, topic.right, self.pairs) is not None  # else nobody can confirm it
        held = hangs[rows["case"]]
        reply = rows["reply"]
        evidence = np.where((reply >= 0) & ~held, rates.evidence(reply == SAME), 0.0)
        taught = rows["teaches"] & ~held
        lessons = rates.lesson(same[taught], different[taught])
        return Count(evidence, np.flatnonzero(hangs), rows["features"][taught], (same - different)[taught], lessons)

    def same(self, count: Count, model: Model) -> Ints:
        """Return the pairs (s, 2) of items that were called the same, where that counts and the model does not outweigh it."""
        rows = self.rows
        votes = np.bincount(rows["case"], weights=count.evidence, minlength=len(rows)).astype(np.float64)
        likely = probability(model, rows["features"], votes)[rows["case"]] > 0.5
        pairs = rows[(count.evidence > 0.0) & (votes[rows["case"]] > 0.0) & likely]
        return np.stack([pairs["u"], pairs["v"]], axis=1)


def summed(micro: Micro, cases: Cases, evidence: Floats, outside: tuple[Ints, Ints, Floats] | None = None) -> Evidence:
    """Return the evidence between micro-clusters; `outside`: that of pairs which are known from elsewhere."""
    counts = evidence != 0.0
    a, b = micro.label[cases.rows["u"][counts]].astype(np.int64), micro.label[cases.rows["v"][counts]].astype(np.int64)
    weights = evidence[counts]
    if outside is not None and len(outside[0]):
        a, b, weights = (np.concatenate(both) for both in zip((a, b, weights), outside, strict=True))
    key, inverse = np.unique(np.minimum(a, b) * micro.count + np.maximum(a, b), return_inverse=True)
    value = np.bincount(inverse, weights=weights, minlength=len(key)).astype(np.float64)
    apart = key // micro.count != key % micro.count
    return Evidence((key // micro.count)[apart], (key % micro.count)[apart], value[apart])

"""`evidence`: groups without being told how many there are; answers are evidence that can be out-voted, never constraints.

The sampler holds the last partition that it asked questions from. Answers are only written down by `tell`; the next partition
follows from the last one and the answers, and becomes the last one when a question is asked from it. So neither `result`, nor an
`ask` without questions, nor the way in which answers are cut into `tell` calls changes what is asked later. Memory: the
micro-clusters (`micro.py`), and O(questions). Time of a question: the blocks that the answers touched, and now and then a
partition from all micro-clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.cases import OPEN, UNSURE, Asked, Cases, Count, summed
from cccount_dist.clustering.evidence.logistic import Model, fit, prior
from cccount_dist.clustering.evidence.micro import LEARN_UP_TO, Items, Micro, learned_micro, make_micro
from cccount_dist.clustering.evidence.outside import Outside
from cccount_dist.clustering.evidence.partition import Builder, Ints, Partition, agreement
from cccount_dist.clustering.evidence.questions import Worth, expected_classes, worth
from cccount_dist.clustering.evidence.representatives import pick
from cccount_dist.clustering.evidence.topics import Topic, Topics, again_about
from cccount_dist.clustering.evidence.worth import Counted, Rates
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.types import Answer, KnownAnswer, OutsideAnswer, Question
from storage.errors import InputError

ALWAYS = 20  # answers up to which every partition is made from the micro-clusters up …
FEWER = 5000  # … or every second, third, … one, where there are so many micro-clusters, twice as many, …
SURE = 2  # answers from which the threshold is where the F rule puts it: one "same" alone made one group of hundreds of classes
EVERY = 10  # and then after so many answers, a hundredth of the micro-clusters, or a tenth of the answers so far
LEARN_AT, LEARN_ITEMS = 64, 50  # the space is learned after so many answers, or one for so many items, then after twice as many
HOPELESS_AFTER, HOPELESS_SAME, HOPELESS_QUALITY = 50, 0.2, 0.5  # when the sampler says that questions are hardly worth it
ONE_A_BLOCK = 16  # questions that may be open at a time as long as no two are about the same block
STEADY_SHARE = 0.98  # agreement of two partitions, as an F score over pairs of items, from which they count as the same


@dataclass(frozen=True, slots=True)
class _State:
    """Where the sampler stands after some answers."""

    count: Count
    model: Model
    partition: Partition
    worth: Worth
    whole_at: int  # answers when the partition was last made from the micro-clusters up
    builder: Builder  # of the micro-clusters in the space that was learned last
    learned_at: int  # answers when that was
    rates: Rates  # of wrong answers; new ones count from the next partition that is made from the micro-clusters up
    steady_block: Ints  # (m,) block of each micro-cluster in the partition that all later ones have agreed with
    steady_at: int  # answers when that was
    heard: int = 0  # what was said from elsewhere and counts in it

    @property
    def steady_answers(self) -> int:
        """The last answers, which left the groups as they were."""
        return self.count.answers - self.steady_at


class EvidenceSampler:
    """Asks about the pair of blocks, or the past merge, that is worth most.

    A snapshot leaves out what was looked at and not asked from: with the next answer it is another one.
    """

    __unsaved__: ClassVar = ("_next",)

    def __init__(
        self,
        items: Items,
        micro: Micro,
        stop: float = 1.0,
        steady: int = 0,
        rates: tuple[float, float] | None = None,
        most_open: int = ONE_A_BLOCK,
    ) -> None:
        self._items = items
        self._stop = stop
        self._steady = steady
        self._most_open = most_open
        builder = Builder(micro)
        self._cases = Cases()
        self._outside = Outside()
        self._changed = False
        self._counted = Counted(rates)
        now = self._counted.rates
        model, count = prior(), self._cases.count(micro, now)
        partition = builder.whole(model, 0.0, summed(micro, self._cases, count.evidence))
        value = worth(micro, partition, model, 0.0)
        self._state = _State(count, model, partition, value, 0, builder, 0, now, partition.block, 0)
        self._plan = _Plan(micro, self._cases, self._state, most_open, enough=False)
        self._next: tuple[_State, _Plan] | None = None

    # -- the sampler's protocol ---------------------------------------------------------------------------------------

    def ask(self, limit: int) -> Sequence[Question]:
        """Return up to `limit` questions: about blocks that no open question is about, then about other pairs of blocks."""
        if limit <= 0:
            return []
        state, plan = self._look()
        if plan.exhausted:
            return []
        self._state, self._plan, self._changed, self._next = state, plan, False, None
        now = plan.take(limit)
        self._cases.add(now)
        return [Question(q.id, q.u, q.v, "same", q.topic.purpose) for q in now]

    def preview(self, limit: int) -> Sequence[Question]:
        """Return what would be asked now."""
        return [Question(q.id, q.u, q.v, "same", q.topic.purpose) for q in self._look()[1].preview(limit)]

    def tell(self, answers: Sequence[Answer]) -> None:
        """Write answers down. All are checked before the first one counts; unsure counts neither way.

        An answer to a pair that was known (gold) only says how often people are wrong.
        """
        for answer in answers:
            if not isinstance(answer, KnownAnswer):
                self._check(answer)
        for answer in answers:
            if isinstance(answer, KnownAnswer):
                self._counted.know(answer)
            else:
                self._cases.reply(answer.question_id, answer.value)
        if answers:
            self._changed, self._next = True, None

    def know(self, answers: Sequence[OutsideAnswer]) -> None:
        """Take in what is known about pairs of items from elsewhere: evidence as every answer is, and not asked again."""
        for answer in answers:
            self._outside.take(answer.u, answer.v, answer.value)
            self._cases.pairs.add((min(answer.u, answer.v), max(answer.u, answer.v)))
        if answers:
            self._changed, self._next = True, None

    def result(self) -> Grouping:
        """Return the groups without the answers that wait for a confirmation."""
        state = self._look()[0]
        block, label = state.partition.block, state.builder.micro.label
        labels = numbered(np.where(label >= 0, block[label], -1))
        classes = expected_classes(state.partition, state.worth)
        return Grouping(
            labels, warning=self.warning(), expected_classes=classes, expected_quality=state.worth.quality,
            steady_answers=state.steady_answers,
        )  # fmt: skip

    @property
    def done(self) -> bool:
        """True if every question is answered and none is left to ask."""
        return not (self._cases.rows["reply"] == OPEN).any() and self._look()[1].exhausted

    @property
    def rates(self) -> Rates:
        """How often answers are taken to be wrong."""
        return self._look()[0].rates

    def warning(self) -> str | None:
        """Return what the person who pays for the answers should know: after 50 of them, that the embedding hardly helps."""
        state = self._look()[0]
        votes, answered = state.count.votes, state.count.answers
        if answered < HOPELESS_AFTER or (votes > 0).mean() >= HOPELESS_SAME or state.worth.quality >= HOPELESS_QUALITY:
            return None
        return (
            f"after {answered} answers {100 * (votes > 0).mean():.0f} % of the pairs of groups that were asked about are the "
            f"same, and the groups are expected to be right by F = {state.worth.quality:.2f} only: these embeddings hardly tell "
            "the groups apart, try others"
        )

    # -- from answers to the next partition -----------------------------------------------------------------------------

    def _look(self) -> tuple[_State, "_Plan"]:
        if not self._changed:
            return self._state, self._plan
        if self._next is None:
            state = self._advanced(self._state)
            enough = self._is_enough(state)
            self._next = state, _Plan(state.builder.micro, self._cases, state, self._most_open, enough=enough)
        return self._next

    def _is_enough(self, state: _State) -> bool:
        """Whether nothing new needs to be asked: the groups are expected to be good, or answers no longer change them."""
        steady = 0 < self._steady <= state.steady_answers
        return len(state.count.votes) >= ALWAYS and (steady or state.worth.quality >= self._stop)

    def _advanced(self, old: _State) -> _State:
        rates, builder, learned_at = old.rates, old.builder, old.learned_at
        count = self._cases.count(builder.micro, rates)
        before = np.zeros(len(count.evidence))
        before[: len(old.count.evidence)] = old.count.evidence
        changed = np.flatnonzero(before != count.evidence)
        heard = self._outside.heard
        if len(changed) == 0 and heard == old.heard:
            return replace(old, count=count)
        answers = count.answers
        items, known = len(self._items.usable), answers + len(self._outside)
        learns = items <= LEARN_UP_TO and known >= max(LEARN_AT, items // LEARN_ITEMS, 2 * learned_at)
        late = answers - old.whole_at >= max(EVERY, builder.micro.count // 100, old.whole_at // 10)
        early = answers <= ALWAYS and answers - old.whole_at > builder.micro.count // FEWER
        whole = learns or late or early or heard != old.heard
        if whole and self._counted.rates != rates:
            rates = self._counted.rates
            count = self._cases.count(builder.micro, rates)
        said = self._outside.lessons(builder, rates)
        model = fit(np.concatenate([count.features, said[0]]), np.concatenate([count.lessons, said[1]]), old.model.weight)
        if learns:
            same = np.concatenate([self._cases.same(count, model), self._outside.same()])
            builder = Builder(learned_micro(self._items, builder.micro, same))
            learned_at = known
        micro = builder.micro
        evidence = summed(micro, self._cases, count.evidence, self._outside.evidence(micro, rates))
        theta = old.worth.theta * min(1.0, known / SURE)
        if whole:
            partition = builder.whole(model, theta, evidence)
            whole_at = answers
        else:
            rows = self._cases.rows[changed]
            touched = np.unique(micro.label[np.concatenate([rows["u"], rows["v"]])]).astype(np.int64)
            partition = builder.after(old.partition, touched, model, theta, evidence)
            whole_at = old.whole_at
        value = worth(micro, partition, model, theta)
        steady_block, steady_at = old.steady_block, old.steady_at
        if agreement(steady_block, partition.units, micro.size) < STEADY_SHARE:
            steady_block, steady_at = partition.block, answers
        return _State(count, model, partition, value, whole_at, builder, learned_at, rates, steady_block, steady_at, heard)

    def _check(self, answer: Answer) -> None:
        number = answer.question_id
        if not 0 <= number < len(self._cases):
            raise InputError(f"question {number} was answered, but only the questions 0 to {len(self._cases) - 1} were asked")
        u, v = (int(self._cases.rows[side][number]) for side in ("u", "v"))
        if {answer.u, answer.v} != {u, v}:
            raise InputError(f"question {number} is about ({u}, {v}), and its answer about ({answer.u}, {answer.v})")
        if answer.value is not None and not 0.0 <= answer.value <= 1.0:
            raise InputError(f"question {number} was answered with {answer.value}: an answer is 1, 0 or unsure")


class _Plan:
    """The questions of one state that do not depend on each other or on open ones: confirmations first, then the most valuable.

    If more may be open than one for each block, those follow that are about a pair of blocks which no open question is about: an
    answer then moves blocks that another question is about, and what is said of them counts all the same. They are worked out
    when they are wanted, always in the same order.
    """

    def __init__(self, micro: Micro, cases: Cases, state: _State, most_open: int, *, enough: bool) -> None:
        self._micro = micro
        self._cases = cases
        self._block = state.partition.block
        rows = cases.rows
        opened = rows[rows["reply"] == OPEN]
        self._busy = {int(self._block[micro.label[item]]) for item in [*opened["u"].tolist(), *opened["v"].tolist()]}
        self._pairs = {self._blocks(int(u), int(v)) for u, v in zip(opened["u"], opened["v"], strict=True)}
        self._room = most_open - len(opened)
        self._later: list[Topic] | None = [] if most_open > ONE_A_BLOCK else None
        waiting = set(opened["case"].tolist())
        again = [again_about(cases.topic(c), c) for c in state.count.unsettled.tolist() if c not in waiting]
        unsure = rows[rows["reply"] == UNSURE]
        pairs = micro.label[np.stack([unsure["u"], unsure["v"]], axis=1)].astype(np.int64)
        # Enough: nothing new is asked, but what waits for a confirmation is settled.
        self._topics = Topics(again, micro, state.partition, state.worth, 0 if enough else 4 * most_open, pairs)
        self._ready: list[Asked] = []
        self._number = len(cases)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to ask."""
        self._work_out(1)
        return not self._ready

    def preview(self, limit: int) -> list[Asked]:
        """Return the next `limit` questions and leave them there."""
        self._work_out(limit)
        return self._ready[:limit]

    def take(self, limit: int) -> list[Asked]:
        """Return the next `limit` questions."""
        self._work_out(limit)
        now, self._ready = self._ready[:limit], self._ready[limit:]
        return now

    def _work_out(self, count: int) -> None:
        while len(self._ready) < count and self._room > 0 and (topic := self._topics.following()) is not None:
            items = pick(self._micro, topic.left, topic.right, self._cases.pairs)
            if items is None:
                continue
            if not self._blocks(*items) & self._busy:
                self._get_ready(topic, items)
            elif self._later is not None:
                self._later.append(topic)
        while self._later and len(self._ready) < count and self._room > 0:
            topic = self._later.pop(0)
            items = pick(self._micro, topic.left, topic.right, self._cases.pairs)
            if items is not None and self._blocks(*items) not in self._pairs:
                self._get_ready(topic, items)

    def _blocks(self, u: int, v: int) -> frozenset[int]:
        return frozenset(int(self._block[self._micro.label[item]]) for item in (u, v))

    def _get_ready(self, topic: Topic, items: tuple[int, int]) -> None:
        blocks = self._blocks(*items)
        self._busy |= blocks  # so no two questions of a plan are about the same pair of items, either
        self._pairs.add(blocks)
        case = self._number if topic.case is None else topic.case
        self._ready.append(Asked(self._number, *items, case, topic))
        self._number += 1
        self._room -= 1


def evidence_sampler(
    vectors: NDArray[np.float32],
    neighbors: NDArray[np.int32],
    *,
    stop: float = 1.0,
    steady: int = 0,
    rates: tuple[float, float] | None = None,
    most_open: int = ONE_A_BLOCK,
) -> EvidenceSampler:
    """Return a new sampler.

    Parameters
    ----------
    vectors : (n, d), prepared; an array or a memory map
    neighbors : (n, k) most similar items, most similar first; -1 for an item without a vector, which gets the label -1
    stop : expected F score from which nothing new is asked; 1: never
    steady : answers in a row that leave the groups as they are, after which nothing new is asked; 0: never
    rates : of answers "different" though the same, and "same" though different; None: 5 % each, corrected by gold answers
    most_open : questions that may be open at a time; beyond 16 two of them may be about the same block, never the same two
    """
    return EvidenceSampler(*make_micro(vectors, neighbors), stop, steady, rates, most_open)

"""The queue in front of the desk: which questions want a person, and who may be asked which of them.

A question wants as many people as are missing to its overlap; where people differ, or answers contradict each other through
others, it wants one more, and comes first. Of votes about one item the later ones come as early as the first: what was begun is
finished before something new is. Time of an update: the questions that changed. A walk through the queue costs the open
questions, some hundreds to thousands, whatever the length of the log.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.settling import most_votes
from cccount_dist.sampling.types import Question

_ASKED_PER_CONFLICT = 6  # of the answers that contradict each other, so many are asked again at once


class Queue:
    """The open questions of a campaign. `overlap` may ask for more people than the campaign needs to settle."""

    def __init__(self, reading: Reading, overlap: int) -> None:
        self._reading = reading
        self._overlap = overlap
        self._known = 0  # questions that were looked at
        self._open: set[int] = set()
        self._pages: dict[int, list[int]] = {}
        self._first: dict[int, int] = {}  # item -> the first question that it is the anchor of
        self._doubted: dict[int, int] = {}  # question in a contradiction -> people who should have answered it

    def update(self) -> None:
        """Look at what changed since the last time."""
        questions, ledger = self._reading.questions, self._reading.ledger
        changed = self._reading.changed
        for question in questions[self._known :]:
            changed.add(question.id)
            self._first.setdefault(question.u, question.id)
            if question.page is not None:
                self._pages.setdefault(question.page, []).append(question.id)
        self._known = len(questions)
        if changed:
            self._doubt()
        for question_id in changed:
            (self._open.add if self._wanted(question_id) else self._open.discard)(question_id)
        changed.clear()
        self._flagged = ledger.flagged

    def __len__(self) -> int:
        return len(self._open)

    @property
    def looks(self) -> int:
        """How many times somebody is to be shown something: open questions one by one and pages, for each person they want."""
        questions = self._reading.questions
        pages = {questions[i].page: self._wanted(i) for i in self._open if questions[i].page is not None}
        return sum(self._wanted(i) for i in self._open if questions[i].page is None) + sum(pages.values())

    def sheets(
        self,
        annotator: str,
        holders: Mapping[int, Collection[str]],
        others: Collection[str] = (),
        before_them: Mapping[tuple[int, int], int] = MappingProxyType({}),
        *,
        has_some: bool = False,
    ) -> Iterator[list[Question]]:
        """Go through what this person may be asked now, a question or a page at a time.

        A pair that they answered before goes to somebody of the `others`, who are at work now, too; only where nobody is who has
        not seen it, it comes to them again, when they have nothing else to answer (`has_some`: they have): somebody else may come
        meanwhile. So does a pair that lies before them by another number (`before_them`: pair -> that number).
        Sheets that people have at the same time are about different clusters as long as there are such: what one of them says may
        make the other needless. Of questions about the same two sets of items that are known to be one each, the later
        ones wait until the others are through: most of them follow from the first.
        """
        questions, seen = self._reading.questions, self._reading.seen
        later: list[int] = []
        crowded: list[list[Question]] = []
        clusters = {self._cluster(questions[i]) for i in holders if 0 <= i < self._known and _is_sheet(questions[i])}
        shown: set[int] = set()
        follow: list[int] = []
        sets = {self._sets(questions[i]) for i in holders if 0 <= i < self._known and questions[i].page is None}
        for question_id in [*self._doubted, *sorted(self._open, key=self._turn)]:
            question = questions[question_id]
            if question_id in shown or not self._may_ask(question, annotator, holders):
                continue
            if question.page is not None:
                page = [questions[i] for i in self._pages[question.page]]
                page = [q for q in page if self._may_ask(q, annotator, holders)]
                shown.update(q.id for q in page)
                if _is_sheet(question) and question_id not in self._doubted:
                    if (cluster := self._cluster(question)) in clusters:
                        crowded.append(page)
                        continue
                    clusters.add(cluster)
                yield page
            elif self._is_known(question, seen.get((annotator, *_pair(question))), before_them.get(_pair(question))):
                if all((other, *_pair(question)) in seen for other in others):
                    later.append(question_id)
            elif (pair := self._sets(question)) in sets and question_id not in self._doubted:
                follow.append(question_id)
            else:
                shown.add(question_id)
                sets.add(pair)
                yield [question]
        yield from crowded
        yield from ([questions[i]] for i in follow)
        if not (has_some or shown or crowded or follow):
            yield from ([questions[i]] for i in later[:1])

    @staticmethod
    def _is_known(question: Question, *numbers: int | None) -> bool:
        """Whether somebody had the pair by another number; what they took back themselves is asked as if it had not been."""
        return any(number not in (None, question.id) for number in numbers)

    def _sets(self, question: Question) -> tuple[int, int]:
        """What the two items of a question stand for, as far as their sets are known; themselves where nothing would follow."""
        if not question_kind(question.kind).may_be_inferred:
            return ~question.id, ~question.id
        root = self._reading.ledger.constraints.root
        u, v = root(question.u), root(question.v)
        return min(u, v), max(u, v)

    def _cluster(self, sheet: Question) -> int:
        """What the anchor of a sheet belongs to, as far as that is known."""
        return self._reading.ledger.constraints.root(sheet.u)

    def _turn(self, question_id: int) -> tuple[int, int]:
        """Votes about an item come when its first one would: it is one decision, and others wait for it."""
        question = self._reading.questions[question_id]
        return self._first[question.u] if question.is_vote else question_id, question_id

    def has_some_for(self, annotator: str) -> bool:
        """Whether an answer of this person to some open question would still help."""
        return any(self.is_open(question_id, annotator) for question_id in self._open)

    def is_open(self, question_id: int, annotator: str) -> bool:
        """Whether an answer of this person would still help."""
        if not 0 <= question_id < self._known or not self._wanted(question_id):
            return False
        question = self._reading.questions[question_id]
        return not ({question.u, question.v} & self._flagged or self._answered_by(question_id, annotator))

    def _may_ask(self, question: Question, annotator: str, holders: Mapping[int, Collection[str]]) -> bool:
        others = holders.get(question.id, ())
        return (
            annotator not in others
            and len(others) < self._wanted(question.id)
            and not {question.u, question.v} & self._flagged
            and not self._answered_by(question.id, annotator)
        )

    def _wanted(self, question_id: int) -> int:
        ledger = self._reading.ledger
        if self._overlap == 1 and question_id not in self._doubted:
            return ledger.wanted(question_id)
        given = len({vote.annotator for vote in ledger.votes(question_id)})
        wanted = max(ledger.wanted(question_id), self._doubted.get(question_id, 0) - given)
        return max(wanted, self._overlap - given) if given else wanted

    def _answered_by(self, question_id: int, annotator: str) -> bool:
        return any(vote.annotator == annotator for vote in self._reading.ledger.votes(question_id))

    def _doubt(self) -> None:
        """Queue the answers that contradict each other through others for one more vote each."""
        ledger = self._reading.ledger
        disputed = set(ledger.disputed)
        before, self._doubted = self._doubted, dict.fromkeys(sorted(disputed), 0)
        for conflict in ledger.conflicts:
            rows = [ledger.row(i) for i in (conflict.answer_id, *conflict.against)]
            asked = [row.question_id for row in rows if row is not None and 0 <= row.question_id < self._known]
            if any(i in disputed for i in asked):
                continue  # people differ on one of them: that is likely the wrong one, and it is asked again anyway
            votes = {i: len({vote.annotator for vote in ledger.votes(i)}) for i in asked}
            for i in sorted(asked, key=lambda i: (votes[i], i))[:_ASKED_PER_CONFLICT]:
                # One more vote than there was when the contradiction was seen: if that changes nothing, another one.
                if votes[i] < most_votes(max(self._overlap, ledger.overlap)):
                    self._doubted[i] = votes[i] + 1
        self._reading.changed.update(before, self._doubted)


def _is_sheet(question: Question) -> bool:
    return question.page is not None and question_kind(question.kind).cell_by_cell


def _pair(question: Question) -> tuple[int, int]:
    return min(question.u, question.v), max(question.u, question.v)

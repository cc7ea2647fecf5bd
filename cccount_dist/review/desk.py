"""The desk between annotators and a campaign: hands out sheets with a lease, takes answers in, forgets nothing.

It never runs a sampler: `cccount advance` puts questions on the queue before they are needed. An answer is one durable insert
into the journal. Reading goes on from where it stopped, so no call costs the length of the log; taking sheets costs the open
questions and the sheets in hands. Leases and check questions outlive the process (`storage/handouts.py`). Safe for threads.
"""

import math
import threading
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cccount_dist.campaign import Response, check_response, check_value, checked
from cccount_dist.review.activity import Activity
from cccount_dist.review.checks import CHECKS_FROM, Checks
from cccount_dist.review.history import History
from cccount_dist.review.queue import Queue
from cccount_dist.review.rates import estimate, evidence_of
from cccount_dist.review.sheets import Answered, Candidate, ItemFacts, Receipt, Rejection, Sheet, SheetKind
from cccount_dist.review.standing import Standing, standing_of, state_of, with_reliability
from cccount_dist.sampling.ledger import FLAG, OUTSIDE, LoggedAnswer, is_flag
from cccount_dist.sampling.logged import answers_table, microseconds
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.settling import check_overlap
from cccount_dist.sampling.types import Question
from storage.campaigns import RESULTS, CampaignFolder
from storage.errors import CccountError, InputError, StoreError
from storage.handouts import Handout, Handouts
from storage.journal import Journal
from storage.workspace import Workspace

MOST_SHEETS = 64  # that one person may hold
_LONGEST_REASON = 200


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class _HandedIn:
    """Answers that wait for the disk; whoever gets to it first takes along what waits."""

    annotator: str
    responses: Sequence[Response]
    receipt: Receipt = field(default_factory=Receipt)
    new: list[str] = field(default_factory=list)  # ids that are to be stored
    stored_all: bool = False
    error: CccountError | None = None
    done: bool = False


class Desk:
    """The desk of one campaign, one for each server process.

    `overlap` people see each question (at least as many as the campaign was started with), a share `gold` of the sheets has known
    answers, a share `repeats` was answered by the same person before.
    """

    def __init__(
        self,
        workspace: Workspace,
        campaign: str,
        *,
        overlap: int = 1,
        gold: float = 0.03,
        repeats: float = 0.02,
        lease_seconds: float = 120.0,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        for name, share in (("gold", gold), ("repeats", repeats)):
            if not 0.0 <= share <= 0.5:
                raise InputError(f"the share of {name} must lie between 0 and 0.5, not at {share}")
        if not 0.0 < lease_seconds < math.inf:
            raise InputError(f"a lease lasts longer than 0 seconds, not {lease_seconds}")
        self.folder = CampaignFolder(workspace, campaign)
        self.lease_seconds = lease_seconds
        self._clock = clock
        self._lock = threading.RLock()
        self._arrived: deque[_HandedIn] = deque()
        self._reading = Reading(self.folder)
        self._queue = Queue(self._reading, max(check_overlap(overlap), self._reading.ledger.overlap))
        self._journal = Journal(self.folder.journal_path)
        self._handouts = Handouts(self.folder.handouts_path)
        self._checks = Checks(self._reading, self._handouts, workspace, gold=gold, repeats=repeats)
        self._history = History(self._reading.ledger)
        self._activity = Activity()
        self._collection = workspace.collection()
        self._refresh()

    def close(self) -> None:
        self._journal.close()
        self._handouts.close()

    # -- sheets -----------------------------------------------------------------------------------------------------------

    def take(self, annotator: str, count: int = 8) -> list[Sheet]:
        """Lease up to `count` sheets to somebody; the ones that they hold already come first, with their lease renewed."""
        _check_annotator(annotator)
        if not 1 <= count <= MOST_SHEETS:
            raise InputError(f"take 1 to {MOST_SHEETS} sheets at a time, not {count}")
        with self._lock:
            self._refresh()
            now = self._clock()
            expires = now + timedelta(seconds=self.lease_seconds)
            with self._handouts.changing():
                self._handouts.expire(now.timestamp())
                held = self._handouts.in_hands()
                mine = [self._still_open(sheet) for sheet in held if sheet.annotator == annotator]
                self._handouts.give_back(sheet.sheet for sheet in mine if not sheet.candidates)
                taken = [sheet for sheet in mine if sheet.candidates][:count]
                holders: dict[int, set[str]] = {}
                for sheet in held:
                    for question_id, _ in sheet.candidates:
                        holders.setdefault(question_id, set()).add(sheet.annotator)
                fresh = self._queue.sheets(annotator, holders)
                for _ in range(count - len(taken)):
                    following = self._checks.next(annotator, holders) or _from_queue(next(fresh, None), annotator)
                    if following is None:
                        break
                    self._handouts.count(annotator, more=1)
                    for question_id, _ in following.candidates:
                        holders.setdefault(question_id, set()).add(annotator)
                    taken.append(following)
                taken = [_leased(sheet, expires) for sheet in taken]
                self._handouts.hand_out(taken)
            return [_sheet(sheet) for sheet in taken]

    def _still_open(self, sheet: Handout) -> Handout:
        """The sheet without what was settled meanwhile."""
        left = tuple(c for c in sheet.candidates if c[0] >= CHECKS_FROM or self._queue.is_open(c[0], sheet.annotator))
        # A second vote that we wanted for ourselves is on no queue: it stays until it is answered or its lease is over.
        left = left or tuple(c for c in sheet.candidates if self._checks.wants(c[0], sheet.annotator))
        return Handout(sheet.sheet, sheet.annotator, sheet.expires, sheet.kind, sheet.anchor, left)

    # -- answers ------------------------------------------------------------------------------------------------------------

    def answer(self, annotator: str, responses: Sequence[Response]) -> Receipt:
        """Store answers; they are durable when this returns. Whoever was slow keeps their answer: it is one more vote.

        What several people hand in while the disk is busy is stored together, so that nobody waits for more than two syncs.
        """
        _check_annotator(annotator)
        mine = _HandedIn(annotator, responses)
        self._arrived.append(mine)
        with self._lock:
            if not mine.done:
                self._take_in([self._arrived.popleft() for _ in range(len(self._arrived))])
        if mine.error is not None:
            raise mine.error
        if not mine.stored_all:
            raise StoreError("the answers were not stored: something beside them failed; hand them in again")
        return mine.receipt

    def _take_in(self, arrived: list["_HandedIn"]) -> None:
        try:
            rows = [row for handed in arrived for row in self._rows(handed)]
            self._store(rows)
            for handed in arrived:
                handed.receipt.stored.extend(handed.new)
                handed.stored_all = True
            self._hand_in({(handed.annotator, response.question_id) for handed in arrived for response in handed.responses})
        except CccountError as error:
            for handed in arrived:
                handed.error = error
        finally:
            for handed in arrived:
                handed.done = True

    def _rows(self, handed: "_HandedIn") -> list[LoggedAnswer]:
        """The rows that somebody's answers make; what is known already or cannot be an answer goes on the receipt."""
        rows: dict[str, LoggedAnswer] = {}
        for response in handed.responses:
            if self._reading.ledger.knows(response.id) or response.id in rows:
                handed.receipt.known.append(response.id)
                continue
            try:
                rows[response.id] = self._row(handed.annotator, response)
            except InputError as error:
                handed.receipt.rejected.append(Rejection(response.id, str(error)))
        handed.new = list(rows)
        return list(rows.values())

    def undo(self, annotator: str, answer_id: str, *, id: str) -> Receipt:  # noqa: A002  the id of the undo itself
        """Take one of one's own last answers back, by a new event; the question waits again."""
        _check_annotator(annotator)
        with self._lock:
            if self._reading.ledger.knows(id):
                return Receipt(known=[id])
            self._refresh()
            if answer_id not in self._history.may_be_undone(annotator):
                return Receipt(rejected=[Rejection(id, f"{answer_id!r} is none of {annotator}'s last answers")])
            rows = [_undoing(row, id, number) for number, row in enumerate(self._history.belonging_to(answer_id))]
            self._store(rows)
            return Receipt(stored=[row.id for row in rows if row.id == id])

    def flag(self, annotator: str, item: int, reason: str, *, id: str) -> Receipt:  # noqa: A002  the id of the flag itself
        """Say that an item's picture is of no use: it is shown no more, and what waits about it is answered unsure."""
        _check_annotator(annotator)
        with self._lock:
            if self._reading.ledger.knows(id):
                return Receipt(known=[id])
            if not 0 <= item < self._collection.items:
                reason = f"there is no item {item}: the collection has the items 0 to {self._collection.items - 1}"
                return Receipt(rejected=[Rejection(id, reason)])
            self._refresh()
            said = f"{FLAG}: {' '.join(reason.split())[:_LONGEST_REASON]}".rstrip(": ")
            now = microseconds(self._clock())
            rows = [LoggedAnswer(id, OUTSIDE, item, item, None, said, annotator, at=now)]
            for question in self._reading.ledger.pending(self._reading.questions):
                if item in (question.u, question.v):
                    q = question
                    rows.append(LoggedAnswer(f"{id}/{q.id}", q.id, q.u, q.v, None, FLAG, annotator, page=q.page, at=now))
            self._store(rows)
            return Receipt(stored=[id])

    def unflag(self, annotator: str, flag_id: str, *, id: str) -> Receipt:  # noqa: A002  the id of the undo itself
        """Take one of one's own flags back, however old: for files, which may come late. The answers that it gave go with it."""
        _check_annotator(annotator)
        with self._lock:
            if self._reading.ledger.knows(id):
                return Receipt(known=[id])
            self._refresh()
            rows = [row for row in self._reading.ledger.rows() if row.id == flag_id or row.id.startswith(f"{flag_id}/")]
            rows = [row for row in rows if is_flag(row.source) and row.annotator == annotator]
            if not rows:
                return Receipt(rejected=[Rejection(id, f"{flag_id!r} is no flag of {annotator}'s that still holds")])
            self._store([_undoing(row, id, number) for number, row in enumerate(rows)])
            return Receipt(stored=[id])

    # -- looking ------------------------------------------------------------------------------------------------------------

    def recent(self, annotator: str, count: int = 10) -> list[Answered]:
        """Somebody's last answers that were not taken back, the newest first."""
        with self._lock:
            self._refresh()
            found = self._history.recent(annotator, count)
            return [replace(row, kind="rating") if self._is_rating(row.question_id) else row for row in found]

    def standing(self) -> Standing:
        """Where the campaign stands, how fast people are, and how far they can be relied on."""
        with self._lock:
            self._refresh()
            standing = standing_of(self.folder, self._reading, self._activity, len(self._queue), self._clock())
            evidence = evidence_of(self._reading.ledger)
        return with_reliability(standing, estimate(evidence))  # which takes time, and keeps nobody from answering

    def state(self) -> str:
        """Running, waiting, done or stopped, as of the last step."""
        spec, _ = RESULTS[self.folder.settings().kind]
        return state_of(self.folder, self.folder.last_row(spec))

    def item(self, number: int) -> ItemFacts:
        """What is known about an item; `InputError` if there is none of this number."""
        uri = self._collection.uri(number)  # checks the number
        row = self._collection.table.slice(number, 1)
        taken_at, group = (row.column(name)[0].as_py() for name in ("taken_at", "group"))
        return ItemFacts(self._collection.ids[number], taken_at, group, uri)

    # -- inside -----------------------------------------------------------------------------------------------------------------

    def _is_rating(self, question_id: int) -> bool:
        return question_id != OUTSIDE and self._reading.questions[question_id].kind == "rating"

    def _refresh(self) -> None:
        self._learn(self._reading.refresh(self._journal))

    def _learn(self, rows: list[LoggedAnswer]) -> None:
        self._history.take(rows)
        self._checks.take(rows)
        self._activity.take(rows)
        self._queue.update()

    def _row(self, annotator: str, response: Response) -> LoggedAnswer:
        check_response(response)
        now = microseconds(self._clock())
        if response.question_id >= CHECKS_FROM:
            check = self._checks.find(response.question_id, annotator)
            check_value(response.value, "rating" if check.kind == "rating" else "same", response.question_id)
            return LoggedAnswer(
                response.id, OUTSIDE, check.u, check.v, response.value, check.source, annotator, None, check.page,
                response.seconds, now,
            )  # fmt: skip
        if response.question_id >= len(self._reading.questions):
            self._refresh()
        row = checked(response, self._reading.questions, self.folder.name, source="people", annotator=annotator)
        return replace(row, at=now, undoes=None)

    def _store(self, rows: list[LoggedAnswer]) -> None:
        if rows:
            self._journal.record(answers_table(rows))
            self._learn(self._reading.follow(self._journal))

    def _hand_in(self, answered: set[tuple[str, int]]) -> None:
        """Take questions off the sheets of those who answered them."""
        if not answered:
            return
        with self._handouts.changing():
            for sheet in self._handouts.in_hands():
                left = tuple(c for c in sheet.candidates if (sheet.annotator, c[0]) not in answered)
                if len(left) < len(sheet.candidates):
                    self._handouts.keep(sheet.sheet, left)


def _from_queue(questions: list[Question] | None, annotator: str) -> Handout | None:
    if not questions:
        return None
    first = questions[0]
    kind: SheetKind = "rating" if first.kind == "rating" else "pair" if first.page is None else "grid"
    return Handout(uuid.uuid4().hex, annotator, 0.0, kind, first.u, tuple((q.id, q.v) for q in questions))


def _leased(sheet: Handout, expires: datetime) -> Handout:
    return Handout(sheet.sheet, sheet.annotator, expires.timestamp(), sheet.kind, sheet.anchor, sheet.candidates)


def _sheet(handout: Handout) -> Sheet:
    kind: SheetKind = "grid" if handout.kind == "grid" else "rating" if handout.kind == "rating" else "pair"
    candidates = tuple(Candidate(question_id, item) for question_id, item in handout.candidates)
    return Sheet(handout.sheet, kind, handout.anchor, candidates, datetime.fromtimestamp(handout.expires, UTC))


def _undoing(row: LoggedAnswer, undo_id: str, number: int) -> LoggedAnswer:
    own = undo_id if number == 0 else f"{undo_id}/{number}"
    return LoggedAnswer(own, row.question_id, row.u, row.v, None, row.source, row.annotator, row.id, row.page)


def _check_annotator(name: str) -> None:
    if not name.strip():
        raise InputError("an annotator needs a name")


__all__ = ["Answered", "Candidate", "Desk", "ItemFacts", "Receipt", "Rejection", "Sheet", "Standing"]

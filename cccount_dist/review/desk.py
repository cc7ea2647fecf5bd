"""The desk between annotators and a campaign: a policy of leases on top of it. What is said goes through the campaign alone.

The desk adds who is shown what, and until when; check questions; one insert for what several people hand in at once; everybody's
last answers; and where the campaign stands. It never runs a sampler: `cccount advance` puts questions on the queue before they
are needed. An answer is one durable insert into the journal. Reading goes on from where it stopped, so no call costs the length
of the log; taking sheets costs the open questions and the sheets in hands. Leases and check questions outlive the process
(`storage/handouts.py`). Safe for threads.
"""

import math
import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cccount_dist.campaign.activity import FEW_SHEETS, Activity
from cccount_dist.campaign.advancing import kind_of, state_of
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.hindrance import hindrance
from cccount_dist.campaign.responses import check_annotator, check_response, one_vote_each, replacing
from cccount_dist.review.checkquestions import CHECKS_FROM, Checks
from cccount_dist.review.history import History
from cccount_dist.review.items import Items
from cccount_dist.review.onscreen import OnScreen, Pair, pair_of, pairs_of
from cccount_dist.review.outlook import Outlook, outlook_of, why_nothing
from cccount_dist.review.queue import Queue
from cccount_dist.review.rates import estimate, evidence_of
from cccount_dist.review.sheets import Answered, Candidate, ItemFacts, Receipt, Rejection, Sheet
from cccount_dist.review.standing import Standing, standing_of, with_reliability
from cccount_dist.sampling.ledger import OUTSIDE, LoggedAnswer
from cccount_dist.sampling.logged import microseconds
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.settling import check_overlap
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, InputError, StoreError
from storage.handouts import Handout, Handouts
from storage.workspace import Workspace

MOST_SHEETS = 64  # that one person may hold
_LEFT_SECONDS = 30.0  # after which somebody who did not come for sheets has left: the page comes at least every 25 s
_AT_WORK_MICROSECONDS = 5 * 60 * 10**6  # since somebody was last seen: so long a confirmation waits for them


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class _HandedIn:
    """Answers that wait for the disk; whoever gets to it first takes along what waits."""

    annotator: str
    responses: Sequence[Response]
    unseen: Collection[int] = ()
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
        items: Items | None = None,
    ) -> None:
        for name, share in (("gold", gold), ("repeats", repeats)):
            if not 0.0 <= share <= 0.5:
                raise InputError(f"the share of {name} must lie between 0 and 0.5, and is {share}")
        if not 0.0 < lease_seconds < math.inf:
            raise InputError(f"a lease lasts longer than 0 seconds, not {lease_seconds}")
        self.folder = CampaignFolder(workspace, campaign)
        self.lease_seconds = lease_seconds
        self._page_cost = self.folder.goal().page_cost
        self._clock = clock
        self._lock = threading.RLock()
        self._arrived: deque[_HandedIn] = deque()
        self._campaign = Campaign(self.folder)
        self._reading = self._campaign.reading
        self._queue = Queue(self._reading, max(check_overlap(overlap), self._reading.ledger.overlap))
        self._handouts = Handouts(self.folder.handouts_path)
        self._checks = Checks(self._reading, self._handouts, workspace, gold=gold, repeats=repeats)
        self._history = History(self._reading.ledger)
        self._activity = Activity()
        self._checked: dict[int, str] = {}  # check that was answered since the server began -> the answer
        self._at_work: dict[str, int] = {}  # when everybody was last seen, in microseconds since 1970
        self._came: dict[str, datetime] = {}  # when somebody came for sheets last
        self._said: dict[str, datetime] = {}  # when somebody came with nothing before them, or said something
        self._in_hands: Counter[str] = Counter()  # sheets that people hold, as of the last time somebody took some
        self._on_screen = OnScreen(lease_seconds)
        self._empty: dict[str, tuple[datetime, datetime]] = {}  # who has nothing to answer: since when, and last seen when
        self._items = items or Items(workspace)
        self._campaign.hold(self._learn)
        self._campaign.refresh()

    def close(self) -> None:
        self._campaign.close()
        self._handouts.close()

    # -- sheets -----------------------------------------------------------------------------------------------------------

    def take(self, annotator: str, count: int = 8, *, share: bool = False, have: int = 0) -> list[Sheet]:
        """Lease up to `count` sheets to somebody; the ones that they hold already come first, with their lease renewed.

        Where few are open, everybody gets about as many. `share`: who would get none is given one that another person holds but
        does not look at yet. `have`: sheets that lie before them. A page that was left open asks for sheets for ever: where
        nothing was said to those that it has for as long as a lease lasts, other people get them.
        """
        check_annotator(annotator)
        if not 1 <= count <= MOST_SHEETS:
            raise InputError(f"take 1 to {MOST_SHEETS} sheets at a time, not {count}")
        with self._lock:
            self._campaign.refresh()
            now = self._clock()
            if not have or annotator not in self._said:
                self._said[annotator] = now
            if self._rests(annotator, now):
                return self._left_to(annotator, now)
            self._came[annotator] = now
            with self._handouts.changing():
                self._handouts.expire(now.timestamp())
                held = self._handouts.in_hands()
                had = [sheet for sheet in held if sheet.annotator == annotator]
                mine = [self._still_open(sheet) for sheet in had]
                before_them = self._on_screen.pairs(annotator, had, mine, now)
                self._handouts.give_back(sheet.sheet for sheet in mine if not sheet.candidates)
                taken = [sheet for sheet in mine if sheet.candidates][:count]
                holders: dict[int, set[str]] = {}
                for sheet in held:
                    for question_id, _ in sheet.candidates:
                        holders.setdefault(question_id, set()).add(sheet.annotator)
                others = self._others(annotator, microseconds(now))
                fresh = self._queue.sheets(annotator, holders, others, before_them, has_some=bool(taken))
                for _ in range(min(count, self._fair_share(held)) - len(taken)):
                    following = self._checks.next(annotator, holders) or _from_queue(next(fresh, None), annotator)
                    if following is None:
                        break
                    self._handouts.count(annotator, more=1)
                    for question_id, _ in following.candidates:
                        holders.setdefault(question_id, set()).add(annotator)
                    taken.append(following)
                if share and not taken:
                    taken = self._shared(annotator, held, before_them)
                taken = [_leased(sheet, self._expires(sheet, now)) for sheet in taken]
                self._handouts.hand_out(taken)
                self._in_hands = Counter(sheet.annotator for sheet in held if sheet.annotator != annotator)
                self._in_hands[annotator] = len(taken)
                self._note_wait(annotator, now, is_over=bool(taken))
            return [_sheet(sheet) for sheet in taken]

    def _expires(self, sheet: Handout, now: datetime) -> datetime:
        """Until when somebody has a sheet: one with many pictures as much longer as it takes."""
        longer = max(1.0, self._page_cost) if len(sheet.candidates) > 1 else 1.0
        return now + timedelta(seconds=self.lease_seconds * longer)

    def _rests(self, annotator: str, now: datetime) -> bool:
        """Whether somebody has said nothing for as long as a lease lasts, while other people answer."""
        said = self._said.get(annotator)
        if said is None or (now - said).total_seconds() <= self.lease_seconds:
            return False
        return bool(self._people() - {annotator})

    def _left_to(self, annotator: str, now: datetime) -> list[Sheet]:
        """What somebody who rests still holds: until its lease is over, and nothing in addition."""
        self._came.pop(annotator, None)
        self._empty.pop(annotator, None)
        with self._handouts.changing():
            self._handouts.expire(now.timestamp())
            held = [sheet for sheet in self._handouts.in_hands() if sheet.annotator == annotator]
        return [_sheet(sheet) for sheet in map(self._still_open, held) if sheet.candidates]

    def _others(self, annotator: str, now: int) -> set[str]:
        """Who else is at work: took sheets or answered within the last minutes."""
        self._at_work[annotator] = now
        return {name for name, at in self._at_work.items() if name != annotator and now - at < _AT_WORK_MICROSECONDS}

    def _note_wait(self, annotator: str, now: datetime, *, is_over: bool) -> None:
        """Keep how long somebody had nothing to answer, for the report. Who went away meanwhile did not wait."""
        since, seen = self._empty.get(annotator, (now, now))
        since = now if (now - seen).total_seconds() > _LEFT_SECONDS else since
        if is_over:
            if self._empty.pop(annotator, None) is not None:
                self._handouts.waited(annotator, now.timestamp(), (now - since).total_seconds())
        elif self.state() in ("running", "waiting"):
            self._empty[annotator] = (since, now)
        else:
            self._empty.pop(annotator, None)

    def asks_again(self, annotator: str, question_id: int, u: int, v: int) -> bool:
        """Whether somebody is asked about a pair that they answered before, and not to see how steady they are."""
        return question_id < CHECKS_FROM and self._reading.seen.get((annotator, *pair_of(u, v)), question_id) != question_id

    def attendance(self) -> tuple[int, int]:
        """How many people are answering, and how many sheets they lack in all to the fewest with which nobody waits."""
        with self._lock:
            people = self._people()
            return len(people), sum(max(0, FEW_SHEETS - self._in_hands[name]) for name in people)

    def _people(self) -> set[str]:
        """Who came for sheets as long ago as a lease lasts, at most."""
        since = self._clock() - timedelta(seconds=self.lease_seconds)
        self._came = {name: at for name, at in self._came.items() if at > since}
        return set(self._came)

    def _fair_share(self, held: Sequence[Handout]) -> int:
        """How many sheets one may hold: as many as all whose answer helps. More would leave others with none."""
        people = [name for name in self._people() | {sheet.annotator for sheet in held} if self._queue.has_some_for(name)]
        return max(1, math.ceil(self._queue.looks / max(1, len(people))))

    def _shared(self, annotator: str, held: Sequence[Handout], before_them: Collection[Pair]) -> list[Handout]:
        """The last sheet of who holds most, if they look at another one meanwhile; an answer of both is one vote more."""
        by_person: dict[str, list[Handout]] = {}
        for sheet in held:
            by_person.setdefault(sheet.annotator, []).append(sheet)
        for sheets in sorted(by_person.values(), key=len, reverse=True):
            last = sheets[-1]
            known = all((annotator, *pair) in self._reading.seen or pair in before_them for pair in pairs_of([last]))
            is_open = all(self._queue.is_open(question_id, annotator) for question_id, _ in last.candidates)
            if len(sheets) > 1 and is_open and not known:
                self._handouts.give_back([last.sheet])
                return [Handout(uuid.uuid4().hex, annotator, 0.0, last.kind, last.anchor, last.candidates)]
        return []

    def _still_open(self, sheet: Handout) -> Handout:
        """The sheet without what was settled meanwhile."""
        left = tuple(c for c in sheet.candidates if c[0] >= CHECKS_FROM or self._queue.is_open(c[0], sheet.annotator))
        # A second vote that we wanted for ourselves is on no queue: it stays until it is answered or its lease is over.
        left = left or tuple(c for c in sheet.candidates if self._checks.wants(c[0], sheet.annotator))
        return Handout(sheet.sheet, sheet.annotator, sheet.expires, sheet.kind, sheet.anchor, left)

    # -- answers ------------------------------------------------------------------------------------------------------------

    def answer(self, annotator: str, responses: Sequence[Response], unseen: Collection[int] = ()) -> Receipt:
        """Store answers; they are durable when this returns. Whoever was slow keeps their answer: it is one more vote.

        What several people hand in while the disk is busy is stored together, so that nobody waits for more than two syncs.
        `unseen`: items whose picture cannot be shown; nobody can say of them what they are, and "unsure" alone is taken.
        """
        check_annotator(annotator)
        mine = _HandedIn(annotator, responses, unseen)
        self._arrived.append(mine)
        with self._lock:
            if not mine.done:
                self._take_in([self._arrived.popleft() for _ in range(len(self._arrived))])
        if mine.error is not None:
            raise mine.error
        if not mine.stored_all:
            raise StoreError("the answers were not stored: something beside them failed; hand them in again")
        return mine.receipt

    def changes(self, annotator: str, responses: Sequence[Response]) -> int:
        """How many votes of this person the responses would replace by other ones."""
        with self._lock:
            before = {r.question_id: self._reading.ledger.standing(r.question_id, annotator) for r in responses}
            return len({r.question_id for r in responses if (b := before[r.question_id]) is not None and b.value != r.value})

    def _take_in(self, arrived: list["_HandedIn"]) -> None:
        try:
            rows = [row for handed in arrived for row in self._rows(handed)]
            self._campaign.record(rows)
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
                row = self._row(handed.annotator, response)
                if (
                    row.value is not None
                    and (unseen := next((i for i in (row.u, row.v) if i in handed.unseen), None)) is not None
                ):
                    raise InputError(  # noqa: TRY301  it is refused as every other answer that cannot be one
                        f"the picture of {self.item(unseen).id} cannot be shown: answer unsure, or flag it"
                    )
                rows[response.id] = row
            except InputError as error:
                handed.receipt.rejected.append(Rejection(response.id, str(error)))
        checks = {response.id: response.question_id for response in handed.responses if response.question_id >= CHECKS_FROM}
        kept = one_vote_each([row for row in rows.values() if row.id not in checks], self._reading.ledger)
        kept += self._one_answer_each([(checks[row.id], row) for row in rows.values() if row.id in checks])
        ids = {row.id for row in kept}
        handed.new = [name for name in rows if name in ids]
        handed.receipt.known.extend(name for name in rows if name not in ids)  # they said the same before
        return kept

    def _one_answer_each(self, checks: Iterable[tuple[int, LoggedAnswer]]) -> list[LoggedAnswer]:
        """As a vote on a question, so the answer to a check: a new one takes the place of the earlier one."""
        kept: list[LoggedAnswer] = []
        for number, row in checks:
            before = self._reading.ledger.row(self._checked.get(number, ""))  # None if it was not stored, or taken back
            if before is None or before.value != row.value:
                self._checked[number] = row.id
                kept += [row] if before is None else replacing(row, before)
        return kept

    def undo(self, annotator: str, answer_id: str, *, id: str) -> Receipt:  # noqa: A002  the id of the undo itself
        """Take one of one's own last answers back, by a new event; the question waits again."""
        check_annotator(annotator)
        with self._lock:
            if self._reading.ledger.knows(id):
                return Receipt(known=[id])
            self._campaign.refresh()
            if answer_id not in self._history.may_be_undone(annotator):
                return Receipt(rejected=[Rejection(id, f"{answer_id!r} is not one of the last answers of {annotator}")])
            row = self._reading.ledger.row(answer_id)
            if row is not None and 0 <= row.question_id < CHECKS_FROM:  # the page shows it again
                self._on_screen.may_see(annotator, pair_of(row.u, row.v), row.question_id, self._clock())
            return _receipt(id, lambda: self._campaign.undo(answer_id, annotator=annotator, id=id))

    def flag(self, annotator: str, item: int, reason: str, *, id: str) -> Receipt:  # noqa: A002  the id of the flag itself
        """Say that an item's picture is of no use: it is shown no more, and what waits about it is answered unsure."""
        check_annotator(annotator)
        with self._lock:
            now = microseconds(self._clock())
            return _receipt(id, lambda: self._campaign.flag(item, reason, annotator=annotator, id=id, at=now))

    def unflag(self, annotator: str, flag_id: str, *, id: str) -> Receipt:  # noqa: A002  the id of the undo itself
        """Take one of one's own flags back, however old. The answers that it gave go with it."""
        check_annotator(annotator)
        with self._lock:
            return _receipt(id, lambda: self._campaign.unflag(flag_id, annotator=annotator, id=id))

    # -- looking ------------------------------------------------------------------------------------------------------------

    def recent(self, annotator: str, count: int = 10) -> list[Answered]:
        """Somebody's last answers that were not taken back, the newest first."""
        with self._lock:
            self._campaign.refresh()
            found = self._history.recent(annotator, count)
            return [replace(row, kind=self._sheet_of(row)) for row in found]

    def standing(self) -> Standing:
        """Where the campaign stands, how fast people are, and how far they can be relied on."""
        with self._lock:
            self._campaign.refresh()
            standing = standing_of(self.folder, self._reading, self._activity, len(self._queue), self._clock())
            evidence = evidence_of(self._reading.ledger)
        return with_reliability(standing, estimate(evidence))  # which takes time, and keeps nobody from answering

    def outlook(self, annotator: str, *, empty: bool = False) -> Outlook:
        """How far the campaign is; `empty`: there is nothing for this person, so why, and for how long."""
        with self._lock:
            self._campaign.refresh()
            found = outlook_of(self.folder, self._reading)
            if not empty:
                return found
            with self._handouts.changing():
                held = self._handouts.in_hands()
            why, seconds = why_nothing(self.folder, self._reading, held, annotator, found.state, self._clock())
            return replace(found, why=why, seconds=seconds)

    def state(self) -> str:
        """Running, waiting, done or stopped, as of the last step; waiting before the first one."""
        last = self.folder.last_row(kind_of(self.folder).course)
        return "waiting" if last is None else state_of(self.folder, last)

    def hindrance(self) -> str | None:
        """Why the campaign asks nothing new until somebody has run a command; what was asked may be answered all the same."""
        return hindrance(self.folder)

    @property
    def has_open(self) -> bool:
        """Whether questions are open, for whomever."""
        return len(self._queue) > 0

    def item(self, number: int) -> ItemFacts:
        """What is known about an item; `InputError` if there is none of this number."""
        collection = self._items.with_item(number)
        uri = collection.uri(number)  # checks the number
        row = collection.table.slice(number, 1)
        taken_at, group = (row.column(name)[0].as_py() for name in ("taken_at", "group"))
        return ItemFacts(collection.ids[number], taken_at, group, uri)

    # -- inside -----------------------------------------------------------------------------------------------------------------

    def _sheet_of(self, row: Answered) -> str:
        """The name of the sheet on which an answer was given; checks and flags keep the one that they have."""
        if row.question_id == OUTSIDE:
            return row.kind
        return question_kind(self._reading.questions[row.question_id].kind).sheet_of(row.page)

    def _learn(self, rows: list[LoggedAnswer]) -> None:
        self._history.take(rows)
        self._at_work.update({row.annotator: row.at for row in rows if row.at is not None and row.source == "people"})
        self._said.update(dict.fromkeys({row.annotator for row in rows} & self._said.keys(), self._clock()))
        self._checks.take(rows)
        self._activity.take(rows)
        self._queue.update()

    def _row(self, annotator: str, response: Response) -> LoggedAnswer:
        now = microseconds(self._clock())
        if response.question_id < CHECKS_FROM:
            return self._campaign.row(replace(response, annotator=annotator, undoes=None), at=now)
        check_response(response)
        check = self._checks.find(response.question_id, annotator)
        question_kind(check.kind).check(response.value, response.question_id)
        return LoggedAnswer(
            response.id, OUTSIDE, check.u, check.v, response.value, check.source, annotator, None, check.page,
            response.seconds, now, response.clicks,
        )  # fmt: skip

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
    kind = question_kind(first.kind).sheet_of(first.page)
    return Handout(uuid.uuid4().hex, annotator, 0.0, kind, first.u, tuple((q.id, q.v) for q in questions))


def _leased(sheet: Handout, expires: datetime) -> Handout:
    return Handout(sheet.sheet, sheet.annotator, expires.timestamp(), sheet.kind, sheet.anchor, sheet.candidates)


def _sheet(handout: Handout) -> Sheet:
    candidates = tuple(Candidate(question_id, item) for question_id, item in handout.candidates)
    return Sheet(handout.sheet, handout.kind, handout.anchor, candidates, datetime.fromtimestamp(handout.expires, UTC))


def _receipt(event_id: str, store: Callable[[], bool]) -> Receipt:
    """What became of one event: stored, known from before, or refused."""
    try:
        return Receipt(stored=[event_id]) if store() else Receipt(known=[event_id])
    except InputError as error:
        return Receipt(rejected=[Rejection(event_id, str(error))])


__all__ = ["Answered", "Candidate", "Desk", "ItemFacts", "Receipt", "Rejection", "Sheet", "Standing"]

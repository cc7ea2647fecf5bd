"""A campaign as a program sees it: create or open it, take questions from it, give answers to it, advance it, read its result.

Asking and answering never compute: questions lie ready before they are needed, put there by `advance`, and an answer is
acknowledged when it is durable, never when it has been computed on.
"""

import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Self

from cccount_dist.campaign.advancing import advance, kind_of, start, state_of, was_interrupted
from cccount_dist.campaign.epochs import epoch_words
from cccount_dist.campaign.hindrance import hindrance
from cccount_dist.campaign.kind import KINDS
from cccount_dist.campaign.outcome import CampaignOutcome, for_words, optional, plain_fields
from cccount_dist.campaign.pythonwords import speaks_python
from cccount_dist.campaign.reporting import write_report
from cccount_dist.campaign.responses import (
    Response,
    answer_row,
    answered_by,
    check_annotator,
    flag_rows,
    is_replacing,
    new_id,
    one_vote_each,
    undo_rows,
)
from cccount_dist.campaign.sidesread import sides_of
from cccount_dist.campaign.sidewords import SideFigures
from cccount_dist.options import Value
from cccount_dist.sampling.ledger import Ledger, LoggedAnswer, is_flag
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, InputError, StoreError
from storage.journal import Journal
from storage.workspace import Workspace

Listener = Callable[[list[LoggedAnswer]], None]


@dataclass(frozen=True, slots=True)
class CampaignStatus:
    """A row of `cccount status`."""

    campaign: str
    method: str
    state: str
    questions: int
    answers: int
    pending: int
    contradictions: int
    result: Mapping[str, Any] | None
    brief: str  # the result in a few words
    epoch: str | None = optional()  # since when another sampler asks, and why
    glances: int | None = optional()  # pages that were answered, where there are some; `questions` are the pairs
    noun: str | None = optional()
    hindrance: str | None = optional()  # why the next step cannot be taken, and what to run
    interrupted: bool | None = optional()  # True: its last step was killed, and another one goes on from there
    carried: int | None = optional()  # what people said in other campaigns, where there is something
    free: int | None = for_words()  # questions that nobody had to be asked
    sides_found: SideFigures | None = for_words()  # noqa: RUF009 (a field)

    def json(self) -> dict[str, object]:
        found = {name: value for name, value in plain_fields(self).items() if name != "brief"}
        return found if self.sides_found is None else found | {"sides": self.sides_found.json()}


class Campaign:
    """A campaign of a workspace, and the one way from what people say to its log. Processes and threads may share it.

    Open one with `Campaign.open`, or start one with `Campaign.create`. Asking and telling cost what is new in the log, never the
    collection; memory is the answers.

    Attributes
    ----------
    name : its name in the workspace
    settings : what it was started with: kind, method, seed, level, parameters; frozen
    questions : every question so far
    ledger : what the log says at this moment: settled answers, votes, contradictions

    Methods
    -------
    ask(limit, annotator=…) : questions that nobody has answered yet
    tell(responses) : record answers durably
    undo(answer_id, annotator=…), flag(item, reason), unflag(flag_id) : take back; say that a picture is of no use
    advance() : one step: read new answers, ask, refresh the result
    result(), status(), report() : the newest result, where it stands, a file for people

    Examples
    --------
    A whole campaign, answered by a function::

        campaign = Campaign.create("census", "by-ana", kind="count", budget=400, noun="individual")
        while campaign.advance().state == "waiting":
            for question in campaign.ask(20, annotator="ana"):
                campaign.tell([Response(question.id, float(same(question.u, question.v)), "ana")])
        campaign.result()["estimate"], campaign.report()
    """

    def __init__(self, folder: CampaignFolder) -> None:
        self.settings = folder.settings()
        self._folder = folder
        self._reading = Reading(folder)
        self._lock = threading.RLock()
        self._held: Journal | None = None
        self._listener: Listener = lambda _: None
        self._items: int | None = None

    @classmethod
    def open(cls, workspace: str, name: str) -> Self:
        """Open an existing campaign; `WorkspaceError` names the ones that exist if it does not."""
        return cls(CampaignFolder(Workspace.open(workspace), name))

    @classmethod
    @speaks_python()
    def create(cls, workspace: str, name: str, kind: str = "count", **options: Value) -> Self:
        """Start a campaign, or set a new goal for the one that is there.

        `options` are those of the command `cccount KIND`: `budget=2000`, `method="nis"`, `parameter=("ratio=5",)`. Nothing is
        asked yet: the first `advance` does that.
        """
        started = start(Workspace.open(workspace), name, KINDS.get(kind).options.read(options, f"cccount {kind}"))
        return cls(started.folder)

    @property
    def name(self) -> str:
        """Its name in the workspace."""
        return self._folder.name

    def __repr__(self) -> str:
        place = self._folder.workspace.location
        return f"<Campaign {self.name!r} of {place}: {self.settings.kind} by {self.settings.method}>"

    @speaks_python({"strict_replay": "strict"})
    def advance(self, *, to_the_end: bool = False, strict: bool = False) -> CampaignOutcome:
        """Take one idempotent step: read new answers, ask, refresh the result; or go on until it is done or waits for people.

        A log that this version does not replay goes on in a new epoch, unless `strict`.
        """
        return advance(self._folder, to_the_end=to_the_end, strict=strict)

    def result(self) -> Mapping[str, Any] | None:
        """The newest row of the campaign's results, as `advance` left it; None before the first step."""
        return self._folder.last_row(kind_of(self._folder).course)

    def report(self, *, price: float | None = None) -> str:
        """Write the report, one self-contained HTML file, and return where it is."""
        return write_report(self._folder, price=price)

    def status(self) -> CampaignStatus:
        """Where the campaign stands, and what it waits for. Reads only."""
        ledger, last, kind, goal = self.ledger, self.result(), kind_of(self._folder), self._folder.goal()
        return CampaignStatus(
            campaign=self.name,
            method=self.settings.method,
            state=state_of(self._folder, last),
            questions=ledger.questions,
            answers=ledger.position,
            pending=len(ledger.pending(self._reading.questions)),
            contradictions=ledger.contradictions,
            result={name: last[name] for name in kind.shown} if last else None,
            brief="" if last is None else kind.found(last, goal),
            epoch=epoch_words(self._folder.epochs()),
            glances=ledger.glances or None,
            noun=goal.noun,
            hindrance=hindrance(self._folder),
            interrupted=was_interrupted(self._folder, last) or None,
            carried=ledger.carried or None,
            free=ledger.inferred,
            sides_found=sides_of(self._folder),
        )

    # -- asking and answering ---------------------------------------------------------------------------------------------

    def ask(self, limit: int, *, annotator: str = "anonymous") -> list[Question]:
        """Return up to `limit` questions that nobody has answered yet, and whose pictures nobody has flagged.

        Annotators start at different places of the queue, so that two people who answer at once rarely see the same pair. For
        leases, and for questions that need several votes, see `review/desk.py`.

        `questions = campaign.ask(20, annotator="ana")`
        """
        with self._lock:
            ledger = self.ledger
            flagged = ledger.flagged
            pending = [q for q in ledger.pending(self._reading.questions) if not flagged & {q.u, q.v}]
        if not pending:
            return []
        start = zlib.crc32(annotator.encode()) % len(pending)
        return (pending[start:] + pending[:start])[:limit]

    def tell(self, responses: Iterable[Response], *, source: str = "people") -> int:
        """Record answers durably and return how many of them were new: a retry with the same id counts once.

        All or nothing: `InputError` names the first that cannot be an answer. None is unsure, and an answer. A person has one
        vote on a question: another value takes the place of what they said before, the same again is not new.

        `campaign.tell([Response(0, 1.0, "ana"), Response(1, None, "ana", seconds=4.2)])`
        """
        given = list(responses)
        with self._lock:
            self.refresh()
            rows = [answer_row(response, self._reading.questions, self.name, source=source) for response in given]
            told: dict[str, LoggedAnswer] = {}
            for row in rows:
                self._check_against(row, told)
                told[row.id] = row
            new = one_vote_each([row for row in rows if not self._reading.ledger.knows(row.id)], self._reading.ledger)
            return max(0, self.record(new) - sum(map(is_replacing, new)))

    def flag(
        self,
        item: int,
        reason: str = "",
        *,
        annotator: str = "anonymous",
        id: str | None = None,  # noqa: A002  of the flag itself
        at: int | None = None,
    ) -> bool:
        """Say that an item's picture is of no use: it is asked about no more, and what waits about it is answered unsure.

        Returns whether it is new; `undo` and `unflag` take it back by its id. `at`: microseconds since 1970, None for now.

        `campaign.flag(17, "two animals in it", annotator="ana", id="my flag")`
        """
        check_annotator(annotator)
        own = id or new_id()
        with self._lock:
            if not self._is_new(own):
                return False
            self._check_item(item)
            waiting = self._reading.ledger.pending(self._reading.questions)
            self.record(flag_rows(item, reason, waiting, annotator=annotator, flag_id=own, at=at))
            return True

    def unflag(self, flag_id: str, *, annotator: str = "anonymous", id: str | None = None) -> bool:  # noqa: A002  of the undo
        """Take one of one's own flags back, and the answers that it gave; return whether that is new.

        `campaign.unflag("my flag", annotator="ana")`
        """
        return self._take_back(flag_id, annotator, id or new_id(), flags_only=True)

    def undo(self, answer_id: str, *, annotator: str = "anonymous", id: str | None = None) -> bool:  # noqa: A002  of the undo
        """Take one of one's own answers or flags back, by a new row of the log; the question waits again.

        Returns whether the undo is new; `InputError` for an answer of somebody else, or one that was taken back already.

        `campaign.undo("my answer", annotator="ana")`
        """
        return self._take_back(answer_id, annotator, id or new_id())

    def refused(self, responses: Sequence[Response]) -> dict[int, str]:
        """Say which of these cannot be recorded, by their place, and why: `tell` takes all or nothing."""
        reasons = {}
        told: dict[str, LoggedAnswer] = {}
        with self._lock:
            self.refresh()
            for place, response in enumerate(responses):
                try:
                    row = answer_row(response, self._reading.questions, self.name)
                    self._check_recorded(row)
                    self._check_against(row, told)
                except InputError as error:
                    reasons[place] = str(error)
                else:
                    told[row.id] = row
        return reasons

    @property
    def ledger(self) -> Ledger:
        """What the log and the journal say at this moment."""
        self.refresh()
        return self._reading.ledger

    @property
    def questions(self) -> list[Question]:
        self.refresh()
        return self._reading.questions

    # -- for whoever takes many answers, as the desk of the review page does ----------------------------------------------

    @property
    def reading(self) -> Reading:
        """What was read so far, without a look at what is new."""
        return self._reading

    def hold(self, listener: Listener) -> None:
        """Keep the journal open until `close`: an answer is then one insert, and nothing is read but what is new.

        `listener` is told the rows that are new after every reading, also none. In an object store nothing is sealed any more
        by telling: whoever holds a campaign does that beside the answers (`flows/serving/sealing.py`).
        """
        with self._lock:
            self._held = self._held or Journal(self._folder.journal_path)
            self._listener = listener

    def close(self) -> None:
        """Let go of the journal."""
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None

    def refresh(self) -> None:
        """Read on in the log and the journal."""
        with self._lock:
            if self._held is None and not self._folder.journal_path.exists():
                self._listener(self._reading.refresh())
            else:
                with self._journal() as journal:
                    self._listener(self._reading.refresh(journal))

    def row(self, response: Response, *, at: int | None = None) -> LoggedAnswer:
        """Return the row that a response makes; `InputError` if it cannot be an answer. Reads on only for an unknown question."""
        with self._lock:
            if response.question_id >= len(self._reading.questions):
                self.refresh()
            return answer_row(response, self._reading.questions, self.name, at=at)

    def record(self, rows: Sequence[LoggedAnswer]) -> int:
        """Make rows durable, all in one insert, and return how many were new."""
        if not rows:
            return 0
        with self._lock, self._journal() as journal:
            recorded = journal.record(answers_table(rows))
            if self._held is not None:
                self._listener(self._reading.follow(journal))
            elif self._folder.workspace.is_remote:
                # The journal is this host's, and the campaign may be advanced on another: what is durable here goes there.
                with suppress(StoreError, ConflictError):  # the next answer, or an `advance` on this host, takes it along
                    journal.seal(self._folder.log)
            return recorded

    # -- inside -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def _journal(self) -> Iterator[Journal]:
        """The journal that is held, or one that is opened for this once."""
        if self._held is not None:
            yield self._held
        else:
            with self._folder.journal() as journal:
                yield journal

    def _check_recorded(self, row: LoggedAnswer) -> None:
        before = self._reading.ledger.row(row.id)
        if before is not None and (before.question_id, before.value) != (row.question_id, row.value):
            raise InputError(f"answer {row.id!r} was recorded with another value: undo it, or give it another answer_id")

    def _check_against(self, row: LoggedAnswer, told: Mapping[str, LoggedAnswer]) -> None:
        """Raise `InputError` for a row that says something else than one of the same id that was told before it, or that takes
        back what is not its own: people take back what they said themselves."""
        before = told.get(row.id)
        if before is not None and replace(before, seconds=row.seconds, clicks=row.clicks) != row:
            raise InputError(f"answer {row.id!r} was told before with another value, question or annotator: one id is one answer")
        if row.undoes is None or before is not None or self._reading.ledger.knows(row.id):
            return
        taken = told.get(row.undoes) or self._reading.ledger.row(row.undoes)
        if taken is None or taken.undoes is not None or (taken.annotator, taken.question_id) != (row.annotator, row.question_id):
            raise InputError(f"{row.annotator} has no answer {row.undoes!r} to question {row.question_id} that still holds")

    def _is_new(self, answer_id: str) -> bool:
        if not self._reading.ledger.knows(answer_id):
            self.refresh()
        return not self._reading.ledger.knows(answer_id)

    def _take_back(self, answer_id: str, annotator: str, undo_id: str, *, flags_only: bool = False) -> bool:
        check_annotator(annotator)
        with self._lock:
            if not self._is_new(undo_id):
                return False
            row = self._reading.ledger.row(answer_id)
            if row is None or row.undoes is not None or row.annotator != annotator or (flags_only and not is_flag(row.source)):
                what = "flag" if flags_only else "answer"
                raise InputError(f"{annotator} has no {what} {answer_id!r} that still holds")
            self.record(undo_rows([row, *self._answered_by(row)], undo_id))
            return True

    def _answered_by(self, flag: LoggedAnswer) -> list[LoggedAnswer]:
        """The answers that a flag gave and that still hold; none for what is no flag."""
        if not is_flag(flag.source):
            return []
        about = [question for question in self._reading.questions if flag.u in (question.u, question.v)]
        return [row for q in about if (row := self._reading.ledger.row(answered_by(flag.id, q))) is not None]

    def _check_item(self, item: int) -> None:
        if self._items is None or item >= self._items:  # it may have grown
            self._items = self._folder.workspace.collection().items
        if not 0 <= item < self._items:
            raise InputError(f"there is no item {item}: the collection has the items 0 to {self._items - 1}")


__all__ = ["Campaign", "Response"]

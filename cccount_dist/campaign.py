"""A campaign as a person or a program sees it: open it, take questions from it, give answers to it.

The campaign itself is advanced elsewhere (`runner.py`, by `cccount advance`): questions lie ready before they are needed, and an
answer is acknowledged when it is durable, never when it has been computed on.
"""

import math
import uuid
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from cccount_dist.sampling.ledger import Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import Kind, Question
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, InputError, StoreError
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Response:
    """What somebody answered: 1 same, 0 different, a rating in [0, 1], or None for unsure.

    Whoever answers makes the id, so that a retry after a lost connection is recognised and counts once.
    """

    question_id: int
    value: float | None
    annotator: str = "anonymous"
    seconds: float = 0.0
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    undoes: str | None = None


class Campaign:
    """A campaign of a workspace. Any number of processes may hold it open."""

    def __init__(self, folder: CampaignFolder) -> None:
        self.settings = folder.settings()
        self._folder = folder
        self._reading = Reading(folder)

    @classmethod
    def open(cls, workspace: str, name: str) -> Self:
        """Open an existing campaign; `WorkspaceError` names the ones that exist if it does not."""
        return cls(CampaignFolder(Workspace.open(workspace), name))

    @property
    def name(self) -> str:
        return self._folder.name

    def ask(self, limit: int, *, annotator: str = "anonymous") -> list[Question]:
        """Return up to `limit` questions that nobody has answered yet.

        Annotators start at different places of the queue, so that two people who answer at once rarely see the same pair. For
        leases, and for questions that need several votes, see `review/desk.py`.
        """
        pending = self.ledger.pending(self._reading.questions)
        if not pending:
            return []
        start = zlib.crc32(annotator.encode()) % len(pending)
        return (pending[start:] + pending[:start])[:limit]

    def tell(self, responses: Iterable[Response], *, source: str = "people") -> int:
        """Record answers durably and return how many of them were new."""
        given = list(responses)
        self._refresh()
        rows = [self._checked(response, source) for response in given]
        rows = [row for row in rows if not self._reading.ledger.knows(row.id)]
        if not rows:
            return 0
        with self._folder.journal() as journal:
            recorded = journal.record(answers_table(rows))
            if self._folder.workspace.is_remote:
                # The journal is this host's, and the campaign may be advanced on another: what is durable here goes there.
                with suppress(StoreError, ConflictError):  # the next answer, or an `advance` on this host, takes it along
                    journal.seal(self._folder.log)
            return recorded

    def refused(self, responses: Sequence[Response]) -> dict[int, str]:
        """Say which of these cannot be recorded, by their place, and why: `tell` takes all or nothing."""
        self._refresh()
        reasons = {}
        for place, response in enumerate(responses):
            try:
                row = self._checked(response, "people")
                before = self._reading.ledger.row(row.id)
                if before is not None and (before.question_id, before.value) != (row.question_id, row.value):
                    reasons[place] = f"answer {row.id!r} was recorded with another value: undo it, or give it another answer_id"
            except InputError as error:
                reasons[place] = str(error)
        return reasons

    @property
    def ledger(self) -> Ledger:
        """What the log and the journal say at this moment."""
        self._refresh()
        return self._reading.ledger

    @property
    def questions(self) -> list[Question]:
        self._refresh()
        return self._reading.questions

    def _checked(self, response: Response, source: str) -> LoggedAnswer:
        return checked(response, self._reading.questions, self.name, source=source, annotator=response.annotator)

    def _refresh(self) -> None:
        if self._folder.journal_path.exists():
            with self._folder.journal() as journal:
                self._reading.refresh(journal)
        else:
            self._reading.refresh()


def checked(response: Response, questions: Sequence[Question], campaign: str, *, source: str, annotator: str) -> LoggedAnswer:
    """Return the row of the log that a response makes; `InputError` if it cannot be an answer to its question."""
    if not 0 <= response.question_id < len(questions):
        raise InputError(f"campaign {campaign!r} has no question {response.question_id}: it has {len(questions)}")
    question = questions[response.question_id]
    check_response(response)
    check_value(response.value, question.kind, question.id)
    return LoggedAnswer(
        response.id,
        question.id,
        question.u,
        question.v,
        response.value,
        source,
        annotator,
        response.undoes,
        question.page,
        response.seconds,
    )


def check_response(response: Response) -> None:
    """Raise `InputError` for what can be an answer to no question at all."""
    if not (response.id and 0.0 <= response.seconds < math.inf):
        raise InputError(f"an answer needs an id, and seconds of 0 or more, not {response.seconds}")


def check_value(value: float | None, kind: Kind, question_id: int) -> None:
    """Raise `InputError` unless the value can be an answer to a question of this kind."""
    if value is not None and not (0.0 <= value <= 1.0 and (kind == "rating" or value in (0.0, 1.0))):
        allowed = "a number from 0 to 1" if kind == "rating" else "1 (same), 0 (different)"
        raise InputError(f"question {question_id} takes {allowed} or nothing (unsure), not {value}")

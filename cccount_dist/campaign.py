"""A campaign as a person or a program sees it: open it, take questions from it, give answers to it.

The campaign itself is advanced elsewhere (`runner.py`, by `cccount advance`): questions lie ready before they are needed, and an
answer is acknowledged when it is durable, never when it has been computed on.
"""

import uuid
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from cccount_dist.sampling.ledger import Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, answers_table, questions_of
from cccount_dist.sampling.types import Question
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
        self._ledger = Ledger()
        self._questions: list[Question] = []

    @classmethod
    def open(cls, workspace: str, name: str) -> Self:
        """Open an existing campaign; `WorkspaceError` names the ones that exist if it does not."""
        return cls(CampaignFolder(Workspace.open(workspace), name))

    @property
    def name(self) -> str:
        return self._folder.name

    def ask(self, limit: int, *, annotator: str = "anonymous") -> list[Question]:
        """Return up to `limit` questions that nobody has answered yet.

        Annotators start at different places of the queue, so that two people who answer at once rarely see the same pair.
        """
        self._refresh()
        pending = self._ledger.pending(self._questions)
        if not pending:
            return []
        start = zlib.crc32(annotator.encode()) % len(pending)
        return (pending[start:] + pending[:start])[:limit]

    def tell(self, responses: Iterable[Response], *, source: str = "people") -> int:
        """Record answers durably and return how many of them were new."""
        given = list(responses)
        self._refresh()
        rows = [self._checked(response, source) for response in given]
        if not rows:
            return 0
        with self._folder.journal() as journal:
            recorded = journal.record(answers_table(rows, seconds=[response.seconds for response in given]))
            if self._folder.workspace.is_remote:
                # The journal is this host's, and the campaign may be advanced on another: what is durable here goes there.
                with suppress(StoreError, ConflictError):  # the next answer, or an `advance` on this host, takes it along
                    journal.seal(self._folder.log)
            return recorded

    @property
    def ledger(self) -> Ledger:
        """What the log and the journal say at this moment."""
        self._refresh()
        return self._ledger

    @property
    def questions(self) -> list[Question]:
        self._refresh()
        return self._questions

    def _checked(self, response: Response, source: str) -> LoggedAnswer:
        if not 0 <= response.question_id < len(self._questions):
            raise InputError(f"campaign {self.name!r} has no question {response.question_id}: it has {len(self._questions)}")
        question = self._questions[response.question_id]
        value = response.value
        if value is not None and not (0.0 <= value <= 1.0 and (question.kind == "rating" or value in (0.0, 1.0))):
            allowed = "a number from 0 to 1" if question.kind == "rating" else "1 (same), 0 (different)"
            raise InputError(f"question {question.id} takes {allowed} or nothing (unsure), not {value}")
        return LoggedAnswer(response.id, question.id, question.u, question.v, value, source, response.annotator, response.undoes)

    def _refresh(self) -> None:
        log = self._folder.log
        self._questions += questions_of(log.questions(since=len(self._questions)))
        # Answers in the journal are not in the log yet: a fresh ledger over both is simplest, and linear in the answers.
        ledger = Ledger()
        ledger.know(self._questions)
        sealed = answers_of(log.answers())
        ledger.take(sealed)
        if self._folder.journal_path.exists():
            known = {row.id for row in sealed}
            with self._folder.journal() as journal:
                ledger.take(row for row in answers_of(journal.pending()) if row.id not in known)
        self._ledger = ledger

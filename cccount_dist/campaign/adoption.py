"""What people said in other campaigns of the workspace, as answers from outside: nothing is asked twice.

From a campaign in which one person answers a question every answer is taken over as it is; where several do, what their votes
settle, and taken back when votes turn it round. Kinds of questions that are not shared stay where they are, ratings for one: very
similar is not the same. The same logs always give the same rows with the same ids, so a step that is repeated adopts nothing
twice. Time: the rows that are new.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.sampling.ledger import (
    CORRECTION,
    KNOWN,
    NO_ANIMAL,
    OUTSIDE,
    Ledger,
    LoggedAnswer,
    adopted_source,
    fact_source,
    is_correction,
)
from cccount_dist.sampling.logged import answers_of, questions_of
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import Answer
from storage.campaigns import CampaignFolder
from storage.individuals import read_known_pairs
from storage.workspace import Workspace

PEOPLE_SOURCES = ("people", "file")  # answers of these sources are shared between campaigns; simulated ones are not


KNOWN_PAIRS = "known pairs"  # beside the names of campaigns, none of which has a space


class KnownPairs:
    """What was brought in about pairs (`cccount catalogue import`), read on from where it was left. Rows are only ever added."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.rows = 0  # that were read

    def new_answers(self) -> list[LoggedAnswer]:
        """Return what has to be written into this campaign's log."""
        first, pairs = self.rows, read_known_pairs(self._workspace).slice(self.rows).to_pylist()
        self.rows += len(pairs)
        return [
            LoggedAnswer(f"{KNOWN}/{number}", OUTSIDE, row["u"], row["v"], row["value"], _source_of(row), KNOWN)
            for number, row in enumerate(pairs, start=first)
        ]


def _source_of(row: Mapping[str, Any]) -> str:
    """What the log says of a pair that was brought in: a fact that may be wrong says how often, and why it is believed."""
    if row["error"] is None:
        return f"{KNOWN}: {row['origin']}"
    return fact_source(float(row["error"]), str(row["reason"] or row["origin"]))


class OtherCampaign:
    """Another campaign, read on from where it was left."""

    def __init__(self, folder: CampaignFolder) -> None:
        self._folder = folder
        self._ledger = Ledger(folder.settings().overlap or 1)
        self._rows = 0
        self._questions = 0
        self._unshared: set[int] = set()  # questions of kinds whose answers stay where they are
        self._standing: dict[int, str] = {}  # question -> id of the answer that was adopted for it

    @property
    def rows(self) -> int:
        """Rows of its log that were read."""
        return self._rows

    def new_answers(self) -> list[LoggedAnswer]:
        """Return what has to be written into this campaign's log."""
        table = self._folder.log.answers(since=self._rows)
        self._rows += table.num_rows
        questions = questions_of(self._folder.log.questions(since=self._questions)) if table.num_rows else []
        self._questions += len(questions)
        self._unshared.update(question.id for question in questions if not question_kind(question.kind).is_shared)
        self._ledger.know(questions)
        if self._ledger.overlap > 1:
            return [row for given in answers_of(table) for row in self._settled(given)]
        source = table.column("source")
        shared = pc.or_(
            pc.is_in(source, value_set=pa.array((*PEOPLE_SOURCES, NO_ANIMAL))), pc.starts_with(source, CORRECTION)
        )  # of a simulation nothing is
        return [row for given in answers_of(table.filter(shared)) for row in self._as_they_are(given)]

    def _as_they_are(self, row: LoggedAnswer) -> list[LoggedAnswer]:
        asked = row.source in PEOPLE_SOURCES and row.question_id != OUTSIDE and row.question_id not in self._unshared
        if row.source == NO_ANIMAL and row.question_id != OUTSIDE:
            return []  # the answers that the flag gave there; here it gives its own
        if not (asked or is_correction(row.source) or row.source == NO_ANIMAL):
            return []
        undoes = None if row.undoes is None else self._name(row.undoes)
        return [self._adopted(self._name(row.id), row, row.value, undoes)]

    def _settled(self, row: LoggedAnswer) -> list[LoggedAnswer]:
        events = self._ledger.take([row])
        if is_correction(row.source) or row.source == NO_ANIMAL:
            return self._as_they_are(row)  # nobody votes on it
        return [adopted for event in events if event.question_id not in self._unshared for adopted in self._follow(row, event)]

    def _follow(self, cause: LoggedAnswer, event: Answer) -> list[LoggedAnswer]:
        """What changes here because the question of the event was settled, or settled otherwise, by the row `cause`."""
        found = []
        name = f"{self._name(cause.id)}/{event.question_id}"
        if (before := self._standing.pop(event.question_id, None)) is not None:
            found.append(self._adopted(f"{name}/undo", cause, None, before, event))
        settled = self._ledger.settled(event.question_id)
        if settled is not None and settled.source in PEOPLE_SOURCES:
            self._standing[event.question_id] = name
            found.append(self._adopted(name, settled, settled.value, None))
        return found

    def _name(self, answer_id: str) -> str:
        return f"{self._folder.name}/{answer_id}"

    def _adopted(
        self, answer_id: str, row: LoggedAnswer, value: float | None, undoes: str | None, event: Answer | None = None
    ) -> LoggedAnswer:
        u, v = (row.u, row.v) if event is None else (event.u, event.v)
        if row.source == NO_ANIMAL:
            return LoggedAnswer(
                answer_id, OUTSIDE, u, v, None, f"{NO_ANIMAL} (campaign {self._folder.name})", row.annotator, undoes
            )
        return LoggedAnswer(answer_id, OUTSIDE, u, v, value, adopted_source(self._folder.name, row.source), row.annotator, undoes)

"""Follows the log of a campaign and the journal in front of it: what was read once is never read again.

Answers are taken in the order in which they are first seen. That may differ from the log's by what a seal or an inference put
between them; who needs the log's own order (the runner, which replays it) reads the log alone. A refresh costs the rows that are
new and a listing of the two folders; memory is the ledger.
"""

from collections import Counter

from cccount_dist.sampling.ledger import OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_of, questions_of
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.journal import Journal


class Reading:
    """What is known of a campaign by now. Not for several threads at once."""

    def __init__(self, folder: CampaignFolder) -> None:
        self.folder = folder
        self.ledger = Ledger(folder.settings().overlap or 1)
        self.questions: list[Question] = []
        self.changed: set[int] = set()  # questions whose votes or answers changed; whoever makes use of it empties it
        self.seen: dict[tuple[str, int, int], int] = {}  # who answered which pair (smaller item first) -> number of the first
        self.votes = 0  # of people on questions of this campaign
        self.page_size = 1  # questions on the largest page so far
        self.page_kind = SAME_QUESTION.name  # of the questions on the last page
        self._on_page: Counter[int] = Counter()
        self._sealed = 0  # rows of the log that were read
        self._position = 0  # of the last answer in the journal that was read

    def refresh(self, journal: Journal | None = None) -> list[LoggedAnswer]:
        """Read on and return the answers that are new; with `journal`, those that are not in the log yet, too."""
        # Questions are written before their answers: read behind them, every question that was answered is there.
        table = self.folder.log.answers(since=self._sealed)
        self._sealed += table.num_rows
        rows = answers_of(table)
        if journal is not None:
            self._position, table = journal.read_on(self._position)
            rows += answers_of(table)
        self._read_questions()
        return self.take(rows)

    def follow(self, journal: Journal) -> list[LoggedAnswer]:
        """Read on in the journal alone, and return the answers that are new."""
        self._position, table = journal.read_on(self._position)
        rows = answers_of(table)
        if any(row.question_id >= len(self.questions) for row in rows):
            self._read_questions()
        return self.take(rows)

    def take(self, rows: list[LoggedAnswer]) -> list[LoggedAnswer]:
        """Take answers in that were not seen before, and return those."""
        first: dict[str, LoggedAnswer] = {}
        for row in rows:
            if not self.ledger.knows(row.id):
                first.setdefault(row.id, row)
        new = list(first.values())
        self.changed.update(event.question_id for event in self.ledger.take(new))
        self.changed.update(row.question_id for row in new)
        self.votes += sum(row.is_vote and row.undoes is None and row.question_id != OUTSIDE for row in new)
        for row in new:
            self.seen.setdefault((row.annotator, min(row.u, row.v), max(row.u, row.v)), row.question_id)
        self.changed.discard(OUTSIDE)
        return new

    def asks_again(self, annotator: str, question: Question) -> bool:
        """Whether somebody answered the pair of a question before, by another number."""
        u, v = sorted((question.u, question.v))
        return self.seen.get((annotator, u, v), question.id) != question.id

    def _read_questions(self) -> None:
        asked = questions_of(self.folder.log.questions(since=len(self.questions)))
        self.questions += asked
        self.ledger.know(asked)
        self._on_page.update(question.page for question in asked if question.page is not None)
        self.page_kind = next((q.kind for q in reversed(asked) if q.page is not None), self.page_kind)
        self.page_size = max([self.page_size, *(self._on_page[q.page] for q in asked if q.page is not None)])

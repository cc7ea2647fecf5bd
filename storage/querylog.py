"""The query log of a campaign: the questions that were asked and the answers that came, in two append-only folders of parts.

The position of a row is the truth of order: a campaign is its log. Every write runs under the campaign's lock together with
the guard that checks the lease, so a stale process cannot write; an answer whose id is known is dropped, so a retry is free.
Every answer carries the digest of the chain that ends with it (`chain.py`): one that is edited or removed later is seen.
Appending costs the rows that are new, whatever the length of the log; memory is the rows that were read, plus the answer ids.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.chain import REPAIR as CHAIN_REPAIR
from storage.chain import START, digests, first_broken, plain_rows
from storage.errors import ConflictError, InputError
from storage.journal import JOURNAL, journal_problems, sealed_tip
from storage.lease import lease_problems
from storage.objects import Objects
from storage.partfolder import PartFolder
from storage.problems import Problem
from storage.rowchecks import check_answers, check_table
from storage.schema import ANSWERS, CHAINED, QUESTIONS

Guard = Callable[[], None]
_COLUMNS = ANSWERS.schema.names


class QueryLog:
    """The log below `prefix` (`campaigns/<name>`). Safe for threads, and for several processes at once."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self.objects = objects
        self.prefix = prefix
        self._lock = f"{prefix}/lease.json"
        self._questions = PartFolder(objects, f"{prefix}/questions", QUESTIONS, numbered_by="question_id")
        self._answers = PartFolder(objects, f"{prefix}/answers", CHAINED)
        self._ids: set[str] = set()
        self._ids_of = 0  # rows of the answer log whose ids are in the set

    def append_questions(self, table: pa.Table, *, guard: Guard | None = None) -> None:
        """Write questions that go on with the numbers of the log; `ConflictError` if they do not.

        `guard` is called under the lock under which the part is written: what it raises, for instance because the
        lease was lost, is raised before anything is written.
        """
        table = check_table(table, QUESTIONS)
        with self.objects.locked(self._lock):
            if guard is not None:
                guard()
            expected = self._questions.refresh()
            numbers = table.column("question_id").to_numpy()
            wrong = np.flatnonzero(numbers != np.arange(expected, expected + len(numbers)))
            if len(wrong):
                raise ConflictError(
                    f"the question log of {self.prefix} goes on with question {expected + wrong[0]}, not {numbers[wrong[0]]}: "
                    "another process asked first; read the log again"
                )
            if len(numbers):
                self._questions.append(table)

    def append_answers(self, table: pa.Table, *, guard: Guard | None = None) -> int:
        """Write the answers whose id is not in the log yet, and return how many these are."""
        table = check_answers(table)
        with self.objects.locked(self._lock):
            if guard is not None:
                guard()
            new = self._unknown(table)
            if new.num_rows:
                chain = pa.array(digests(new, self._digest()), pa.string())
                self._answers.append(new.append_column(CHAINED.schema.field("chain"), chain))
            return int(new.num_rows)

    def questions(self, since: int = 0) -> pa.Table:
        """Return the questions from number `since` on; the row number is the question's id."""
        return _since(self._questions, since).select(QUESTIONS.schema.names)

    def answers(self, since: int = 0) -> pa.Table:
        """Return the answers from position `since` on, in the order in which they were written."""
        return _since(self._answers, since).select(_COLUMNS)

    def tip(self) -> tuple[int, str]:
        """Return how many answers there are, and the digest of their chain: whoever keeps it can see later that none is gone."""
        with self.objects.locked(self._lock):
            return self._answers.refresh(), self._digest()

    def digest_at(self, rows: int) -> str | None:
        """Return the digest of the chain over the first `rows` answers that have been read; None if nobody wrote it."""
        if not rows:
            return START
        known = self._answers.rows >= rows
        found = self._answers.table(rows - 1).column("chain")[0].as_py() if known else None
        return None if found is None else str(found)

    def asked_digest(self, count: int) -> str | None:
        """Return a digest of what a replay looks at in the first `count` questions, however they are cut into parts; None if
        there are fewer."""
        if self._questions.refresh() < count:
            return None
        table = self._questions.table().slice(0, count)
        digest = hashlib.blake2b(digest_size=16)
        for name in ("question_id", "u", "v", "round", "after", "page"):
            digest.update(pc.fill_null(table.column(name).cast(pa.int64()), -1).to_numpy().tobytes())
        for name in ("kind", "purpose"):
            digest.update("\0".join(table.column(name).to_pylist()).encode() + b"\1")
        return digest.hexdigest()

    def compact(self, *, most_parts: int = 24) -> None:
        """Merge parts in a folder that has more than `most_parts`. Readers see every row exactly once at any moment."""
        if most_parts < 1:
            raise InputError(f"most_parts must be at least 1, not {most_parts}")
        with self.objects.locked(self._lock):
            self._questions.compact(most_parts)
            self._answers.compact(most_parts)

    def problems(self, journal: Path | None = None) -> Iterator[Problem]:
        """Check parts, rows, ids, lease, leftovers, and the journal if it lies here; nothing is raised for damage.

        `journal` is where it lies if that is elsewhere.
        """
        damage = [*self._questions.problems(), *self._answers.problems()]
        yield from damage  # each check makes sense only where the ones before it found nothing
        if journal is None and not self.objects.locks_can_break:
            beside = Path(self.objects.location) / self.prefix / JOURNAL
            journal = beside if beside.is_file() else None
        if not damage:
            contradictions = list(self._contradictions())
            yield from contradictions
            if not contradictions:
                yield from self._chain_problems(None if journal is None else sealed_tip(journal))
        yield from lease_problems(self.objects, self._lock)
        for key in self.objects.leftovers(self.prefix):
            yield Problem(
                f"{self.objects.location}/{key}", "a dead writer left it behind", "delete it: it was never a part of the log"
            )
        if journal is not None:
            yield from journal_problems(journal)

    def _unknown(self, table: pa.Table) -> pa.Table:
        """Return the rows whose answer id is neither in the log nor in an earlier row. The caller holds the lock."""
        rows = self._answers.refresh()
        self._ids.update(self._answers.table(self._ids_of).column("answer_id").to_pylist())
        self._ids_of = rows
        seen: set[str] = set()
        fresh = []
        for row, answer_id in enumerate(table.column("answer_id").to_pylist()):
            if answer_id not in self._ids and answer_id not in seen:
                seen.add(answer_id)
                fresh.append(row)
        return table if len(fresh) == table.num_rows else table.take(pa.array(fresh, pa.int64()))

    def _digest(self) -> str:
        """Return the digest of the last row that has been read."""
        if not self._answers.rows:
            return START
        found = self._answers.table(self._answers.rows - 1).column("chain")[0].as_py()
        if found is not None:
            return str(found)
        # The rows are older than chains: from now on the chain covers them, too.
        *_, last = digests(self._answers.table().select(_COLUMNS), START, version=1)
        return last

    def _chain_problems(self, sealed: tuple[int, str] | None = None) -> Iterator[Problem]:
        """Follow the chain through all answers; `sealed` is what `tip` returned at some time before."""
        self._answers.refresh()
        table = self._answers.table()
        stored = table.column("chain").to_pylist()
        broken, _ = first_broken(_COLUMNS, plain_rows(table.select(_COLUMNS)), stored, START)
        where = f"{self.objects.location}/{self.prefix}/answers"
        if broken is not None:
            name = table.column("answer_id")[broken].as_py()
            problem = f"row {broken} (answer {name!r}) breaks the chain: it was edited, or a row before it removed or put in"
            yield Problem(where, problem, CHAIN_REPAIR)
        rows, digest = sealed or (0, START)
        if rows > table.num_rows:
            problem = f"{rows} answers were sealed, and only {table.num_rows} are here: the newest are missing"
            yield Problem(where, problem, CHAIN_REPAIR)
        elif rows and broken is None and stored[rows - 1] != digest:
            problem = f"the chain up to row {rows - 1} is not the one that was sealed: rows were changed and chained anew"
            yield Problem(where, problem, CHAIN_REPAIR)

    def _contradictions(self) -> Iterator[Problem]:
        """What only the two folders together show: doubled answers, and newest parts that got lost."""
        # Answers are read last: what the questions rest on was written before them.
        questions, answers = self.questions(), self.answers()
        where = f"{self.objects.location}/{self.prefix}"
        doubled = answers.num_rows - pc.count_distinct(answers.column("answer_id")).as_py()
        if doubled:
            yield Problem(f"{where}/answers", f"{doubled} rows have the id of an earlier row", "keep the first row of each id")
        told = pc.max(questions.column("after")).as_py() or 0
        if told > answers.num_rows:
            problem = f"the questions rest on {told} answers, and only {answers.num_rows} are here: the newest parts are missing"
            yield Problem(f"{where}/answers", problem, "put the missing parts back from a backup")
        asked = pc.max(answers.column("question_id")).as_py()
        if asked is not None and asked >= max(questions.num_rows, self._questions.refresh()):
            problem = (
                f"question {asked} was answered, and only {questions.num_rows} questions are here: the newest parts are missing"
            )
            yield Problem(f"{where}/questions", problem, "put the missing parts back from a backup")


def _since(folder: PartFolder, since: int) -> pa.Table:
    if since < 0:
        raise InputError(f"rows are counted from 0: there is no row {since}")
    folder.refresh()
    return folder.table(since)

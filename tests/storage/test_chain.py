"""The chain over the answers: whatever is edited or removed afterwards, in the journal or in a part, `verify` sees it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from storage.journal import JOURNAL, Journal
from storage.objects import LocalObjects
from storage.parts import decode_part, encode_part
from storage.querylog import QueryLog
from storage.schema import ANSWERS, CHAINED
from tests.storage.rows import answers, ids, numbered
from tests.storage.workers import PREFIX


@pytest.fixture
def log(tmp_path: Path) -> QueryLog:
    return QueryLog(LocalObjects(tmp_path), PREFIX)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / PREFIX / JOURNAL


def problems(log: QueryLog) -> list[str]:
    """What a log that is opened anew says."""
    return [problem.problem for problem in QueryLog(log.objects, PREFIX).problems()]


def parts(log: QueryLog) -> list[str]:
    return log.objects.keys(f"{PREFIX}/answers")


def forge(log: QueryLog, key: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Replace a part by one that is whole in itself: its own digest is right."""
    table = decode_part(log.objects.read(key), CHAINED, key)
    log.objects.replace(key, encode_part(change(table)))


def with_value(table: pa.Table, row: int, value: float) -> pa.Table:
    values = table.column("value").to_pylist()
    values[row] = value
    place = table.schema.get_field_index("value")
    return table.set_column(place, table.schema.field("value"), pa.array(values, pa.float64()))


def test_an_untouched_log_and_journal_have_no_problem(log: QueryLog, path: Path) -> None:
    with closing(Journal(path)) as journal:
        for start in range(0, 30, 3):
            journal.record(numbered(start, start + 3))
            if start % 9 == 0:
                journal.seal(log)
        assert problems(log) == []
        journal.seal(log)
    log.append_answers(answers(["x", "y"]))
    log.compact(most_parts=1)
    assert problems(log) == []
    assert ids(log.answers()) == [*(f"a{n}" for n in range(30)), "x", "y"]
    assert log.answers().schema.names == ANSWERS.schema.names


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("compacted", [False, True])
def test_an_edited_answer_is_named(log: QueryLog, row: int, compacted: bool) -> None:
    log.append_answers(numbered(0, 2))
    log.append_answers(numbered(2, 5))
    if compacted:
        log.compact(most_parts=1)
    key, place = (parts(log)[0], row) if compacted else (parts(log)[row // 2 if row < 2 else 1], row if row < 2 else row - 2)
    forge(log, key, lambda table: with_value(table, place, 0.25))
    assert len(problems(log)) == 1
    assert f"row {row} (answer 'a{row}') breaks the chain" in problems(log)[0]


def test_a_removed_answer_is_seen_also_the_last_one(log: QueryLog, path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.record(numbered(0, 4))
        journal.seal(log)
    before = log.objects.read(parts(log)[0])
    forge(log, parts(log)[0], lambda table: pa.concat_tables([table.slice(0, 1), table.slice(2)]))
    assert "row 1 (answer 'a2') breaks the chain" in problems(log)[0]
    log.objects.replace(parts(log)[0], before)
    forge(log, parts(log)[0], lambda table: table.slice(0, 3))
    assert "4 answers were sealed, and only 3 are here" in problems(log)[0]


def test_a_chain_that_was_made_anew_is_not_the_one_that_was_sealed(log: QueryLog, path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.record(numbered(0, 4))
        journal.seal(log)
    forged = with_value(log.answers(), 0, 0.25)
    log.objects.delete(f"{PREFIX}/answers")
    QueryLog(log.objects, PREFIX).append_answers(forged)
    assert "not the one that was sealed" in problems(log)[0]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE answers SET value = 0.25 WHERE answer_id = 'a3'", "answer 'a3' breaks the chain"),
        ("UPDATE answers SET annotator = 'eve' WHERE answer_id = 'a5'", "answer 'a5' breaks the chain"),
        ("DELETE FROM answers WHERE answer_id = 'a3'", "answer 'a4' breaks the chain"),
        ("DELETE FROM answers WHERE answer_id = 'a2'", "answer 'a3' breaks the chain"),
        ("DELETE FROM answers WHERE answer_id = 'a5'", "the newest answers are missing"),
        ("DELETE FROM answers", "the newest answers are missing"),
        ("UPDATE answers SET chain = NULL", "answer 'a2' breaks the chain"),
    ],
)
def test_what_is_changed_in_the_journal_is_seen(log: QueryLog, path: Path, statement: str, said: str) -> None:
    with closing(Journal(path)) as journal:
        journal.record(numbered(0, 2))
        journal.seal(log)
        journal.record(numbered(2, 6))
    assert problems(log) == []
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    assert said in problems(log)[0]


def test_a_log_from_before_chains_is_read_and_covered_from_now_on(log: QueryLog) -> None:
    key = f"{PREFIX}/answers/part-000000000000.parquet"
    log.objects.create(key, encode_part(numbered(0, 3)))
    assert log.answers().equals(numbered(0, 3))
    assert problems(log) == []
    log.append_answers(numbered(3, 5))
    assert problems(log) == []
    forge(log, key, lambda table: with_value(table, 1, 0.25))
    assert "row 3 (answer 'a3') breaks the chain" in problems(log)[0], "it shows where the chain begins"


def test_a_journal_from_before_chains_is_read_and_covered_from_now_on(log: QueryLog, path: Path) -> None:
    with closing(Journal(path)) as journal:
        journal.record(numbered(0, 3))
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE chain")
        database.execute("ALTER TABLE answers DROP COLUMN chain")
        database.commit()
    with closing(Journal(path)) as journal:
        assert journal.pending().equals(numbered(0, 3))
        journal.record(numbered(3, 4))
        assert problems(log) == []
        journal.seal(log)
    assert log.answers().equals(numbered(0, 4))
    assert problems(log) == []

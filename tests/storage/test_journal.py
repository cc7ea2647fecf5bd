"""The journal: what it acknowledged is in the log exactly once, whoever is killed and whenever."""

import contextlib
import random
import sqlite3
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.errors import ConflictError, CorruptionError, InputError, StoreError
from storage.journal import JOURNAL, Journal
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from storage.schema import ANSWERS
from tests.storage.faults import small_disk
from tests.storage.rows import Crash, CrashingObjects, answers, ids, numbered
from tests.storage.workers import PREFIX, context, kill, open_new_journals, record_and_seal, record_shared, started, wait_for


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / PREFIX / JOURNAL


def test_recorded_answers_are_pending_until_they_are_sealed(tmp_path: Path, path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    journal = Journal(path)
    assert journal.pending().equals(numbered(0, 0))
    assert journal.seal(log) == 0
    assert journal.record(numbered(0, 0)) == 0
    assert journal.record(numbered(0, 3)) == 3
    assert journal.record(numbered(1, 5)) == 2, "an id that is there already is no new row"
    journal.close()
    journal = Journal(path)
    assert journal.pending().equals(numbered(0, 5))
    assert journal.seal(log) == 5
    assert journal.pending().num_rows == 0
    assert log.answers().equals(numbered(0, 5))
    journal.record(numbered(4, 6))
    assert journal.seal(log) == 1, "an answer that was sealed before is recognised by the log"
    assert log.answers().equals(numbered(0, 6))
    assert list(log.problems()) == []
    journal.close()


_text = st.text(min_size=1, max_size=8)
_int64 = st.integers(-(2**63), 2**63 - 1)
_rows = st.fixed_dictionaries(
    {
        "answer_id": _text,
        "question_id": _int64,
        "u": _int64,
        "v": _int64,
        "value": st.none() | st.floats(0, 1),
        "page": st.none() | _int64,
        "annotator": _text,
        "answered_at": st.datetimes(datetime(1700, 1, 1), datetime(2300, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
        "seconds": st.floats(0, width=32, allow_infinity=False),
        "source": _text,
        "undoes": st.none() | _text,
    }
)


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(_rows, min_size=1, max_size=4, unique_by=lambda row: row["answer_id"]))
def test_every_value_comes_back_as_it_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    table = pa.Table.from_pylist(rows, schema=ANSWERS.schema)
    root = tmp_path_factory.mktemp("values")
    log = QueryLog(LocalObjects(root), PREFIX)
    journal = Journal(root / PREFIX / JOURNAL)
    journal.record(table)
    assert journal.pending().equals(table)
    journal.seal(log)
    assert QueryLog(LocalObjects(root), PREFIX).answers().equals(table)
    journal.close()


def test_a_wrong_answer_is_refused_before_it_is_acknowledged(path: Path) -> None:
    journal = Journal(path)
    with pytest.raises(InputError, match="empty answer_id"):
        journal.record(answers(["good", ""]))
    with pytest.raises(InputError, match="'seconds' of the answers table is missing"):
        journal.record(numbered(0, 1).drop_columns(["seconds"]))
    assert journal.pending().num_rows == 0
    journal.close()


@pytest.mark.parametrize("crash_at", [0, 1])
def test_a_seal_that_dies_before_or_after_the_part_loses_and_doubles_nothing(tmp_path: Path, path: Path, crash_at: int) -> None:
    objects = CrashingObjects(tmp_path)
    objects.crash_at = crash_at
    journal = Journal(path)
    journal.record(numbered(0, 3))
    with pytest.raises(Crash):
        journal.seal(QueryLog(objects, PREFIX))
    assert journal.pending().equals(numbered(0, 3))
    journal.record(numbered(3, 4))
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    assert journal.seal(log) == (4, 1)[crash_at]
    assert log.answers().equals(numbered(0, 4))
    assert journal.pending().num_rows == 0
    journal.close()


def test_a_seal_whose_guard_fails_keeps_everything_pending(tmp_path: Path, path: Path) -> None:
    def guard() -> None:
        raise ConflictError("lost the lease")

    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    journal = Journal(path)
    journal.record(numbered(0, 3))
    with pytest.raises(ConflictError, match="lost the lease"):
        journal.seal(log, guard=guard)
    assert journal.pending().equals(numbered(0, 3))
    assert log.answers().num_rows == 0
    journal.close()


def test_a_process_killed_while_it_records_and_seals_loses_and_doubles_nothing(tmp_path: Path, path: Path) -> None:
    random_ = random.Random(4)
    promised: list[str] = []
    for run in range(30):
        acknowledged = tmp_path / f"acknowledged-{run}"
        with started(record_and_seal, tmp_path, f"r{run}", acknowledged) as process:
            wait_for(acknowledged)
            time.sleep(random_.uniform(0, 0.05))
            kill(process)
        promised += acknowledged.read_text().split()
        log = QueryLog(LocalObjects(tmp_path), PREFIX)
        journal = Journal(path)
        in_log, pending = ids(log.answers()), ids(journal.pending())
        journal.close()
        assert len(set(in_log)) == len(in_log)
        assert len(set(pending)) == len(pending)
        assert set(promised) <= {*in_log, *pending}
    journal = Journal(path)
    journal.seal(log)
    sealed = ids(log.answers())
    assert len(set(sealed)) == len(sealed)
    assert [name for name in sealed if name in set(promised)] == promised, "and in the order in which they were acknowledged"
    assert len(sealed) - len(promised) <= 30 * 3, "at most the batch in flight of each run was not acknowledged"
    log.objects.sweep()
    assert list(log.problems()) == []
    journal.close()


def test_processes_record_and_seal_at_once(tmp_path: Path, path: Path) -> None:
    rows = 25
    barrier = context.Barrier(3)
    with (
        started(record_shared, tmp_path, "w0", barrier, rows) as a,
        started(record_shared, tmp_path, "w1", barrier, rows) as b,
        started(record_shared, tmp_path, "w2", barrier, rows) as c,
    ):
        for process in (a, b, c):
            process.join(60)
            assert process.exitcode == 0
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    journal = Journal(path)
    journal.seal(log)
    expected = [*(f"w{worker}.{row}" for worker in range(3) for row in range(rows)), *(f"shared.{row}" for row in range(rows))]
    assert sorted(ids(log.answers())) == sorted(expected)
    journal.close()


def test_a_new_journal_waits_for_a_process_that_is_just_making_it(path: Path) -> None:
    path.parent.mkdir(parents=True)
    rival = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    rival.execute("BEGIN IMMEDIATE")  # to this state of the file SQLite says "locked" at once, whatever its timeout
    threading.Timer(0.3, rival.execute, ("COMMIT",)).start()
    journal = Journal(path)
    assert journal.record(numbered(0, 1)) == 1
    journal.close()
    rival.close()


def test_processes_may_open_a_new_journal_at_the_same_moment(tmp_path: Path) -> None:
    count = 10
    barrier = context.Barrier(4)
    with contextlib.ExitStack() as stack:
        opening = [stack.enter_context(started(open_new_journals, tmp_path, f"w{worker}", barrier, count)) for worker in range(4)]
        for process in opening:
            process.join(60)
            assert process.exitcode == 0
    for number in range(count):
        journal = Journal(tmp_path / f"{number}.sqlite")
        assert sorted(ids(journal.pending())) == ["w0", "w1", "w2", "w3"]
        journal.close()


def test_threads_record_while_another_one_seals(tmp_path: Path, path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    journal = Journal(path)
    new: list[int] = []

    def record(name: str) -> None:
        new.extend(journal.record(answers([f"{name}.{row}"])) for row in range(20))

    threads = [threading.Thread(target=record, args=(f"t{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        journal.seal(log)
    journal.seal(log)
    assert sum(new) == 60
    assert sorted(ids(log.answers())) == sorted(f"t{number}.{row}" for number in range(3) for row in range(20))
    journal.close()


def test_a_damaged_journal_is_named_with_its_repair(tmp_path: Path, path: Path) -> None:
    journal = Journal(path)
    journal.record(numbered(0, 200))
    journal.close()
    data = bytearray(path.read_bytes())
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    assert list(log.problems()) == []

    data[4096 : 2 * 4096] = bytes(4096)
    path.write_bytes(data)
    found = list(log.problems())
    assert found
    assert {problem.path for problem in found} == {str(path)}
    assert all(".recover" in problem.repair for problem in found)

    path.write_bytes(b"this is no database, and it is longer than a header" * 10)
    with pytest.raises(CorruptionError, match=r"journal.sqlite is damaged \(file is not a database\): .*recover"):
        Journal(path)
    (problem,) = log.problems()
    assert problem.problem == "is damaged (file is not a database)"


def test_a_full_disk_acknowledges_nothing_and_breaks_nothing(path: Path) -> None:
    journal = Journal(path)
    journal.record(numbered(0, 2))
    pages = journal._database.execute("PRAGMA page_count").fetchone()[0]
    journal._database.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="the disk is full"):
        journal.record(numbered(2, 500))
    assert journal.pending().equals(numbered(0, 2))
    journal._database.execute("PRAGMA max_page_count = 1000000")
    assert journal.record(numbered(2, 500)) == 498
    journal.close()


def test_a_journal_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="a file is where a folder should be"):
        Journal(tmp_path / "file" / JOURNAL)
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(StoreError, match=r"cannot use .*journal\.sqlite"):
        Journal(tmp_path / JOURNAL)


def test_a_disk_without_room_acknowledges_nothing_and_what_was_acknowledged_is_sealed_later(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as root:
        journal = Journal(root / PREFIX / JOURNAL)
        journal.record(numbered(0, 50))
        filler = root / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as sink:
            while True:
                sink.write(bytes(4096))
        log = QueryLog(LocalObjects(root), PREFIX)
        with pytest.raises(StoreError, match="the disk is full"):
            journal.record(numbered(50, 5000))
        with pytest.raises(StoreError, match="the disk is full"):
            journal.seal(log)
        assert journal.pending().equals(numbered(0, 50))
        filler.unlink()
        assert journal.record(numbered(50, 60)) == 10
        assert journal.seal(log) == 60
        assert QueryLog(LocalObjects(root), PREFIX).answers().equals(numbered(0, 60))
        assert list(log.problems()) == []
        journal.close()


def test_use_after_close_is_a_mistake_of_the_program_and_shows_as_one(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    with pytest.raises(sqlite3.ProgrammingError):
        journal.pending()

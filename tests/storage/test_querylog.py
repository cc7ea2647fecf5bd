"""The query log against a plain list: random operations, real processes, real kills, damaged files."""

import random
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from storage.errors import ConflictError, InputError
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from tests.storage.rows import Crash, CrashingObjects, answers, ids, numbered, questions
from tests.storage.workers import PREFIX, append_and_compact, append_numbered, append_shared, kill, started, wait_for


def test_answers_come_back_in_the_order_in_which_they_were_written(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    assert log.answers().equals(numbered(0, 0))
    assert log.append_answers(numbered(5, 9)) == 4
    assert log.append_answers(numbered(0, 2)) == 2
    expected = pa.concat_tables([numbered(5, 9), numbered(0, 2)])
    for reader in (log, QueryLog(LocalObjects(tmp_path), PREFIX)):
        assert reader.answers().equals(expected)
        assert reader.answers(since=3).equals(expected.slice(3))
        assert reader.answers(since=6).num_rows == reader.answers(since=99).num_rows == 0
    with pytest.raises(InputError, match="there is no row -1"):
        log.answers(since=-1)


def test_a_retried_answer_is_dropped_in_the_log_and_within_a_table(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    assert log.append_answers(answers(["a", "b", "a"])) == 2
    assert log.append_answers(answers(["b", "c", "c"])) == 1
    assert QueryLog(LocalObjects(tmp_path), PREFIX).append_answers(answers(["c", "a"])) == 0
    assert ids(log.answers()) == ["a", "b", "c"]
    assert len(log.objects.keys(PREFIX)) == 2, "a table without new rows makes no part"


def test_questions_must_go_on_without_a_gap(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    log.append_questions(questions(0, 3))
    log.append_questions(questions(3, 3))
    for wrong, got in ((questions(4, 5), 4), (questions(2, 4), 2), (pa.concat_tables([questions(3, 5), questions(6, 7)]), 6)):
        with pytest.raises(ConflictError, match=f"goes on with question [35], not {got}"):
            log.append_questions(wrong)
    QueryLog(LocalObjects(tmp_path), PREFIX).append_questions(questions(3, 5))
    assert log.questions().equals(questions(0, 5))
    assert log.questions(since=4).equals(questions(4, 5))


def test_rows_that_cannot_be_right_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    good = numbered(0, 3)

    def with_column(name: str, values: list[object]) -> pa.Table:
        field = good.schema.field(name)
        return good.set_column(good.schema.get_field_index(name), field, pa.array(values, field.type))

    for table, message in (
        (with_column("value", [1.0, 1.5, None]), r"answer 'a1' \(row 1\) has a value outside"),
        (with_column("value", [float("nan"), 1.0, None]), r"answer 'a0' \(row 0\) has a value outside"),
        (with_column("seconds", [1.0, 1.0, float("inf")]), r"answer 'a2' \(row 2\) has seconds that are negative or not finite"),
        (with_column("answer_id", ["x", "", "y"]), "empty answer_id"),
        (good.drop_columns(["annotator"]), "the column 'annotator' of the answers table is missing"),
        (good.set_column(2, "u", pa.array([1, 2, 3], pa.int32())), "column 'u' is int32"),
        (good.set_column(2, "u", pa.array([1, None, 3], pa.int64())), "column 'u' has empty values"),
    ):
        with pytest.raises(InputError, match=message):
            log.append_answers(table)
    with pytest.raises(InputError, match="most_parts"):
        log.compact(most_parts=0)
    assert log.objects.keys(PREFIX) == []


def test_a_guard_that_raises_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)

    def guard() -> None:
        raise ConflictError("lost")

    with pytest.raises(ConflictError, match="lost"):
        log.append_answers(numbered(0, 1), guard=guard)
    with pytest.raises(ConflictError, match="lost"):
        log.append_questions(questions(0, 1), guard=guard)
    assert log.objects.keys(PREFIX) == []


def test_compaction_keeps_the_rows_and_leaves_few_parts(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    for start in range(0, 40, 4):
        log.append_answers(numbered(start, start + 4))
    log.append_questions(questions(0, 2))
    log.compact(most_parts=10)
    assert len(log.objects.keys(f"{PREFIX}/answers")) == 10, "as many parts as allowed are left alone"
    log.compact(most_parts=9)
    assert log.objects.keys(f"{PREFIX}/answers") == [f"{PREFIX}/answers/part-000000000000-000000000039.parquet"]
    log.append_answers(numbered(40, 41))
    log.append_answers(numbered(41, 42))
    log.compact(most_parts=2)
    assert len(log.objects.keys(f"{PREFIX}/answers")) == 2, "the large old part is not written again for two new rows"
    for reader in (log, QueryLog(LocalObjects(tmp_path), PREFIX)):
        assert reader.answers().equals(numbered(0, 42))
        assert list(reader.problems()) == []


def test_a_compaction_that_dies_at_any_step_leaves_every_row_exactly_once(tmp_path: Path) -> None:
    crash_at = 0
    while True:
        root = tmp_path / str(crash_at)
        log = QueryLog(CrashingObjects(root), PREFIX)
        for start in range(4):
            log.append_answers(numbered(start, start + 1))
        assert isinstance(log.objects, CrashingObjects)
        log.objects.crash_at, log.objects.changes = crash_at, 0
        try:
            log.compact(most_parts=1)
        except Crash:
            reader = QueryLog(LocalObjects(root), PREFIX)
            assert reader.answers().equals(numbered(0, 4))
            assert list(reader.problems()) == []
            reader.append_answers(numbered(4, 5))
            reader.compact(most_parts=2)
            assert QueryLog(LocalObjects(root), PREFIX).answers().equals(numbered(0, 5))
            assert len(reader.objects.keys(PREFIX)) <= 2, "what a dead compaction left is removed by the next one"
        else:
            assert crash_at == 10, "one part was written and four were deleted: ten moments"
            return
        crash_at += 1


class LogMachine(RuleBasedStateMachine):
    """Two processes' views of one log, against a list of ids; any operation may die at any change of the folder."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.logs = [QueryLog(CrashingObjects(self.root), PREFIX) for _ in range(2)]
        self.rows: list[str] = []

    def teardown(self) -> None:
        assert list(self.logs[0].problems()) == []
        shutil.rmtree(self.root)

    @rule(who=st.integers(0, 1), names=st.lists(st.sampled_from([f"i{number}" for number in range(40)]), max_size=5))
    def append(self, who: int, names: list[str]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self.rows]
        assert self.logs[who].append_answers(answers(names)) == len(new)
        self.rows += new

    @rule(who=st.integers(0, 1), most_parts=st.integers(1, 4))
    def compact(self, who: int, most_parts: int) -> None:
        self.logs[who].compact(most_parts=most_parts)

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        self.logs[who] = QueryLog(CrashingObjects(self.root), PREFIX)

    @rule(who=st.integers(0, 1), crash_at=st.integers(0, 12), most_parts=st.integers(1, 3), name=st.uuids(version=4))
    def die(self, who: int, crash_at: int, most_parts: int, name: object) -> None:
        objects = CrashingObjects(self.root)
        objects.crash_at = crash_at
        log = QueryLog(objects, PREFIX)
        try:
            log.append_answers(answers([str(name)]))
            log.compact(most_parts=most_parts)
        except Crash:
            pass
        if crash_at > 0:  # it died behind the change, or not at all
            self.rows.append(str(name))
        self.reopen(who)

    @precondition(lambda self: self.rows)
    @rule(who=st.integers(0, 1), share=st.floats(0, 1))
    def read_on(self, who: int, share: float) -> None:
        since = int(share * len(self.rows))
        assert ids(self.logs[who].answers(since)) == self.rows[since:]

    @invariant()
    def every_reader_sees_every_row_once(self) -> None:
        for log in self.logs:
            assert log.answers().equals(answers(self.rows))


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def test_four_processes_append_at_once_and_no_row_is_lost_or_doubled(tmp_path: Path) -> None:
    batches = 15
    with (
        started(append_shared, tmp_path, "w0", batches) as a,
        started(append_shared, tmp_path, "w1", batches) as b,
        started(append_shared, tmp_path, "w2", batches) as c,
        started(append_shared, tmp_path, "w3", batches) as d,
    ):
        for process in (a, b, c, d):
            process.join(60)
            assert process.exitcode == 0
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    found = ids(log.answers())
    own = [f"w{worker}.{batch}.{row}" for worker in range(4) for batch in range(batches) for row in range(2)]
    assert sorted(found) == sorted([*own, *(f"shared.{batch}" for batch in range(batches))])
    assert [name for name in found if name.startswith("w2")] == [name for name in own if name.startswith("w2")]
    assert list(log.problems()) == []


def test_readers_beside_a_compacting_writer_always_see_a_whole_beginning_of_the_log(tmp_path: Path) -> None:
    batches = 120
    follower = QueryLog(LocalObjects(tmp_path), PREFIX)
    seen = 0
    with started(append_numbered, tmp_path, batches) as process:
        while process.is_alive():
            for reader in (QueryLog(LocalObjects(tmp_path), PREFIX), follower):
                found = ids(reader.answers())
                assert found == [f"a{number}" for number in range(len(found))]
                assert len(found) >= seen
                assert list(reader.problems()) == []
                seen = len(found)
        assert process.exitcode == 0
    assert follower.answers().equals(numbered(0, 3 * batches))


def test_threads_share_one_log(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)

    def work(name: str) -> None:
        for batch in range(10):
            log.append_answers(answers([f"{name}.{batch}"]))
            assert f"{name}.{batch}" in ids(log.answers())
            log.compact(most_parts=4)

    threads = [threading.Thread(target=work, args=(f"t{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(f"t{number}.{batch}" for number in range(4) for batch in range(10))
    assert sorted(ids(log.answers())) == sorted(ids(QueryLog(LocalObjects(tmp_path), PREFIX).answers())) == expected


def test_a_writer_killed_at_random_moments_loses_no_acknowledged_row_and_doubles_none(tmp_path: Path) -> None:
    random_ = random.Random(2)
    before: list[str] = []
    for run in range(40):
        acknowledged = tmp_path / f"acknowledged-{run}"
        with started(append_and_compact, tmp_path, f"r{run}", acknowledged) as process:
            wait_for(acknowledged)
            time.sleep(random_.uniform(0, 0.05))
            kill(process)
        log = QueryLog(LocalObjects(tmp_path), PREFIX)
        found = ids(log.answers())
        assert found[: len(before)] == before, "rows that were read once never move"
        assert len(set(found)) == len(found)
        lines = [line.split() for line in acknowledged.read_text().splitlines()]
        new = found[len(before) :]
        promised = [name for line in lines for name in line]
        assert new[: len(promised)] == promised
        unacknowledged = len(new) - len(promised)
        assert unacknowledged in (0, len(lines) % 3 + 1), "the batch in flight is there whole or not at all"
        before = found
    assert {problem.problem for problem in log.problems()} <= {"a dead writer left it behind"}
    log.objects.sweep()
    assert list(log.problems()) == []
    assert list(tmp_path.rglob(".tmp-*")) == []

"""Damaged logs: whatever is torn, flipped, missing or misplaced is named with its repair, and never read as if it were whole."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.errors import CorruptionError
from storage.objects import LocalObjects
from storage.parts import decode_part, encode_part
from storage.querylog import QueryLog
from storage.schema import ANSWERS
from tests.storage.rows import Crash, CrashingObjects, answers, numbered, questions
from tests.storage.workers import PREFIX


def _parts(root: Path) -> list[Path]:
    return sorted((root / PREFIX / "answers").glob("part-*"))


@pytest.fixture
def three_parts(tmp_path: Path) -> Path:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    for start in (0, 2, 4):
        log.append_answers(numbered(start, start + 2))
    return tmp_path


def _one_problem(root: Path, path: Path, text: str) -> None:
    (problem,) = QueryLog(LocalObjects(root), PREFIX).problems()
    assert problem.path == str(path)
    assert text in problem.problem
    assert "backup" in problem.repair
    with pytest.raises(CorruptionError, match=path.name) as caught:
        QueryLog(LocalObjects(root), PREFIX).answers()
    assert "backup" in str(caught.value)


def test_any_flipped_bit_of_a_part_is_found(three_parts: Path) -> None:
    path = _parts(three_parts)[1]
    data = bytearray(path.read_bytes())
    for position in range(len(data)):
        for bit in (1, 16, 128):
            data[position] ^= bit
            with pytest.raises(CorruptionError, match="is damaged"):
                decode_part(bytes(data), ANSWERS, "part")
            data[position] ^= bit
    assert decode_part(bytes(data), ANSWERS, "part").equals(numbered(2, 4))
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    _one_problem(three_parts, path, "is damaged")


def test_a_part_is_plain_parquet_for_other_readers(three_parts: Path) -> None:
    found = pq.read_table(three_parts / PREFIX / "answers", page_checksum_verification=True)
    assert found.cast(ANSWERS.schema).equals(numbered(0, 6))


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_part_is_found(three_parts: Path, kept: float) -> None:
    path = _parts(three_parts)[2]
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    _one_problem(three_parts, path, "is damaged")


def test_a_missing_part_is_found_also_by_a_process_that_has_its_rows(three_parts: Path) -> None:
    log = QueryLog(LocalObjects(three_parts), PREFIX)
    log.answers()
    path = _parts(three_parts)[1]
    path.unlink()
    _one_problem(three_parts, path, "no part holds the rows 2 to 3")
    with pytest.raises(CorruptionError, match="rows 2 to 3"):
        log.append_answers(numbered(9, 10))
    path.with_name("part-000000000004.parquet").unlink()
    with pytest.raises(CorruptionError, match="the rows 2 to 5 have disappeared"):
        log.answers()


def test_lost_newest_parts_show_in_the_other_folder(three_parts: Path) -> None:
    log = QueryLog(LocalObjects(three_parts), PREFIX)
    log.append_questions(questions(0, 3, after=6))
    assert list(log.problems()) == []
    _parts(three_parts)[2].unlink()
    (problem,) = QueryLog(LocalObjects(three_parts), PREFIX).problems()
    assert "rest on 6 answers, and only 4 are here" in problem.problem

    asked = answers(["late"])
    asked = asked.set_column(1, asked.schema.field(1), pa.array([3], pa.int64()))
    log = QueryLog(LocalObjects(three_parts), "campaigns/other")
    log.append_questions(questions(0, 3))
    log.append_answers(asked)
    (problem,) = log.problems()
    assert "question 3 was answered, and only 3 questions are here" in problem.problem


def test_parts_that_do_not_belong_are_found(three_parts: Path) -> None:
    path = _parts(three_parts)[2]
    data = path.read_bytes()
    path.write_bytes(encode_part(questions(0, 2)))
    _one_problem(three_parts, path, "the column 'answer_id' of the answers table is missing")
    path.write_bytes(data)

    stranger = path.with_name("notes.txt")
    stranger.write_text("not a part")
    (problem,) = QueryLog(LocalObjects(three_parts), PREFIX).problems()
    assert problem.path == str(stranger)
    stranger.unlink()

    overlapping = path.with_name("part-000000000005.parquet")
    overlapping.write_bytes(encode_part(numbered(9, 10)))
    _one_problem(three_parts, overlapping, "begins at row 5, but the parts before it reach to row 5")
    overlapping.unlink()

    short = path.with_name("part-000000000006-000000000009.parquet")
    short.write_bytes(encode_part(numbered(6, 8)))
    _one_problem(three_parts, short, "holds 2 rows")
    short.unlink()

    doubled = path.with_name("part-000000000006.parquet")
    doubled.write_bytes(encode_part(numbered(1, 3)))
    (problem,) = QueryLog(LocalObjects(three_parts), PREFIX).problems()
    assert "2 rows have the id of an earlier row" in problem.problem


def test_every_problem_is_listed_not_only_the_first(three_parts: Path) -> None:
    first, second, third = _parts(three_parts)
    first.write_bytes(first.read_bytes()[:100])
    second.unlink()
    third.write_bytes(b"")
    found = {problem.path for problem in QueryLog(LocalObjects(three_parts), PREFIX).problems()}
    assert found == {str(first), str(third)}, "behind a damaged part nobody knows where the next one has to begin"
    first.unlink()
    found = {problem.path for problem in QueryLog(LocalObjects(three_parts), PREFIX).problems()}
    assert found == {str(first), str(third)}


def test_a_compaction_does_not_delete_what_a_damaged_merged_part_should_replace(tmp_path: Path) -> None:
    log = QueryLog(CrashingObjects(tmp_path), PREFIX)
    for start in range(3):
        log.append_answers(numbered(start, start + 1))
    assert isinstance(log.objects, CrashingObjects)
    log.objects.crash_at, log.objects.changes = 1, 0
    with pytest.raises(Crash):
        log.compact(most_parts=1)
    merged = tmp_path / PREFIX / "answers" / "part-000000000000-000000000002.parquet"
    merged.write_bytes(merged.read_bytes()[:-1])
    with pytest.raises(CorruptionError, match=merged.name):
        log.compact()
    merged.unlink()
    assert QueryLog(LocalObjects(tmp_path), PREFIX).answers().equals(numbered(0, 3))


def test_questions_whose_number_is_not_their_row_are_found(tmp_path: Path) -> None:
    log = QueryLog(LocalObjects(tmp_path), PREFIX)
    log.append_questions(questions(0, 2))
    path = tmp_path / PREFIX / "questions" / "part-000000000002.parquet"
    path.write_bytes(encode_part(questions(3, 5)))
    (problem,) = QueryLog(LocalObjects(tmp_path), PREFIX).problems()
    assert problem.path == str(path)
    assert "question_id is not the row number from 2 on" in problem.problem

"""Rows of the query log for tests: what an answer or a question holds follows from its number, so that any mix-up shows."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from storage.objects import LocalObjects
from storage.schema import ANSWERS, QUESTIONS

START = datetime(2024, 5, 1, tzinfo=UTC)


def answers(ids: Iterable[str]) -> pa.Table:
    rows = []
    for answer_id in ids:
        number = sum(answer_id.encode())
        rows.append(
            {
                "answer_id": answer_id,
                "question_id": -1,
                "u": number,
                "v": number + 1,
                "value": (1.0, 0.0, None)[number % 3],
                "page": None if number % 2 else number,
                "annotator": "ana",
                "answered_at": START + timedelta(microseconds=number),
                "seconds": number / 8,
                "source": "people",
                "undoes": None,
            }
        )
    return pa.Table.from_pylist(rows, schema=ANSWERS.schema)


def numbered(start: int, stop: int) -> pa.Table:
    return answers(f"a{number}" for number in range(start, stop))


def questions(start: int, stop: int, *, after: int = 0) -> pa.Table:
    rows = [
        {
            "question_id": number,
            "u": number,
            "v": number + 1,
            "kind": "same",
            "purpose": "degree",
            "round": 0,
            "page": None,
            "asked_at": START,
            "after": after,
        }
        for number in range(start, stop)
    ]
    return pa.Table.from_pylist(rows, schema=QUESTIONS.schema)


def ids(table: pa.Table) -> list[str]:
    found: list[str] = table.column("answer_id").to_pylist()
    return found


class Crash(BaseException):
    """The process dies here."""


class CrashingObjects(LocalObjects):
    """Dies at a chosen change of the folder: an even `crash_at` before the change number `crash_at // 2`, an odd one after it."""

    crash_at = -1
    changes = 0

    def create(self, key: str, data: bytes) -> None:
        self._step()
        super().create(key, data)
        self._step()

    def delete(self, prefix: str) -> None:
        self._step()
        super().delete(prefix)
        self._step()

    def _step(self) -> None:
        self.changes += 1
        if self.changes - 1 == self.crash_at:
            raise Crash

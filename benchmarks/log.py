"""The query log: what one answer, a batch, a scan and a compaction cost, for 10,000 and 100,000 answers.

    python -m benchmarks.log --answers 10000 100000 --singles 2000

Everything happens in a temporary folder below --folder, on a real disk: appends are dominated by its fsync, which the first row
measures on its own. A scan reads with a new log object, so nothing comes from its memory.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa

from storage.journal import JOURNAL, Journal
from storage.objects import LocalObjects
from storage.querylog import QueryLog
from storage.schema import ANSWERS

PREFIX = "campaigns/benchmark"
BATCH = 100


def make_answers(start: int, stop: int) -> pa.Table:
    number = np.arange(start, stop)
    rng = np.random.default_rng(start)
    rows = len(number)
    columns = {
        "answer_id": [f"{n:08x}-{rng.bytes(8).hex()}" for n in number],
        "question_id": number,
        "u": rng.integers(0, 100_000, rows),
        "v": rng.integers(0, 100_000, rows),
        "value": rng.integers(0, 2, rows).astype(float),
        "page": [None] * rows,
        "annotator": rng.choice(["ana", "ben", "cleo"], rows).tolist(),
        "answered_at": [datetime.now(UTC)] * rows,
        "seconds": rng.gamma(2, 2, rows).astype(np.float32),
        "source": ["people"] * rows,
        "undoes": [None] * rows,
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in ANSWERS.schema], schema=ANSWERS.schema)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def fsync_ms(folder: Path) -> float:
    with (folder / "fsync").open("wb") as sink:

        def once() -> None:
            sink.write(bytes(4096))
            sink.flush()
            os.fsync(sink.fileno())

        return median(timed(once) for _ in range(50))


def ends(times: list[float]) -> tuple[float, float]:
    """Return the medians of the first and of the last tenth: equal if the cost does not grow with the log."""
    tenth = max(1, len(times) // 10)
    return median(times[:tenth]), median(times[-tenth:])


def singles(folder: Path, answers: int, count: int) -> list[tuple[str, ...]]:
    """Single answers through the journal, in front of a log that has `answers` of them already."""
    objects = LocalObjects(folder)
    log = QueryLog(objects, PREFIX)
    log.append_answers(make_answers(0, answers))
    tables = [make_answers(answers + row, answers + row + 1) for row in range(count)]
    journal = Journal(folder / PREFIX / JOURNAL)
    first, last = ends([timed(lambda table=table: journal.record(table)) for table in tables])  # type: ignore[misc]
    log.answers()
    sealing = timed(lambda: journal.seal(log))
    journal.close()
    parts = QueryLog(objects, f"{PREFIX}-parts")
    parts.append_answers(make_answers(0, answers))
    some = tables[: min(count, 500)]
    _, as_parts = ends([timed(lambda table=table: parts.append_answers(table)) for table in some])  # type: ignore[misc]
    return [
        (f"one answer into the journal, first and last tenth of {count:,}", f"{first:.2f} ms, {last:.2f} ms", ratio(last, first)),
        ("one answer as a part of its own; over the journal", f"{as_parts:.2f} ms", ratio(as_parts, last)),
        (f"seal {count:,} answers of the journal", f"{sealing:.1f} ms", ""),
    ]


def batches(folder: Path, answers: int) -> list[tuple[str, ...]]:
    """Batches of 100, uncompacted: the worst that a scan can meet; then with compactions as a campaign does them."""
    objects = LocalObjects(folder)
    tables = [make_answers(start, min(start + BATCH, answers)) for start in range(0, answers, BATCH)]
    log = QueryLog(objects, PREFIX)
    first, last = ends([timed(lambda table=table: log.append_answers(table)) for table in tables])  # type: ignore[misc]

    def scan() -> None:
        assert QueryLog(objects, PREFIX).answers().num_rows == answers

    before = median(timed(scan) for _ in range(3))
    compacting = timed(lambda: QueryLog(objects, PREFIX).compact(most_parts=1))
    after = median(timed(scan) for _ in range(5))
    size = sum(objects.size(key) or 0 for key in objects.keys(PREFIX))
    again = timed(lambda: log.append_answers(tables[-1]))

    steady = QueryLog(objects, f"{PREFIX}-steady")

    def append_and_compact(table: pa.Table) -> None:
        steady.append_answers(table)
        steady.compact()

    times = [timed(lambda table=table: append_and_compact(table)) for table in tables]  # type: ignore[misc]
    steady_first, steady_last = ends(times)
    return [
        (
            f"batch of {BATCH} as a part, never compacted, first and last tenth",
            f"{first:.1f} ms, {last:.1f} ms",
            ratio(last, first),
        ),
        (
            f"batch of {BATCH} and `compact()`, first and last tenth; slowest {max(times):.0f} ms",
            f"{steady_first:.1f} ms, {steady_last:.1f} ms",
            ratio(steady_last, steady_first),
        ),
        (f"a batch that is in the log already ({answers:,} known ids)", f"{again:.1f} ms", ""),
        (f"scan {len(tables):,} parts; over the scan of the compacted one", f"{before:.1f} ms", ratio(before, after)),
        (f"scan 1 compacted part ({size / answers:.0f} bytes an answer)", f"{after:.1f} ms", ""),
        (f"compact {len(tables):,} parts into 1 (reading them included)", f"{compacting:.1f} ms", ""),
    ]


def ratio(slow: float, fast: float) -> str:
    return f"{slow / fast:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--answers", type=int, nargs="+", default=[10_000, 100_000], help="lengths of the log")
    parser.add_argument("--singles", type=int, default=2000, help="answers that go through the journal one by one")
    parser.add_argument("--folder", type=Path, default=None, help="where the temporary folder is made")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        timed(lambda: make_answers(0, 1))
        print("| answers in the log | what | time | ratio |\n|---:|---|---:|---:|")
        print(f"| - | fsync of 4 KiB on this disk | {fsync_ms(folder):.2f} ms | |", flush=True)
        for answers in options.answers:
            rows = singles(folder / f"singles-{answers}", answers, options.singles) + batches(
                folder / f"batches-{answers}", answers
            )
            for row in rows:
                print(f"| {answers:,} | {' | '.join(row)} |", flush=True)
    print(f"\nLoad average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end: above that number times are too long.")


if __name__ == "__main__":
    main()

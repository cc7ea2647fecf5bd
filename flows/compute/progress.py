"""Progress on standard error: a bar with rate and time left on a terminal, a line every few seconds in a log file.

Standard output stays free for results, so that `--json` can be piped.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST_LINE_SECONDS = 2.0
LINE_SECONDS = 10.0


@contextmanager
def progress(what: str, total: int, unit: str, *, done_before: int = 0) -> Iterator[Callable[[int], None]]:
    """Give a function that takes the number of units done so far, those of an earlier run (`done_before`) included.

    Rate and time left are of this run.
    """
    shown = _bar(what, total, unit, done_before) if sys.stderr.isatty() else _lines(what, total, unit, done_before)
    with shown as update:
        yield update


@contextmanager
def _bar(what: str, total: int, unit: str, before: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    start = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=5) as bars:
        task = bars.add_task(what, total=total, completed=before, rate="")

        def update(done: int) -> None:
            bars.update(task, completed=done, rate=_rate(done - before, time.monotonic() - start, unit))

        yield update


@contextmanager
def _lines(what: str, total: int, unit: str, before: int) -> Iterator[Callable[[int], None]]:
    start = time.monotonic()
    due = start + FIRST_LINE_SECONDS
    printed = False

    def line(done: int, now: float) -> None:
        mine = done - before
        rest = f", about {_span((now - start) * (total - done) / mine)} left" if mine and done < total else ""
        sys.stderr.write(f"{what}: {done:,} of {total:,} {unit}, {_rate(mine, now - start, unit)}{rest}\n")
        sys.stderr.flush()

    def update(done: int) -> None:
        nonlocal due, printed
        now = time.monotonic()
        if now >= due or (printed and done >= total):
            line(done, now)
            printed = done < total
            due = now + LINE_SECONDS

    yield update


def _rate(done: int, seconds: float, unit: str) -> str:
    rate = done / seconds if seconds > 0 else 0.0
    return f"{rate:,.1f} {unit}/s" if rate < 100 else f"{rate:,.0f} {unit}/s"


def _span(seconds: float) -> str:
    """
    >>> _span(42), _span(150), _span(8000)
    ('42 s', '2 min 30 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"

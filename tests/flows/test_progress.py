"""Progress in a log file: rates and time left, and silence about what is done at once."""

import re

import pytest

from cccount_dist.campaign.progress import when_needed
from flows.compute.progress import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("flows.compute.progress.time.monotonic", lambda: now[0])
    return now


def test_long_work_shows_rate_and_time_left(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Embedding", 1000, "images") as update:
        for done in range(100, 1001, 100):
            clock[0] += 3
            update(done)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Embedding: 100 of 1,000 images, 33.3 images/s, about 27 s left"
    assert lines[-1].startswith("Embedding: 1,000 of 1,000 images")
    assert 3 <= len(lines) <= 4


def test_what_an_earlier_run_did_counts_in_the_total_and_not_in_the_rate(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("Embedding", 1000, "images", done_before=500) as update:
        clock[0] += 10
        update(600)
    assert capsys.readouterr().err == "Embedding: 600 of 1,000 images, 10.0 images/s, about 40 s left\n"


def test_quick_work_is_silent(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Embedding", 10, "images") as update:
        for done in range(11):
            clock[0] += 0.1
            update(done)
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == ""


def test_work_that_proves_unnecessary_shows_nothing(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with when_needed(progress, "Reading", "rows"):
        clock[0] += 60
    with when_needed(progress, "Reading", "rows") as report:
        report(1, 20)
        clock[0] += 60
        report(10, 20)
    assert re.fullmatch(r"Reading: 10 of 20 rows, 0.2 rows/s, about 1 min 0 s left\n", capsys.readouterr().err)


def test_a_terminal_gets_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flows.compute.progress.sys.stderr.isatty", lambda: True, raising=False)
    with progress("Embedding", 4, "images") as update:
        update(4)
    assert "4/4" in capsys.readouterr().err

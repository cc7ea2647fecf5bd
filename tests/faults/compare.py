"""What must hold after a fault: the log begins as the undisturbed one; at the end it and the estimate are the same."""

from typing import NamedTuple

import pyarrow as pa

from storage.campaigns import CampaignFolder
from storage.schema import ESTIMATES
from storage.workspace import Workspace


class Log(NamedTuple):
    """Questions and answers of a campaign, without the columns that hold the time of day."""

    questions: pa.Table
    answers: pa.Table


def log_of(place: str, name: str) -> Log:
    log = CampaignFolder(Workspace.open(place), name).log
    return Log(log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"]))


def estimate_of(place: str, name: str) -> dict[str, object]:
    row = CampaignFolder(Workspace.open(place), name).read_table(ESTIMATES).to_pylist()[-1]
    return {column: value for column, value in row.items() if column != "refreshed_at"}


def check_beginning(found: Log, expected: Log, at_least: int = 0) -> None:
    """No answer lost, none doubled, none other than in the undisturbed campaign."""
    assert found.answers.num_rows >= at_least, f"an answer is lost: {found.answers.num_rows} are left of {at_least}"
    ids = found.answers.column("answer_id").to_pylist()
    assert len(set(ids)) == len(ids), "an answer is doubled"
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.equals(theirs.slice(0, ours.num_rows)), f"other than the undisturbed run: {_difference(ours, theirs)}"


def check_whole(place: str, name: str, expected: Log, estimate: dict[str, object]) -> None:
    """Every row and the estimate are those of the undisturbed campaign, and nothing is damaged."""
    found = log_of(place, name)
    check_beginning(found, expected, expected.answers.num_rows)
    assert found.questions.num_rows == expected.questions.num_rows, "a question is lost"
    assert list(CampaignFolder(Workspace.open(place), name).log.problems()) == []
    assert estimate_of(place, name) == estimate, "the estimate differs from the undisturbed run's"


def _difference(found: pa.Table, expected: pa.Table) -> str:
    """Where two logs part: for whoever has to find out why."""
    if found.num_rows > expected.num_rows:
        return f"{found.num_rows} rows instead of {expected.num_rows}"
    pairs = zip(found.to_pylist(), expected.slice(0, found.num_rows).to_pylist(), strict=True)
    return next(
        (f"row {row}: {ours} instead of {theirs}" for row, (ours, theirs) in enumerate(pairs) if ours != theirs), "schema"
    )

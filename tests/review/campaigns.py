"""Campaigns for tests of the desk: a workspace of numbered items, and questions that are simply written into the log."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.gallery import SETTINGS as SETTINGS
from benchmarks.gallery import ask as ask
from cccount_dist.campaign.campaign import Response
from cccount_dist.review.desk import Desk, Sheet
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.settings import Goal
from storage.workspace import Workspace


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def make_folder(root: Path, questions: Sequence[Question], *, items: int = 1000, overlap: int | None = None) -> CampaignFolder:
    workspace = Workspace.create(root, collection_table([f"image {item}" for item in range(items)]))
    folder = CampaignFolder(workspace, "c")
    folder.create(replace(SETTINGS, items=items, overlap=overlap), Goal(10_000, "people"))
    ask(folder, questions)
    return folder


def pairs(count: int, start: int = 0) -> list[Question]:
    """Questions about pairs that have no item in common."""
    return [Question(number, 2 * number, 2 * number + 1) for number in range(start, start + count)]


def page(number: int, first: int, size: int) -> list[Question]:
    return [Question(first + place, 500 + number, 600 + place, page=number) for place in range(size)]


def reply(sheets: Iterable[Sheet], value: float | None = 1.0, seconds: float = 3.0) -> list[Response]:
    return [Response(c.question_id, value, seconds=seconds) for sheet in sheets for c in sheet.candidates]


def plain_desk(folder: CampaignFolder, **options: object) -> Desk:
    """A desk without checks."""
    return Desk(folder.workspace, folder.name, **{"gold": 0.0, "repeats": 0.0, **options})  # type: ignore[arg-type]

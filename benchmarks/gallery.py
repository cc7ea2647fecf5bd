"""A workspace of drawn butterflies with a campaign of pairs, pages and ratings, for the browser tests and the benchmark."""

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.butterflies import photograph
from cccount_dist.sampling.logged import questions_table
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.settings import Goal, Settings
from storage.workspace import Workspace

INDIVIDUALS = 8
PLACES = ("meadow north", "hedge", "pond")
LARGE = (4000, 3000)
SETTINGS = Settings(
    kind="count", method="nis", seed=0, level=0.95, metric="cosine", items=1000, started_at="2026-01-01T00:00:00+00:00",
    version="0", parameters={}, fingerprints={},
)  # fmt: skip


def make_gallery(root: Path, *, items: int = 48, size: tuple[int, int] = (96, 72)) -> Workspace:
    """Photographs of some individuals, with time and place. Item number modulo `INDIVIDUALS` tells who it is."""
    images = root / "images"
    images.mkdir(parents=True)
    begin = datetime(2026, 6, 3, 6, 12, tzinfo=UTC)
    random = np.random.default_rng(0)
    names, times = [], []
    for item in range(items):
        path = images / f"IMG_{2107 + 13 * item}.jpg"
        photograph(item % INDIVIDUALS, item // INDIVIDUALS, size=size).save(path, quality=90)
        names.append(path)
        times.append(begin + timedelta(minutes=int(random.integers(0, 60 * 24 * 9))))
    places = [PLACES[int(place)] for place in random.integers(0, len(PLACES), items)]
    table = collection_table([path.name for path in names], uri=[str(path) for path in names], taken_at=times, group=places)
    return Workspace.create(root / "workspace", table)


def start_campaign(workspace: Workspace, name: str, questions: list[Question]) -> CampaignFolder:
    """A campaign whose questions were simply written."""
    folder = CampaignFolder(workspace, name)
    folder.create(replace(SETTINGS, items=workspace.collection().items), Goal(10_000, "people"))
    ask(folder, questions)
    return folder


def ask(folder: CampaignFolder, questions: Sequence[Question]) -> None:
    if questions:
        folder.log.append_questions(questions_table(questions, number=0, after=0))


def pairs_of(items: int, count: int) -> list[Question]:
    """Different pairs, every third one of the same individual."""
    found: dict[tuple[int, int], None] = {}
    random = np.random.default_rng(1)
    while len(found) < count:
        u = int(random.integers(0, items))
        v = (
            (u + INDIVIDUALS * int(random.integers(1, items // INDIVIDUALS))) % items
            if len(found) % 3 == 0
            else int(random.integers(0, items))
        )
        if u != v:
            found[min(u, v), max(u, v)] = None
    return [Question(number, u, v) for number, (u, v) in enumerate(found)]


def pages_of(items: int, count: int, size: int) -> list[Question]:
    """Pages about one item each; some candidates are the same individual."""
    questions: list[Question] = []
    for page in range(count):
        others = np.random.default_rng(page).permutation([item for item in range(items) if item != page])[:size]
        questions += [Question(len(questions) + place, page, int(v), page=page) for place, v in enumerate(others)]
    return questions


def ratings_of(items: int, count: int) -> list[Question]:
    return [replace(question, kind="rating") for question in pairs_of(items, count)]


def large_jpeg(path: Path, count: int, size: tuple[int, int] = LARGE) -> list[str]:
    """Photographs of twelve megapixels: one is drawn, the others are it under other names."""
    noise = np.random.default_rng(0).integers(0, 255, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
    Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC).save(path / "0.jpg", quality=90)
    for number in range(1, count):
        os.link(path / "0.jpg", path / f"{number}.jpg")
    return [str(path / f"{number}.jpg") for number in range(count)]

"""A small census, made without vectors: two seasons of photographs, and a campaign whose groups are simply written."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from cccount_dist.individuals.census import Individuals
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.schema import ESTIMATES, GROUPINGS, LABELS, SEEN
from storage.settings import Goal
from storage.workspace import Workspace
from tests.review.campaigns import SETTINGS

BEGAN = datetime(2026, 5, 1, 6, 0, tzinfo=UTC)
LABELS_OF = (0, 0, 0, 1, 1, 2)  # of the first six photographs
MINUTES = (0, 1, 600, 0, 5000, 20)
PLACES = ("ford", "ford", "hill", "ford", "hill", None)


def make_census(root: Path, labels: Sequence[int] = LABELS_OF, *, name: str = "groups") -> Individuals:
    """Six photographs of three individuals: 1 is the first three of them."""
    ids = [f"p{number}.jpg" for number in range(len(labels))]
    times = [BEGAN + timedelta(minutes=minutes) for minutes in MINUTES]
    workspace = Workspace.create(root, collection_table(ids, group=PLACES, taken_at=times))
    return add_campaign(workspace, name, labels)


def add_campaign(workspace: Workspace, name: str, labels: Sequence[int], *, kind: str = "cluster") -> Individuals:
    """A campaign with these groups."""
    folder = CampaignFolder(workspace, name)
    method = "evidence" if kind == "cluster" else "placing"
    folder.create(replace(SETTINGS, kind=kind, method=method, items=len(labels)), Goal(100, "people"))
    write_groups(folder, labels)
    return Individuals(folder)


def write_groups(folder: CampaignFolder, labels: Sequence[int]) -> None:
    """Let the campaign have these groups now."""
    ids = folder.workspace.collection().ids
    columns = {"item": np.arange(len(labels)), "id": ids[: len(labels)], "cluster": np.array(labels)}
    spec, course = (LABELS, GROUPINGS) if folder.settings().kind == "cluster" else (SEEN, ESTIMATES)
    folder.write_table(course, course.empty())
    folder.write_table(spec, pa.table(columns, schema=spec.schema))


def groups(individuals: Individuals) -> dict[int, tuple[int, ...]]:
    """Who has which pictures, by number."""
    return {one.individual: tuple(sorted(one.items)) for one in individuals.census().individuals}


def written(tmp_path: Path, text: str, name: str = "known.csv") -> str:
    """A file that somebody brings, and where it is."""
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)

"""`cccount report` on grouping campaigns: with labels and without, on vectors and on images, with wrong answers."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.clustering.methods import grouping_methods
from storage.workspace import Workspace
from tests.cccount_dist.report.reading import Page, check
from tests.flows.calls import ClusterOptions, advance, cluster, write_reports
from tests.flows.conftest import ITEMS


def read(path: str) -> Page:
    return check(Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", grouping_methods(ratings=False))
def test_the_report_shows_quality_sizes_groups_and_what_comes_next(workspace: Path, method: str) -> None:
    clusters = 10 if method == "hacc" else None
    reached = cluster(str(workspace), "g", ClusterOptions(method=method, clusters=clusters, budget=40, oracle="labels"))
    (file,) = write_reports(str(workspace), "g")["files"]
    page = read(file)
    assert f"{reached['clusters']:,} groups" in page.text
    assert f"NMI {reached['nmi']:.3f}" in page.text
    assert "fission rate" in page.text
    assert ("As a count: about" in page.text) == (method == "evidence")
    assert "Groups by size" in page.text
    assert "The groups go against" in page.text
    if method != "hacc":
        assert "would be asked next" in page.text
    assert len(page.all("svg")) == 4


def test_without_labels_the_machines_own_measures_stand_in_their_place(workspace: Path) -> None:
    _change(workspace, "label", None)
    place = str(workspace)
    cluster(place, "g", ClusterOptions(budget=5))
    campaign = Campaign.open(place, "g")
    first, *rest = campaign.ask(5)
    campaign.tell([Response(first.id, None), *(Response(q.id, float(q.id % 2)) for q in rest)])
    advance(place, "g")
    page = read(write_reports(place, "g")["files"][0])
    assert "The collection has no labels" in page.text
    assert "Agreement" not in page.text
    assert "Unsure1 pair: those count neither" in page.text


def test_wrong_answers_are_shown_and_pictures_of_the_groups(workspace: Path, tmp_path: Path) -> None:
    files = []
    for item, pixels in enumerate(load_digits().images[:ITEMS]):
        files.append(str(tmp_path / f"{item}.png"))
        Image.fromarray((pixels * 15).astype(np.uint8)).save(files[-1])
    _change(workspace, "uri", files)
    reached = cluster(str(workspace), "g", ClusterOptions(method="evidence", budget=60, oracle="labels", error_rate=0.2))
    against = re.search(r"the groups go against (\d+) answers: other", reached["warning"])
    page = read(write_reports(str(workspace), "g")["files"][0])
    assert len(page.all("img")) > 40
    assert "other answers, or the items around them, outweigh these" in page.text
    assert against
    assert f"what was said about {against[1]} pairs" in page.text
    assert len(page.html) < 2_000_000


def _change(workspace: Path, column: str, values: list[str] | None) -> None:
    """Give the collection another column, or an empty one."""
    opened = Workspace.open(workspace)
    table = opened.collection().table
    at = table.schema.get_field_index(column)
    filled = pa.array([None] * len(table) if values is None else values, pa.string())
    opened.update_collection(table.set_column(at, table.schema.field(column), filled))

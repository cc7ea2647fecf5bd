"""`cccount report` on grouping campaigns: with labels and without, on vectors and on images, with wrong answers."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from cccount_dist.campaign import Campaign, Response
from cccount_dist.clustering.methods import METHODS
from flows.campaign import advance
from flows.grouping import ClusterOptions, cluster
from flows.report import write_reports
from tests.cccount_dist.report.reading import Page, check
from tests.flows.conftest import cccount


def read(path: str) -> Page:
    return check(Path(path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", METHODS)
def test_the_report_shows_quality_sizes_groups_and_what_comes_next(workspace: Path, method: str) -> None:
    clusters = 10 if method == "hacc" else None
    reached = cluster(str(workspace), "g", ClusterOptions(method, clusters=clusters, budget=40, oracle="labels"))
    (file,) = write_reports(str(workspace), "g")["files"]
    page = read(file)
    assert f"{reached['clusters']:,} groups" in page.text
    assert f"NMI {reached['nmi']:.3f}" in page.text
    assert "fission rate" in page.text
    assert "Groups by size" in page.text
    assert "The groups go against none" in page.text or "The groups go against" in page.text
    if method != "hacc":
        assert "would be asked next" in page.text
    assert len(page.all("svg")) == 4


def test_without_labels_the_machines_own_measures_stand_in_their_place(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((60, 8)).astype(np.float32))
    place = str(tmp_path / "ws")
    assert cccount("init", place, "--embeddings", tmp_path / "x.npy").code == 0
    assert cccount("neighbors", place, "--k", "10", "--workers", "1").code == 0
    cluster(place, "g", ClusterOptions(budget=5))
    campaign = Campaign.open(place, "g")
    first, *rest = campaign.ask(5)
    campaign.tell([Response(first.id, None), *(Response(q.id, float(q.id % 2)) for q in rest)])
    advance(place, "g")
    page = read(write_reports(place, "g")["files"][0])
    assert "The collection has no labels" in page.text
    assert "NMI 0" not in page.text
    assert "1 of them unsure" in page.text


def test_wrong_answers_are_shown_and_pictures_of_the_groups(tmp_path: Path, labels: NDArray[np.int64]) -> None:
    from sklearn.datasets import load_digits

    for item, pixels in enumerate(load_digits().images[:120]):
        folder = tmp_path / "images" / str(labels[item])
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray((pixels * 15).astype(np.uint8)).save(folder / f"{item}.png")
    place = str(tmp_path / "ws")
    assert cccount("init", place, "--images", tmp_path / "images", "--labels", "folder").code == 0
    assert cccount("embed", place, "--encoder", "pixels", "--workers", "1").code == 0
    assert cccount("neighbors", place, "--k", "10", "--workers", "1").code == 0
    cluster(place, "g", ClusterOptions("evidence", budget=60, oracle="labels", error_rate=0.2))
    page = read(write_reports(place, "g")["files"][0])
    assert len(page.all("img")) > 40
    assert "The groups go against" in page.text
    assert len(page.html) < 2_000_000

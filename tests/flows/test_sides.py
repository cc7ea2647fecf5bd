"""Sides through the commands: asked about apart, counted for each side and for animals, told in words and JSON."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.individuals.sides import set_side
from cccount_dist.kinds.cluster.options import ClusterOptions
from cccount_dist.kinds.count.options import CountOptions
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace
from tests.flows import calls
from tests.flows.conftest import cccount

ANIMALS, EACH = 12, 3  # pictures of each side


@pytest.fixture(scope="module")
def sided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve animals: left and right look alike, so whoever compares sides is wrong; of ten both sides are there."""
    folder = tmp_path_factory.mktemp("sided")
    rng = np.random.default_rng(0)
    animal = np.repeat(np.arange(ANIMALS), 2 * EACH)
    side = np.tile(np.repeat([0, 1], EACH), ANIMALS)
    kept = ~((animal >= 10) & (side == 1))
    centre = rng.normal(size=(ANIMALS, 8))
    x = (centre[animal] + 0.15 * rng.normal(size=(len(animal), 8))).astype(np.float32)
    np.savez(folder / "made.npz", x=x[kept], y=animal[kept])
    assert cccount("init", folder / "ws", "--embeddings", folder / "made.npz").code == 0
    assert cccount("neighbors", folder / "ws", "--k", "10").code == 0
    workspace = Workspace.open(str(folder / "ws"))
    for code, name in enumerate(("left", "right")):
        set_side(workspace, np.flatnonzero(side[kept] == code).tolist(), name)
    return folder / "ws"


@pytest.fixture
def workspace(sided: Path, tmp_path: Path) -> Path:
    shutil.copytree(sided, tmp_path / "ws")
    return tmp_path / "ws"


@pytest.mark.parametrize("method", ["placing", "evidence", "catalogue"])
def test_no_question_is_about_two_sides_and_each_side_is_counted(method: str, workspace: Path) -> None:
    place = str(workspace)
    if method == "placing":
        found = calls.count(place, "c", CountOptions(oracle="labels", budget=800))
    else:
        found = calls.cluster(place, "c", ClusterOptions(oracle="labels", budget=800, method=method))
    opened = Workspace.open(place)
    sides = opened.collection().sides()
    asked = CampaignFolder(opened, "c").log.questions().to_pylist()
    assert asked
    assert all(sides[row["u"]] == sides[row["v"]] for row in asked)
    assert found["sides"]["left"]["estimate"] == 12
    assert found["sides"]["right"]["estimate"] == 10
    animals = found["sides"]["animals"]
    assert (animals["least"], animals["most"], animals["joined"], animals["estimate"]) == (12, 22, 0, None)


def test_what_joins_sides_narrows_the_bounds_and_status_and_report_say_it(workspace: Path, tmp_path: Path) -> None:
    assert cccount("count", workspace, "--oracle", "labels", "--method", "nis").code == 1
    shown = cccount("cluster", workspace, "--oracle", "labels", "--budget", "800")
    assert "By side: left 12, right 10." in shown.out
    assert "Both sides taken together: 12 to 22" in shown.out
    (tmp_path / "known.csv").write_text("id,name\n0,Luna\n3,Luna\n6,Sol\n9,Sol\n")  # left and right of two animals
    assert cccount("catalogue", "import", workspace, "--file", tmp_path / "known.csv").code == 0
    (row,) = cccount("status", workspace, "--json").json["campaigns"]
    assert row["sides"]["animals"] == {"least": 12, "most": 20, "joined": 2, "estimate": None, "low": None, "high": None}
    said = cccount("individuals", workspace, "--json").json
    listed = said["individuals"]
    assert len(listed) == 20
    assert said["sides"] == row["sides"]
    assert next(one for one in listed if one["name"] == "Luna")["sides"] == ["left", "right"]
    assert cccount("report", workspace).code == 0
    report = (workspace / "campaigns" / "cluster" / "results" / "report.html").read_text()
    assert "<h2>Sides</h2>" in report
    assert "Both sides taken together: 12 to 20" in report
    assert cccount("verify", workspace, "--json").json["ok"]
    together = cccount("count", workspace, "--oracle", "labels", "--campaign", "all", "--sides", "together", "--json").json
    assert "sides" not in together
    assert together["estimate"] == 12

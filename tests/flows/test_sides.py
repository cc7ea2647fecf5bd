"""Sides through the commands: asked about apart, counted for each side and for animals, told in words and JSON."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.resident import Resident
from cccount_dist.campaign.sidewords import SIDES_FILE, SideFigures
from cccount_dist.individuals.census import Individuals
from cccount_dist.individuals.sides import set_side
from cccount_dist.kinds.cluster.options import ClusterOptions
from cccount_dist.kinds.count.options import CountOptions
from cccount_dist.kinds.subcluster.options import SubclusterOptions
from cccount_dist.sampling.methods import METHODS
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.schema import SUBCLUSTERS
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


def questions_of(place: str, campaign: str) -> list[tuple[int, int]]:
    return [(row["u"], row["v"]) for row in CampaignFolder(Workspace.open(place), campaign).log.questions().to_pylist()]


def keeps_sides(place: str, campaign: str) -> bool:
    """Whether questions were asked, and none of them about two sides."""
    sides, asked = Workspace.open(place).collection().sides(), questions_of(place, campaign)
    return bool(asked) and all(sides[u] == sides[v] for u, v in asked)


@pytest.mark.parametrize("method", ["placing", "sheets", "evidence", "catalogue"])
def test_no_question_is_about_two_sides_and_each_side_is_counted(method: str, workspace: Path) -> None:
    place = str(workspace)
    if method in ("placing", "sheets"):
        found = calls.count(place, "c", CountOptions(oracle="labels", budget=800, method=method))
    else:
        found = calls.cluster(place, "c", ClusterOptions(oracle="labels", budget=800, method=method))
        assert found["ari"] == 1.0  # of each side by itself
    assert keeps_sides(place, "c")
    assert found["sides"]["left"]["estimate"] == 12
    assert found["sides"]["right"]["estimate"] == 10
    animals = found["sides"]["animals"]
    assert (animals["least"], animals["most"], animals["joined"], animals["estimate"]) == (12, 22, 0, None)
    assert len(Individuals.open(place, "c").census().individuals) == 22


KINDS: dict[str, Any] = {
    "count": (calls.count, CountOptions),
    "cluster": (calls.cluster, ClusterOptions),
    "subcluster": (calls.subcluster, SubclusterOptions),
}
OURS = sorted(
    f"{one.kind}/{one.name}" for one in METHODS if one.kind in KINDS and one.build.__module__.startswith("cccount_dist.")
)


@pytest.mark.parametrize("name", OURS)
def test_every_method_of_every_kind_keeps_sides_apart_or_says_before_it_begins_that_it_cannot(name: str, workspace: Path) -> None:
    place, declared = str(workspace), METHODS.get(name)
    run, options = KINDS[declared.kind]
    clusters = {"clusters": 12} if "clusters" in declared.needs else {}
    given = options(oracle="labels", budget=40, method=declared.name, **clusters)
    if "degrees" in declared.needs:
        with pytest.raises(InputError, match=r"cannot keep the sides of animals apart: use --method placing, .*--sides together"):
            run(place, "c", given)
        assert "c" not in Workspace.open(place).campaigns()
    else:
        run(place, "c", given)
        assert keeps_sides(place, "c")


def test_subclusters_are_of_one_side_and_each_side_has_as_many_as_the_count_says(workspace: Path) -> None:
    place = str(workspace)
    calls.count(place, "census", CountOptions(oracle="labels", budget=800))
    shown = cccount("subcluster", workspace, "--size", "3", "--oracle", "labels", "--budget", "300")
    assert "K = 12 (left), 10 (right) from the campaign 'census'" in shown.out
    assert "By side: left 12, right 10. Pictures of different sides were not compared." in shown.out
    assert keeps_sides(place, "subcluster")
    table = CampaignFolder(Workspace.open(place), "subcluster").read_table(SUBCLUSTERS).to_pydict()
    sides, labels = Workspace.open(place).collection().sides(), Workspace.open(place).collection().labels()
    assert labels is not None
    shows: dict[int, set[tuple[str | None, int]]] = {}
    for item, number in zip(table["item"], table["subcluster"], strict=True):
        shows.setdefault(number, set()).add((sides[item], int(labels[item])))
    assert all(len(classes) == 1 for classes in shows.values())
    assert len(set.union(*shows.values())) == 22  # every animal's every side, once
    (workspace / "known.csv").write_text("id,name\n0,Luna\n3,Luna\n")  # two sides of one animal are no surplus
    assert cccount("catalogue", "import", workspace, "--file", workspace / "known.csv").code == 0
    again = calls.advance(place, "subcluster")
    assert (again["subclusters"], again["of_side"]) == (22, {"left": 12, "right": 10})
    calls.subcluster(place, "all", SubclusterOptions(clusters=12, size=3, oracle="labels", budget=300, sides="together"))
    assert not keeps_sides(place, "all")


def test_a_campaign_that_cannot_keep_sides_apart_says_what_to_do_when_pictures_get_sides(workspace: Path) -> None:
    place, opened = str(workspace), Workspace.open(str(workspace))
    sides = opened.collection().sides()
    every = list(range(len(sides)))
    set_side(opened, every, None)
    calls.count(place, "old", CountOptions(oracle="labels", budget=40, method="nis"))
    set_side(opened, [item for item in every if sides[item] == "left"], "left")
    with pytest.raises(InputError, match=r"campaign 'old' cannot go on: nis .* start another campaign with --campaign NAME"):
        calls.count(place, "old", CountOptions(oracle="labels", budget=80, method="nis"))


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


def test_a_campaign_that_is_kept_open_notices_that_somebody_set_a_side(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the page's engine does: on the page a side is set while people answer."""
    place = str(workspace)
    calls.cluster(place, "c", ClusterOptions(budget=30))
    monkeypatch.setattr("cccount_dist.campaign.resident._LOOK_SECONDS", 0.0)
    resident = Resident(place, "c")
    for item, side, epochs in ((0, None, 1), (0, "right", 2), (1, "right", 3), (1, "right", 3)):
        if side is not None:
            set_side(Workspace.open(place), [item], side)
        resident.supply(AtTheDesk(1, 1))
        assert len(CampaignFolder(Workspace.open(place), "c").epochs()) == epochs
    resident.close()


def test_what_was_found_about_sides_comes_back_when_it_is_deleted(workspace: Path) -> None:
    place = str(workspace)
    calls.cluster(place, "c", ClusterOptions(budget=30))
    folder = CampaignFolder(Workspace.open(place), "c")
    said = folder.read_result(SIDES_FILE)
    assert said is not None
    for damaged in (None, b"{"):
        path = workspace / "campaigns/c/results" / SIDES_FILE
        path.unlink() if damaged is None else path.write_bytes(damaged)
        calls.stage("advance", place, "c")
        assert SideFigures.read(folder.read_result(SIDES_FILE)) == SideFigures.read(said)

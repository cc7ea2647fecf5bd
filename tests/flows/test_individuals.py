"""Individuals by the real commands: every method obeys what people say by hand, and extend and new campaigns keep it."""

import csv
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.individuals.census import Individuals
from storage.campaigns import CampaignFolder
from storage.schema import LABELS
from storage.workspace import Workspace
from tests.flows.calls import stage
from tests.flows.conftest import cccount

METHODS = {"evidence": {}, "apc": {}, "hacc": {"clusters": 10}, "catalogue": {}}


def split_and_merge(place: str, campaign: str) -> tuple[int, int, int]:
    """Part a picture from its group, and put one of another group to it; return the pictures (alone, other, its new one)."""
    individuals = Individuals.open(place, campaign)
    first, second = sorted(individuals.census().individuals, key=lambda one: -one.photos)[:2]
    alone, there, moved = first.items[0], first.items[1], second.items[0]
    individuals.split(first.individual, [alone], annotator="ana")
    individuals.move(moved, first.individual, annotator="ana")
    return alone, there, moved


@pytest.mark.parametrize("method", METHODS)
def test_the_groups_of_every_method_obey_a_correction_however_many_answers_come(method: str, workspace: Path) -> None:
    place, more = str(workspace), METHODS[method]
    stage("cluster", place, "c", method=method, oracle="labels", budget=60, **more)
    alone, there, moved = split_and_merge(place, "c")
    stage("cluster", place, "c", method=method, oracle="labels", budget=120, **more)
    labels = CampaignFolder(Workspace.open(place), "c").read_table(LABELS).column("cluster").to_numpy()
    assert labels[alone] != labels[there]
    assert labels[moved] == labels[there]


def test_a_new_campaign_and_a_count_obey_what_was_said_in_another(workspace: Path) -> None:
    place = str(workspace)
    stage("cluster", place, "c", oracle="labels", budget=60)
    alone, there, moved = split_and_merge(place, "c")
    stage("cluster", place, "later", oracle="labels", budget=60)
    labels = CampaignFolder(Workspace.open(place), "later").read_table(LABELS).column("cluster").to_numpy()
    assert (labels[alone] != labels[there], labels[moved] == labels[there]) == (True, True)
    stage("count", place, "count", method="placing", oracle="labels", budget=300)
    census = Individuals.open(place, "count").census()
    assert not census.complete
    where = {item: one.individual for one in census.individuals for item in one.items}
    assert where[moved] == where[there]
    assert where.get(alone) != where[there]


def test_the_commands_list_correct_and_take_back(workspace: Path, tmp_path: Path) -> None:
    assert cccount("cluster", workspace, "--oracle", "labels", "--budget", "60").code == 0
    table = tmp_path / "who.csv"
    shown = cccount("individuals", workspace, "--file", table, "--json")
    assert shown.code == 0, shown.err
    first, second = shown.json["individuals"][:2]
    assert {"individual", "name", "photos", "encounters", "first_seen", "last_seen", "places", "sides", "key_photo",
            "checked_by"} <= set(first)  # fmt: skip
    named = cccount("individuals", "name", workspace, str(first["individual"]), "=HYPERLINK(1)", "--annotator", "ana")
    assert named.code == 0, named.err
    merged = cccount(
        "individuals", "merge", workspace, "=HYPERLINK(1)", str(second["individual"]), "--annotator", "ana", "--json"
    )
    assert merged.code == 0, merged.err
    after = cccount("individuals", "list", workspace, "--file", table, "--json").json["individuals"]
    assert after[0]["photos"] == first["photos"] + second["photos"]
    with table.open(newline="") as file:
        assert next(csv.DictReader(file))["name"] == "'=HYPERLINK(1)"  # it cannot run in a spreadsheet
    undone = cccount("individuals", "undo", workspace, merged.json["correction"], "--annotator", "ana")
    assert undone.code == 0, undone.err
    assert cccount("individuals", workspace, "--json").json["individuals"][:2] == [{**first, "name": "=HYPERLINK(1)"}, second]
    wrong = cccount("individuals", "merge", workspace, "nobody", "1")
    assert (wrong.code, "nobody is called 'nobody'" in wrong.line) == (1, True)


def test_names_and_corrections_survive_more_pictures(workspace: Path, tmp_path: Path) -> None:
    place = str(workspace)
    stage("cluster", place, "c", oracle="labels", budget=40)
    individuals = Individuals.open(place, "c")
    first, second = individuals.census().individuals[:2]
    individuals.name(first.individual, "Luna", annotator="ana")
    individuals.merge(first.individual, [second.individual], annotator="ana")
    before = set(individuals.census().find(first.individual).items)
    np.savez(tmp_path / "more.npz", x=np.random.default_rng(0).random((5, 64)).astype(np.float32), y=np.zeros(5, np.int64))
    assert cccount("extend", place, "--embeddings", tmp_path / "more.npz", "--yes").code == 0
    luna = Individuals.open(place, "c").census().find(first.individual)
    assert (luna.name, set(luna.items)) == ("Luna", before)

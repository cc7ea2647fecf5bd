"""A count by sheets through the front door: labels and people, interrupted and resumed, options that are not its own."""

from pathlib import Path

import pytest

from cccount_dist import Campaign, Response
from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.kinds.count.runner import CountRunner
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, advance, count, open_campaign


def simulated(budget: int, **options: object) -> CountOptions:
    return CountOptions(method="sheets", oracle="labels", budget=budget, **options)  # type: ignore[arg-type]


def test_labels_answer_sheets_and_a_glance_counts_as_the_pairs_that_take_as_long(workspace: Path) -> None:
    reached = count(str(workspace), "c", simulated(60))
    assert reached["method"] == "sheets"
    assert reached["questions"] == 0
    assert 0 < reached["glances"] <= 60 * 9 / 30 + 1
    assert reached["human_seconds"] == 30.0 * reached["glances"]
    assert reached["low"] <= 10 <= reached["high"]


def test_a_count_that_is_killed_and_resumed_asks_what_it_would_have_asked(workspace: Path) -> None:
    def asked(name: str) -> list[tuple[int, int]]:
        table = CampaignFolder(Workspace.open(workspace), name).log.questions()
        return list(zip(table.column("u").to_pylist(), table.column("v").to_pylist(), strict=True))

    folder = open_campaign(str(workspace), "killed", simulated(100))
    with folder.lease() as lease:
        CountRunner(folder, lease, load_inputs(folder.workspace)).step(batch=4)
    for budget in (30, 100):
        count(str(workspace), "killed", simulated(budget))
    count(str(workspace), "whole", simulated(100))
    assert asked("killed") == asked("whole")


def test_people_answer_sheets_that_lie_ready(workspace: Path) -> None:
    options = CountOptions(method="sheets", budget=200)
    assert count(str(workspace), "people", options)["state"] == "waiting"
    campaign = Campaign.open(str(workspace), "people")
    labels = Workspace.open(workspace).collection().labels()
    assert labels is not None
    questions = campaign.ask(200, annotator="ana")
    assert {question.kind for question in questions} == {"sheet"}
    assert len({question.page for question in questions}) > 1
    campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in questions])
    reached = advance(str(workspace), "people")
    assert reached["glances"] == len({question.page for question in questions})
    assert reached["low"] <= 10 <= reached["high"]


def test_options_of_placing_are_refused(workspace: Path) -> None:
    with pytest.raises(InputError, match="--parameter cells"):
        count(str(workspace), "c", simulated(10, grid=6))

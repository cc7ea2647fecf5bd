"""Placing through the front door: kills between the two writes, pages, people who answer a few questions at a time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist import Campaign, Response
from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.kinds.count.runner import CountRunner
from cccount_dist.sampling.ledger import GOLD, OUTSIDE, REPEAT, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.types import SAME
from storage.campaigns import CampaignFolder
from storage.errors import InputError, WorkspaceError
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, advance, count, counted, open_campaign


def simulated(budget: int, **options: object) -> CountOptions:
    return CountOptions(method="placing", oracle="labels", budget=budget, **options)  # type: ignore[arg-type]


def log_of(workspace: Path, name: str) -> tuple[list[tuple[int, ...]], list[tuple[object, ...]]]:
    log = CampaignFolder(Workspace.open(workspace), name).log
    questions = [tuple(row.values()) for row in log.questions().drop_columns(["asked_at"]).to_pylist()]
    answers = log.answers().select(["question_id", "u", "v", "value", "source"]).to_pylist()
    return questions, [tuple(row.values()) for row in answers]


def test_a_step_of_many_rounds_writes_two_parts(workspace: Path) -> None:
    reached = count(str(workspace), "c", simulated(30))
    assert reached["questions"] == 30
    assert reached["clusters_seen"] <= 10
    assert reached["low"] <= 10 <= reached["high"]
    folder = Path(str(workspace)) / "campaigns" / "c"
    assert len(list((folder / "questions").glob("*.parquet"))) == 1
    assert len(list((folder / "answers").glob("*.parquet"))) == 1


@pytest.mark.parametrize("options", [{}, {"error_rate": 0.1, "grid": 6}])
def test_killed_between_questions_and_answers_a_step_is_finished_as_it_was(workspace: Path, options: dict[str, object]) -> None:
    folder = open_campaign(str(workspace), "killed", simulated(300, **options))

    class KilledError(Exception):
        pass

    def refuse(*_: object, **__: object) -> None:
        raise KilledError

    with folder.lease() as lease:
        runner = CountRunner(folder, lease, load_inputs(folder.workspace))
        runner.step(batch=60)
        runner.folder.log.append_answers = refuse  # type: ignore[method-assign, assignment]
        with pytest.raises(KilledError):
            runner.step(batch=60)
    count(str(workspace), "killed", simulated(300, **options))
    count(str(workspace), "whole", simulated(300, **options))
    killed, whole = log_of(workspace, "killed"), log_of(workspace, "whole")
    assert killed[1] == whole[1]
    assert [row[:5] for row in killed[0]] == [row[:5] for row in whole[0]]


def test_a_killed_simulation_that_is_continued_with_other_answers_is_refused(workspace: Path) -> None:
    folder = open_campaign(str(workspace), "c", simulated(300))
    with folder.lease() as lease:
        runner = CountRunner(folder, lease, load_inputs(folder.workspace))
        runner.folder.log.append_answers = lambda *_, **__: 0  # type: ignore[method-assign]
        runner.step(batch=60)
    with pytest.raises(WorkspaceError, match="run it once with the --oracle"):
        count(str(workspace), "c", CountOptions(budget=300))
    assert count(str(workspace), "c", simulated(300))["questions"] == 300


def test_effort_is_reported_in_pairs_pages_and_seconds(workspace: Path) -> None:
    reached = count(str(workspace), "c", simulated(150, grid=24, pair_seconds=10.0, page_seconds=20.0))
    assert reached["glances"] > 0
    assert reached["human_seconds"] == 10.0 * reached["questions"] + 20.0 * reached["glances"]
    assert 150 <= reached["questions"] + 2 * reached["glances"] < 152
    assert count(str(workspace), "c", simulated(150, grid=24, pair_seconds=10.0, page_seconds=20.0)) == reached


def test_people_answer_what_is_ready_and_the_campaign_goes_on(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    reached = count(place, "c", CountOptions(budget=120, wrong_answers="none"))
    campaign = Campaign.open(place, "c")
    steps = 0
    while reached["state"] == "waiting" and steps < 200:
        questions = campaign.ask(5)
        assert questions
        campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in questions])
        reached = advance(place, "c")
        steps += 1
    assert reached["state"] == "done"
    assert reached["questions"] == 120
    assert 1 < reached["clusters_seen"] <= 10
    assert advance(place, "c") == reached


def test_what_people_said_in_another_campaign_is_known_even_where_answers_may_be_wrong(
    workspace: Path, labels: NDArray[np.int64]
) -> None:
    place = str(workspace)
    for name in ("first", "second"):
        reached = count(place, name, CountOptions(budget=60))  # wrong answers are allowed for
        campaign = Campaign.open(place, name)
        while reached["state"] == "waiting" and (questions := campaign.ask(16)):
            campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in questions])
            reached = advance(place, name)
        assert (reached["inferred"] > 0) == (name == "second")
        assert reached["contradictions"] == 0


def test_pages_are_refused_of_a_method_that_asks_pairs(workspace: Path) -> None:
    with pytest.raises(InputError, match="--grid, --wrong-answers and --search are for the method placing"):
        count(str(workspace), "c", CountOptions(method="nis", grid=8))


def test_gold_answers_of_the_log_enter_the_rates_and_the_campaign_replays(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    count(place, "c", CountOptions(budget=60))
    campaign = Campaign.open(place, "c")
    campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in campaign.ask(16)])
    before = advance(place, "c")["details"]["miss_rate"]
    folder = CampaignFolder(Workspace.open(workspace), "c")
    gold = [LoggedAnswer(f"gold-{i}", OUTSIDE, 2 * i, 2 * i + 1, float(i % 2), GOLD[SAME], "ana") for i in range(30)]
    folder.log.append_answers(answers_table(gold))
    after = advance(place, "c")
    assert after["details"]["miss_rate"] > before + 0.03  # half of what is the same was called different
    campaign = Campaign.open(place, "c")
    campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in campaign.ask(16)])
    reached = advance(place, "c")
    assert advance(place, "c") == reached  # opened again, it asks what the log says that it asked
    undone = [replace(row, id=f"undo-{row.id}", undoes=row.id) for row in gold]
    folder.log.append_answers(answers_table(undone))
    assert advance(place, "c")["details"]["miss_rate"] < after["details"]["miss_rate"] - 0.03


def test_pairs_that_one_person_answers_otherwise_the_second_time_enter_the_rates(
    workspace: Path, labels: NDArray[np.int64]
) -> None:
    place = str(workspace)
    count(place, "c", CountOptions(budget=60))
    campaign = Campaign.open(place, "c")
    asked = campaign.ask(16)
    campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in asked])
    before = advance(place, "c")["details"]
    folder = CampaignFolder(Workspace.open(workspace), "c")
    others = [
        LoggedAnswer(f"{who}-{q.id}", OUTSIDE, q.u, q.v, float(labels[q.u] != labels[q.v]), REPEAT, who)
        for q in asked
        for who in ("ana", "ben")
    ]
    folder.log.append_answers(answers_table(others[1::2]))
    assert advance(place, "c")["details"] == before, "ben had not answered them before: that says nothing"
    folder.log.append_answers(answers_table(others[::2]))
    after = advance(place, "c")["details"]
    wrong = (after["miss_rate"] - before["miss_rate"], after["false_same_rate"] - before["false_same_rate"])
    assert min(wrong) > 0.0
    assert max(wrong) > 0.03
    assert advance(place, "c")["details"] == after


def test_before_the_first_answer_there_is_a_guess_and_it_is_called_one(workspace: Path) -> None:
    reached = count(str(workspace), "c", CountOptions(budget=60))
    forecast = reached["forecast"]
    assert forecast["guess"]
    assert forecast["questions"] > 0
    assert forecast["hours"] > 0
    assert "A guess before the first answers" in counted(reached)
    assert "±10 %" in counted(reached)


def test_a_running_forecast_and_the_reason_of_the_method_are_said(workspace: Path) -> None:
    reached = count(str(workspace), "c", CountOptions(oracle="labels", budget=60))
    assert reached["method_reason"].startswith("auto is placing")
    assert not reached["forecast"]["guess"]
    assert reached["forecast"]["width"] == 0.2


def test_the_search_is_fast_unless_the_full_one_is_asked_for(workspace: Path) -> None:
    for name, search in (("c", None), ("d", "full")):
        reached = count(str(workspace), name, simulated(60, search=search))
        settings = CampaignFolder(Workspace.open(workspace), name).settings()
        assert settings.parameters.get("search", "full") == (search or "fast")
        assert count(str(workspace), name, simulated(60)) == reached  # left out, the campaign's own setting holds

"""Campaigns through the front door: growing budgets, people who answer by file, answers that are shared, settings that hold."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from cccount_dist import Campaign, ClusterCounter, Response
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError, InputError, WorkspaceError
from storage.schema import ESTIMATES
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, advance, count, counted, export_answers, import_answers, status
from tests.flows.conftest import cccount, digits


def pairs(workspace: Path, campaign: str) -> list[tuple[int, int]]:
    table = CampaignFolder(Workspace.open(workspace), campaign).log.questions()
    return list(zip(table.column("u").to_pylist(), table.column("v").to_pylist(), strict=True))


def labels_of(options: dict[str, object]) -> CountOptions:
    """Nested importance sampling answered by the labels: its questions do not wait for answers, which makes it a good test."""
    return CountOptions(oracle="labels", **{"method": "nis", **options})  # type: ignore[arg-type]


def test_a_larger_budget_goes_on_and_asks_only_what_is_new(workspace: Path) -> None:
    place = str(workspace)
    count(place, "grown", labels_of({"budget": 150}))
    first = pairs(workspace, "grown")
    reached = count(place, "grown", labels_of({"budget": 400}))
    at_once = count(place, "at-once", labels_of({"budget": 400}))
    assert pairs(workspace, "grown")[: len(first)] == first
    assert pairs(workspace, "grown") == pairs(workspace, "at-once")
    assert {**reached, "campaign": ""} == {**at_once, "campaign": ""}


def test_counting_again_with_the_same_budget_changes_nothing(workspace: Path) -> None:
    place = str(workspace)
    once = count(place, "c", labels_of({"budget": 150}))
    estimates = CampaignFolder(Workspace.open(workspace), "c").read_table(ESTIMATES)
    assert count(place, "c", labels_of({"budget": 150})) == once
    assert advance(place, "c") == once
    assert CampaignFolder(Workspace.open(workspace), "c").read_table(ESTIMATES).equals(estimates)


def test_a_budget_of_nothing_gives_the_certain_bounds(workspace: Path) -> None:
    reached = count(str(workspace), "c", labels_of({"budget": 0}))
    assert (reached["estimate"], reached["low"], reached["high"], reached["state"]) == (None, 1.0, 480.0, "done")


def test_the_campaign_and_the_counter_in_memory_ask_the_same(workspace: Path) -> None:
    x, y = digits()
    reached = count(str(workspace), "c", labels_of({"budget": 300, "seed": 11}))
    asked: list[tuple[int, int]] = []

    def oracle(u: int, v: int) -> bool:
        asked.append((u, v))
        return bool(y[u] == y[v])

    counter = ClusterCounter("nis", budget=300, random_state=11).fit(x, oracle=oracle)
    answers = CampaignFolder(Workspace.open(workspace), "c").log.answers()
    kept = answers.filter(pa.compute.equal(answers.column("source"), "labels"))
    assert asked == list(zip(kept.column("u").to_pylist(), kept.column("v").to_pylist(), strict=True))
    # The degrees come from two programs (tiles of BLAS here, one loop there) and differ in their last bits.
    assert counter.n_clusters_ == pytest.approx(reached["estimate"], rel=1e-6)
    assert (counter.n_questions_, counter.n_inferred_) == (reached["questions"], reached["inferred"])


def test_the_target_width_ends_a_campaign_and_a_spent_budget_says_how_far_it_is(workspace: Path) -> None:
    wide = count(str(workspace), "wide", labels_of({"budget": 2000, "target_width": 2.0}))
    assert wide["state"] == "done"
    assert wide["questions"] < 2000
    assert (wide["high"] - wide["low"]) / wide["estimate"] <= 2.0
    narrow = count(str(workspace), "narrow", labels_of({"budget": 40, "target_width": 0.01}))
    assert narrow["state"] == "stopped"
    assert narrow["forecast_questions"] > 200
    assert f"narrow enough: about {narrow['forecast_questions']:,} answers in all would do (--budget)." in counted(narrow)
    reached = {**narrow, "forecast_questions": narrow["questions"]}  # what was given already is no forecast
    assert "narrow enough: it takes more (--budget)." in counted(reached)


def test_when_every_pair_is_known_the_count_is_exact(workspace: Path, labels: NDArray[np.int64]) -> None:
    reached = count(str(workspace), "c", labels_of({"budget": 50_000}))
    truth = len(np.unique(labels))
    assert reached["state"] == "done"
    assert reached["questions"] < 50_000
    assert (reached["estimate"], reached["low"], reached["high"]) == (truth, truth, truth)


def test_settings_are_frozen_and_other_ones_are_refused(workspace: Path) -> None:
    count(str(workspace), "c", labels_of({"budget": 20, "seed": 4}))
    for options, word in (
        ({"seed": 5}, "--seed 4"),
        ({"method": "inverse"}, "--method nis"),
        ({"level": 0.9}, "--level 0.95"),
        ({"grid": 9}, "--grid 1"),
    ):
        with pytest.raises(InputError, match=word):
            count(str(workspace), "c", labels_of({"budget": 30, **options}))
    assert count(str(workspace), "c", labels_of({"budget": 30}))["questions"] == 30


def test_other_neighbours_open_an_epoch_and_a_strict_replay_refuses_them(workspace: Path) -> None:
    count(str(workspace), "c", labels_of({"budget": 20}))
    shown = cccount("neighbors", workspace, "--k", "12", "--metric", "correlation", "--workers", "1")
    assert shown.code == 0, shown.err
    assert "Campaign 'c' will go on in a new epoch: there will be other neighbours" in shown.err
    with pytest.raises(
        WorkspaceError, match=r"cannot be replayed: other neighbours \(vectors of given, 12 neighbours, correlation"
    ):
        count(str(workspace), "c", labels_of({"budget": 30, "strict_replay": True}))
    assert count(str(workspace), "c", labels_of({"budget": 30}))["questions"] == 30
    assert "other neighbours" in status(str(workspace))["campaigns"][0]["epoch"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_people_answer_through_a_file(workspace: Path, tmp_path: Path, labels: NDArray[np.int64], ending: str) -> None:
    place, file = str(workspace), tmp_path / f"questions{ending}"
    waiting = count(place, "c", CountOptions(method="nis", budget=60, seed=2))
    assert (waiting["state"], waiting["pending"], waiting["questions"]) == ("waiting", 60, 0)
    rounds = 0
    while waiting["state"] == "waiting":
        assert export_answers(place, "c", str(file), overwrite=True)["pending"] == waiting["pending"]
        _fill_in(file, labels)
        assert import_answers(place, "c", str(file))["recorded"] == waiting["pending"]
        assert import_answers(place, "c", str(file))["recorded"] == 0
        waiting = advance(place, "c")
        rounds += 1
    assert rounds < 5
    assert (waiting["state"], waiting["questions"]) == ("done", 60)
    answers = CampaignFolder(Workspace.open(place), "c").log.answers().to_pylist()
    assert len(answers) == waiting["questions"] + waiting["inferred"]
    assert all(row["value"] == float(labels[row["u"]] == labels[row["v"]]) for row in answers)


def _fill_in(file: Path, labels: NDArray[np.int64]) -> None:
    def value(row: dict[str, object]) -> str:
        return "same" if labels[int(str(row["u"]))] == labels[int(str(row["v"]))] else "different"

    if file.suffix == ".csv":
        with file.open(newline="") as source:
            rows = list(csv.DictReader(source))
        with file.open("w", newline="") as sink:
            table = csv.DictWriter(sink, rows[0].keys())
            table.writeheader()
            table.writerows([{**row, "value": row["value"] or value(row)} for row in rows])
    elif file.suffix == ".json":
        rows = json.loads(file.read_text())
        file.write_text(json.dumps([{**row, "value": row["value"] or value(row)} for row in rows]))
    else:
        rows = pq.read_table(file).to_pylist()
        pq.write_table(pa.Table.from_pylist([{**row, "value": row["value"] or value(row)} for row in rows]), file)


def test_people_answer_through_python_and_may_undo(workspace: Path) -> None:
    count(str(workspace), "c", CountOptions(method="nis", budget=40))
    campaign = Campaign.open(str(workspace), "c")
    questions = campaign.ask(10, annotator="ana")
    assert len(questions) == 10
    first = Response(questions[0].id, 1.0, "ana", 4.5)
    assert campaign.tell([first, Response(questions[1].id, None, "ana")]) == 2
    assert campaign.tell([first]) == 0, "the same answer again is a retry"
    assert len(campaign.ask(100)) == 38
    assert campaign.tell([Response(questions[0].id, None, "ana", undoes=first.id)]) == 1
    assert len(campaign.ask(100)) == 39
    assert status(str(workspace))["campaigns"][0]["pending"] == 39
    assert advance(str(workspace), "c")["questions"] == 1
    with pytest.raises(InputError, match="no question 4000"):
        campaign.tell([Response(4000, 1.0)])
    with pytest.raises(InputError, match=r"takes 1 \(same\), 0 \(different\)"):
        campaign.tell([Response(questions[2].id, 0.5)])


def test_what_people_said_in_one_campaign_is_not_asked_in_another(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    count(place, "first", CountOptions(method="nis", budget=50, seed=6))
    campaign = Campaign.open(place, "first")
    asked = campaign.ask(50)
    campaign.tell(Response(q.id, float(labels[q.u] == labels[q.v])) for q in asked)
    advance(place, "first")
    shared = count(place, "second", CountOptions(method="nis", budget=50, seed=6))
    assert shared["inferred"] >= 50
    assert not {(q.u, q.v) for q in Campaign.open(place, "second").ask(100)} & {(q.u, q.v) for q in asked}


def test_two_annotators_begin_at_different_questions(workspace: Path) -> None:
    count(str(workspace), "c", CountOptions(method="nis", budget=200))
    campaign = Campaign.open(str(workspace), "c")
    ana, ben = campaign.ask(10, annotator="ana"), campaign.ask(10, annotator="ben")
    assert not {q.id for q in ana} & {q.id for q in ben}


def test_an_annotator_who_lies_is_simulated_the_same_way_every_time(workspace: Path) -> None:
    truth = count(str(workspace), "truth", labels_of({"budget": 300, "seed": 1}))
    lies = count(str(workspace), "lies", labels_of({"budget": 300, "seed": 1, "error_rate": 0.2}))
    again = count(str(workspace), "again", labels_of({"budget": 300, "seed": 1, "error_rate": 0.2}))
    assert lies["estimate"] != truth["estimate"]
    assert lies["estimate"] == again["estimate"]


def test_labels_that_are_not_there_cannot_answer(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", digits()[0][:60])
    assert cccount("init", tmp_path / "ws", "--embeddings", tmp_path / "x.npy").code == 0
    assert cccount("neighbors", tmp_path / "ws", "--k", "5", "--workers", "1").code == 0
    shown = cccount("count", tmp_path / "ws", "--oracle", "labels")
    assert shown.code == 1
    assert "has none" in shown.line


@pytest.mark.parametrize("oracle", ["peple", "similarity"])
def test_a_mistyped_oracle_writes_no_simulated_answers_into_peoples_log(workspace: Path, oracle: str) -> None:
    place = str(workspace)
    waiting = count(place, "c", CountOptions(budget=20, oracle="people"))
    goal = workspace / "campaigns" / "c" / "goal.toml"
    lines = [line for line in goal.read_text().splitlines() if "blake2b" not in line]
    goal.write_text("\n".join(lines).replace('"people"', f'"{oracle}"') + "\n")
    with pytest.raises(CorruptionError, match=f"oracle must be people.*not '{oracle}'.*give the goal again"):
        advance(place, "c")
    assert CampaignFolder(Workspace.open(place), "c").log.answers().num_rows == 0
    assert count(place, "c", CountOptions(budget=20, oracle="people")) == waiting, "the goal was given again"

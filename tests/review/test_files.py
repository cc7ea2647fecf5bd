"""Answers through files and Label Studio, gold pairs, tokens: a bad row is named, the rest is kept, twice is once."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.review.annotators import KEY, Annotators
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.errors import ConflictError, CorruptionError, InputError
from storage.gold import read_gold
from storage.settings import Goal
from storage.workspace import Workspace
from tests.flows.calls import export_answers, import_answers, import_gold
from tests.review.campaigns import SETTINGS, ask, make_folder, pairs, plain_desk


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(make_folder(tmp_path / "ws", pairs(6)).workspace.location)


def folder_of(place: str) -> CampaignFolder:
    return CampaignFolder(Workspace.open(place), "c")


BAD = [
    ({"question_id": "99", "value": "same"}, "no question 99"),
    ({"question_id": "x", "value": "same"}, "question_id is missing or no whole number: 'x'"),
    ({"question_id": "1", "value": "perhaps"}, "'perhaps' is none of same, different, unsure"),
    ({"question_id": "1", "value": "0.5"}, "takes 1 (same), 0 (different)"),
    ({"question_id": "1", "value": "same", "seconds": "long"}, "seconds is no number"),
    ({"question_id": "1", "value": "same", "seconds": "-3"}, "seconds of 0 or more"),
    ({"question_id": "1", "value": "nan"}, "takes 1 (same)"),
    ({"question_id": "1", "value": "same", "clicks": "1.5"}, "clicks is missing or no whole number"),
    ({"question_id": "1", "value": "same", "clicks": "99999"}, "clicks of an answer are 0 to 10,000"),
]


@pytest.mark.parametrize("ending", [".csv", ".json"])
def test_a_bad_row_is_named_with_its_line_and_the_rest_is_kept(place: str, tmp_path: Path, ending: str) -> None:
    good = [{"question_id": "0", "value": "same"}, {"question_id": "2", "value": "unsure"}, {"question_id": "3", "value": ""}]
    rows = [good[0], *(row for row, _ in BAD), *good[1:]]
    file = tmp_path / f"answers{ending}"
    if ending == ".csv":
        with file.open("w", newline="") as sink:
            table = csv.DictWriter(sink, ["question_id", "value", "seconds", "clicks"])
            table.writeheader()
            table.writerows(rows)
    else:
        file.write_text(json.dumps(rows))
    for recorded in (2, 0):
        report = import_answers(place, "c", str(file))
        assert (report["answers"], report["recorded"]) == (2, recorded)
        first = 3 if ending == ".csv" else 2
        assert [found["line"] for found in report["rejected"]] == list(range(first, first + len(BAD)))
        for found, (_, reason) in zip(report["rejected"], BAD, strict=True):
            assert reason in found["reason"]


def test_an_answer_that_was_changed_in_the_file_is_not_dropped_silently(place: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"question_id": 0, "value": "same", "answer_id": "x"}]))
    assert import_answers(place, "c", str(file))["recorded"] == 1
    file.write_text(json.dumps([{"question_id": 0, "value": "different", "answer_id": "x"}]))
    report = import_answers(place, "c", str(file))
    assert (report["recorded"], "recorded with another value" in report["rejected"][0]["reason"]) == (0, True)


def test_every_vote_is_exported_and_comes_back_into_a_copy(tmp_path: Path) -> None:
    first = make_folder(tmp_path / "one", pairs(3), overlap=2)
    second = CampaignFolder(Workspace.open(shutil.copytree(tmp_path / "one", tmp_path / "two")), "c")
    desk = plain_desk(first)
    for name in ("ana", "ben"):
        desk.answer(name, _responses(name))
    file = str(tmp_path / "votes.csv")
    counts = export_answers(first.workspace.location, "c", file)
    assert (counts["questions"], counts["answered"], counts["pending"]) == (3, 2, 1), (
        "of two who differ the likelier holds for now"
    )
    assert import_answers(second.workspace.location, "c", file)["recorded"] == 4
    assert import_answers(first.workspace.location, "c", file)["recorded"] == 0
    copied = plain_desk(second)
    assert [len(copied._reading.ledger.votes(number)) for number in range(3)] == [2, 2, 0]


def _responses(name: str) -> list[Response]:
    return [Response(0, 1.0, id=f"{name}0"), Response(1, float(name == "ana"), id=f"{name}1")]


def test_tasks_go_to_label_studio_and_its_annotations_come_back(tmp_path: Path) -> None:
    uris = [f"s3://photos/{item}.jpg" for item in range(20)]
    workspace = Workspace.create(tmp_path / "ws", collection_table([f"image {item}" for item in range(20)], uri=uris))
    folder = CampaignFolder(workspace, "c")
    folder.create(SETTINGS, Goal(10, "people"))
    ask(folder, pairs(3))
    file = tmp_path / "tasks.json"
    report = export_answers(workspace.location, "c", str(file), "label-studio")
    tasks = json.loads(file.read_text())
    assert tasks[1]["data"]["first"] == "s3://photos/2.jpg"
    assert '<Choice value="unsure"' in Path(report["config"]).read_text()
    chosen = ["same", "unsure", "different"]
    for number, task in enumerate(tasks):
        result = {"from_name": "answer", "to_name": "first", "type": "choices", "value": {"choices": [chosen[number]]}}
        task |= {"id": 70 + number, "annotations": [{"id": number, "result": [result], "lead_time": 4.5, "completed_by": 3}]}
    tasks[2]["annotations"].append({"id": 9, "result": [], "was_cancelled": True})
    tasks.append({"id": 1, "data": {"question_id": 1, "campaign": "other"}, "annotations": [{"id": 1, "result": []}]})
    file.write_text(json.dumps(tasks))
    for recorded in (3, 0):
        report = import_answers(workspace.location, "c", str(file))
        assert (report["recorded"], [row["line"] for row in report["rejected"]]) == (recorded, [4])
    with folder.journal() as journal:
        rows = journal.pending().to_pylist()
    assert [(r["question_id"], r["value"], r["annotator"], r["seconds"]) for r in rows] == [
        (0, 1.0, "label-studio 3", 4.5),
        (1, None, "label-studio 3", 4.5),
        (2, 0.0, "label-studio 3", 4.5),
    ]


def test_gold_pairs_are_read_by_name_or_number_and_must_not_contradict(place: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(
        "id_u,id_v,u,v,value\nimage 1,image 2,,,same\n,,3,2,different\nnobody,image 2,,,same\n,,4,4,same\n,,4,5,unsure\n"
    )
    report = import_gold(place, str(file))
    assert (report["read"], report["gold"]) == (2, 2)
    assert [row["line"] for row in report["rejected"]] == [4, 5]
    assert read_gold(Workspace.open(place)).to_pylist()[1] == {"u": 2, "v": 3, "value": 0.0, "origin": "gold.csv"}
    assert import_gold(place, str(file))["gold"] == 2
    file.write_text("u,v,value\n1,3,same\n")
    with pytest.raises(InputError, match="contradict each other at 'image 1' and 'image 3'"):
        import_gold(place, str(file))
    assert read_gold(Workspace.open(place)).num_rows == 2


def test_a_token_opens_the_desk_for_one_person_until_it_is_taken_away(place: str) -> None:
    annotators = Annotators(Workspace.open(place))
    token, other = annotators.add("ana"), annotators.add("Øyvind O'Neil")
    assert annotators.names() == ["ana", "Øyvind O'Neil"]
    assert (annotators.who(token), annotators.who(other)) == ("ana", "Øyvind O'Neil")
    assert annotators.who(token[:-1]) is None
    assert annotators.who("") is None
    assert token not in (Path(place) / KEY).read_text()
    with pytest.raises(ConflictError, match="already"):
        annotators.add("ana")
    for name in ("", " ana", "a/b", "x" * 80, "a\nb"):
        with pytest.raises(InputError, match="name"):
            annotators.add(name)
    annotators.remove("ana")
    assert annotators.who(token) is None
    with pytest.raises(InputError, match="no annotator 'ana'"):
        annotators.remove("ana")
    (Path(place) / KEY).write_text("[1]")
    with pytest.raises(CorruptionError, match="damaged"):
        annotators.names()


def test_clicks_go_out_and_come_back_and_are_empty_where_nobody_counted(place: str, tmp_path: Path) -> None:
    campaign, file = Campaign(folder_of(place)), tmp_path / "answers.json"
    campaign.tell([Response(0, 1.0, "ana", 2.0, clicks=3), Response(1, 0.0, "ana", 2.0, clicks=0), Response(2, 0.0, "ana", 2.0)])
    export_answers(place, "c", str(file))
    assert [row["clicks"] for row in json.loads(file.read_text())] == ["3", "0", "", "", "", ""]
    rows = [{**row, "workspace": ""} for row in json.loads(file.read_text())]
    file.write_text(json.dumps(rows))
    other = str(make_folder(tmp_path / "other", pairs(6)).workspace.location)
    assert import_answers(other, "c", str(file))["recorded"] == 3
    assert [row.clicks for row in Campaign(folder_of(other)).ledger.rows()] == [3, 0, None]

"""Files that leave say whose questions they hold; on the way back a row about another pair, campaign or workspace is refused."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.errors import InputError
from storage.settings import Goal
from storage.workspace import Workspace
from tests.flows.calls import export_answers, import_answers, import_gold
from tests.flows.conftest import cccount
from tests.review.campaigns import SETTINGS, ask, pairs

Rows = list[dict[str, Any]]
FORMS = ("csv", "parquet", "json", "label-studio", "pack")
CLUSTER = [Question(number, 40 + number, 60 + number) for number in range(6)]


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A workspace with two campaigns that ask about other pairs under the same numbers."""
    ids, uris = [f"image {item}" for item in range(100)], [f"s3://photos/{item}.jpg" for item in range(100)]
    workspace = Workspace.create(tmp_path / "ws", collection_table(ids, uri=uris))
    for name, questions in (("count", pairs(6)), ("cluster", CLUSTER)):
        folder = CampaignFolder(workspace, name)
        folder.create(SETTINGS, Goal(10, "people"))
        ask(folder, questions)
    return workspace.location


def filled(place: str, campaign: str, form: str, tmp_path: Path, change: Callable[[Rows], None] = lambda _: None) -> str:
    """A file of a campaign that somebody answered with "same" throughout; `change` is made to what it says of the pairs."""
    path = tmp_path / f"{campaign}-{form}.{form if form in ('csv', 'parquet') else 'json'}"
    if form == "pack":  # as pack.js hands it in; tests/review/test_pack.py shows that it does
        exported = tmp_path / "for-pack.json"
        export_answers(place, campaign, str(exported), overwrite=True)
        kept = ("question_id", "u", "v", "id_u", "id_v", "workspace", "campaign")
        rows = [{name: row[name] for name in kept} for row in json.loads(exported.read_text())]
        for row in rows:
            row |= {
                "answer_id": f"pack {row['question_id']}",
                "annotator": "ana",
                "source": "pack",
                "value": "same",
                "seconds": 2,
            }
        change(rows)
        path.write_text(json.dumps(rows))
        return str(path)
    export_answers(place, campaign, str(path), *(["label-studio"] if form == "label-studio" else []))
    if form == "label-studio":
        tasks = json.loads(path.read_text())
        change([task["data"] for task in tasks])
        for number, task in enumerate(tasks):
            result = {"from_name": "answer", "value": {"choices": ["same"]}}
            task |= {"id": number, "annotations": [{"id": number, "result": [result], "completed_by": 3}]}
        path.write_text(json.dumps(tasks))
        return str(path)
    if form == "csv":
        with path.open(newline="") as source:
            rows = list(csv.DictReader(source))
    else:
        rows = json.loads(path.read_text()) if form == "json" else pq.read_table(path).to_pylist()
    for row in rows:
        row["value"] = "same"
    change(rows)
    if form == "csv":
        with path.open("w", newline="") as sink:
            table = csv.DictWriter(sink, list(dict.fromkeys(name for row in rows for name in row)))
            table.writeheader()
            table.writerows(rows)
    elif form == "json":
        path.write_text(json.dumps(rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def answered(place: str, campaign: str) -> dict[tuple[int, int], float | None]:
    return {(row.u, row.v): row.value for row in Campaign.open(place, campaign).ledger.rows()}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_cluster_imported_without_campaign_is_not_stored_on_pairs_of_count(
    place: str, tmp_path: Path, form: str
) -> None:
    report = import_answers(place, None, filled(place, "cluster", form, tmp_path))
    assert (report["campaign"], report["recorded"], report["rejected"]) == ("cluster", 6, [])
    assert answered(place, "count") == {}
    assert answered(place, "cluster") == {(q.u, q.v): 1.0 for q in CLUSTER}


@pytest.mark.parametrize("form", FORMS)
def test_a_campaign_that_disagrees_with_the_file_is_refused(place: str, tmp_path: Path, form: str) -> None:
    file = filled(place, "cluster", form, tmp_path)
    with pytest.raises(InputError, match=r"holds answers to campaign 'cluster', not to 'count': leave --campaign out"):
        import_answers(place, "count", file)
    assert answered(place, "count") == {}


@pytest.mark.parametrize("form", FORMS)
def test_a_row_about_another_pair_campaign_or_workspace_is_refused_and_the_rest_is_kept(
    place: str, tmp_path: Path, form: str
) -> None:
    def change(rows: Rows) -> None:
        rows[1]["u"] = "3" if form == "csv" else 3
        rows[2]["id_v"] = "image 77"
        rows[3]["campaign"] = "cluster"
        rows[4]["workspace"] = "00000000-0000-0000-0000-000000000000"

    report = import_answers(place, "count", filled(place, "count", form, tmp_path, change))
    assert report["recorded"] == 2
    first = 2 if form == "csv" else 1
    assert [row["line"] for row in report["rejected"]] == [first + number for number in (1, 2, 3, 4)]
    reasons = [row["reason"] for row in report["rejected"]]
    for reason, words in zip(
        reasons,
        (
            "u is 3, and question 1 has u 2 (image 2)",
            "id_v is 'image 77', and question 2 has id_v 'image 5'",
            "the row is of campaign 'cluster', not of 'count'",
            "the row is of workspace '00000000-0000-0000-0000-000000000000', and this is workspace",
        ),
        strict=True,
    ):
        assert words in reason
    assert set(answered(place, "count")) == {(0, 1), (10, 11)}


def test_a_file_of_two_campaigns_is_taken_one_by_one(place: str, tmp_path: Path) -> None:
    both = [json.loads(Path(filled(place, name, "json", tmp_path)).read_text()) for name in ("count", "cluster")]
    file = tmp_path / "both.json"
    file.write_text(json.dumps([*both[0], *both[1]]))
    with pytest.raises(InputError, match="names the campaigns count, cluster: say with --campaign"):
        import_answers(place, None, str(file))
    report = import_answers(place, "cluster", str(file))
    assert (report["recorded"], len(report["rejected"])) == (6, 6)


def test_a_file_that_names_neither_pair_nor_campaign_needs_the_campaign_and_says_so(place: str, tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    file.write_text("question_id,value\n0,same\n")
    shown = cccount("answers", "import", place, "--file", file)
    assert (shown.code, "say it with --campaign (there are: cluster, count)" in shown.line) == (1, True)
    assert import_answers(place, "count", str(file))["recorded"] == 1


def test_an_older_file_is_checked_by_the_columns_that_it_has(place: str, tmp_path: Path) -> None:
    file = tmp_path / "old.csv"
    file.write_text("question_id,id_u,u,value\n0,image 0,0,same\n1,image 9,,same\n2,,9,same\n3,,,different\n")
    with pytest.raises(InputError, match="does not say which campaign"):
        import_answers(place, None, str(file))  # it names pairs, and there are two campaigns
    report = import_answers(place, "count", str(file))
    assert (report["recorded"], [row["line"] for row in report["rejected"]]) == (2, [3, 4])
    shutil.rmtree(Path(place) / "campaigns" / "cluster")
    assert import_answers(place, None, str(file))["answers"] == 2, "there is one campaign, and the pairs are compared"


def test_a_json_object_says_once_whose_answers_it_holds(place: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    rows = [{"question_id": 0, "value": "same"}, {"question_id": 1, "value": "same", "campaign": "count"}]
    file.write_text(json.dumps({"campaign": "cluster", "answers": rows}))
    report = import_answers(place, "cluster", str(file))
    assert (report["recorded"], [row["line"] for row in report["rejected"]]) == (1, [2])


def test_gold_pairs_of_another_workspace_are_known_by_their_names_only(place: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text(
        "id_u,id_v,u,v,value,workspace\nimage 1,image 2,50,51,same,other\n,,5,6,same,other\nimage 1,image 3,1,4,different,\n"
    )
    report = import_gold(place, str(file))
    assert (report["read"], [row["line"] for row in report["rejected"]]) == (1, [3, 4])
    assert "the number of another workspace's item" in report["rejected"][0]["reason"]


def test_an_import_does_not_undo_what_other_people_said(place: str, tmp_path: Path) -> None:
    opened = Campaign.open(place, "count")
    opened.tell([Response(0, 1.0, "ana", id="of ana"), Response(1, 0.0, "bo", id="of bo")])
    file = tmp_path / "undo.json"
    rows = [
        {"question_id": 0, "undoes": "of ana", "annotator": "bo", "answer_id": "first"},
        {"question_id": 1, "undoes": "of ana", "annotator": "ana", "answer_id": "second"},
        {"question_id": 1, "undoes": "nothing", "annotator": "bo", "answer_id": "third"},
        {"question_id": 1, "undoes": "of bo", "annotator": "bo", "answer_id": "fourth"},
    ]
    file.write_text(json.dumps(rows))
    report = import_answers(place, "count", str(file))
    assert (report["recorded"], [row["line"] for row in report["rejected"]]) == (1, [1, 2, 3])
    assert "bo has no answer 'of ana' to question 0 that still holds" in report["rejected"][0]["reason"]
    assert answered(place, "count") == {(0, 1): 1.0}
    assert import_answers(place, "count", str(file))["recorded"] == 0
    with pytest.raises(InputError, match="bo has no answer"):
        opened.tell([Response(0, None, "bo", undoes="of ana")])

"""Files that went through a spreadsheet or another program: what can be understood is, the rest is named, nothing is silent."""

import csv
import json
from pathlib import Path

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
from tests.review.campaigns import SETTINGS, ask, make_folder, pairs

FORMULAS = ["=HYPERLINK(1)", "+1", "-1.jpg", "@SUM(1)", "'=already", "plain", "it's", "\tx", "''", "'-"]


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(make_folder(tmp_path / "ws", [*pairs(5), Question(5, 10, 11, kind="rating")]).workspace.location)


def values(place: str) -> dict[int, float | None]:
    return {row.question_id: row.value for row in Campaign.open(place, "c").ledger.rows()}


PLAIN = "question_id,value,seconds\n0,same,1.5\n1,different,\n2,Yes,\n3,0,\n4,unsure,\n5,0.5,\n"
SEMICOLONS = PLAIN.replace(",", ";").replace("1.5", "1,5").replace("0.5", "0,5")
WRITTEN = {
    "comma": PLAIN.encode(),
    "semicolon and decimal comma": SEMICOLONS.encode(),
    "tab": PLAIN.replace(",", "\t").encode(),
    "byte order mark": PLAIN.encode("utf-8-sig"),
    "semicolon with byte order mark": SEMICOLONS.encode("utf-8-sig"),
    "UTF-16 and tabs, as Excel's Unicode text": PLAIN.replace(",", "\t").encode("utf-16"),
    "UTF-16, the other way round": b"\xfe\xff" + SEMICOLONS.encode("utf-16-be"),
    "UTF-16 without a mark": PLAIN.encode("utf-16-le"),
    "a line that says the separator": b"sep=;\r\n" + SEMICOLONS.encode(),
    "capitals, spaces and empty lines": PLAIN.replace("question_id,value", " Question_ID , VALUE ").encode() + b"\n,,\n\n",
    "quoted": PLAIN.replace("0.5", '"0,5"').encode(),
    "carriage returns": PLAIN.replace("\n", "\r\n").encode(),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_file_that_a_spreadsheet_saved_is_understood(place: str, tmp_path: Path, how: str) -> None:
    file = tmp_path / "answers.csv"
    file.write_bytes(WRITTEN[how])
    report = import_answers(place, "c", str(file))
    assert (report["recorded"], report["rejected"]) == (6, [])
    assert values(place) == {0: 1.0, 1: 0.0, 2: 1.0, 3: 0.0, 4: None, 5: 0.5}
    assert Campaign.open(place, "c").ledger.rows()[0].seconds == 1.5


def test_a_semicolon_file_is_read_by_the_command_and_one_without_value_is_an_error(place: str, tmp_path: Path) -> None:
    file = tmp_path / "answers.csv"
    file.write_text(SEMICOLONS)
    shown = cccount("answers", "import", place, "--campaign", "c", "--file", file)
    assert (shown.code, "6 answers to campaign c read, 6 of them new" in shown.out) == (0, True), shown.err
    file.write_text("question_id;answer\n0;same\n")
    shown = cccount("answers", "import", place, "--campaign", "c", "--file", file)
    assert (shown.code, shown.out) == (1, "")
    assert "no column value or undoes or flag_item: expected question_id and value" in shown.line
    assert "found question_id, answer" in shown.line


NOTHING = {
    "a.csv": (b"question_id,answer\n0,same\n", "no column value"),
    "b.csv": (b"nr,value\n0,same\n", "no column question_id"),
    "c.csv": (b"question_id,value\n", "has no rows"),
    "d.csv": (b"question_id,value\n0,\n1,\n", "none of its 2 rows has a value"),
    "e.csv": (b"", "is empty"),
    "f.csv": (b" \n ", "is empty"),
    "g.csv": ("question_id,value\n0,größer\n".encode("latin-1"), "save it as `CSV UTF-8`"),
    "h.csv": (b"question_id,value,value\n0,same,same\n", "two columns 'value'"),
    "i.json": (b"[]", "no column question_id"),
    "j.json": (b'{"rows": 1}', "must hold a list of objects"),
    "k.json": (b'[{"question_id": 1}]', "no column value"),
    "l.json": (b'[{"id": 1, "data": {}, "annotations": []}]', "none of its 0 rows has a value"),
    "m.json": (b"{", "cannot read"),
    "n.parquet": (b"PAR1", "cannot read"),
    "o.xlsx": (b"PK", "ending must be .csv, .parquet or .json"),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_file_in_which_nothing_can_be_read_is_an_error_that_says_what_was_expected(
    place: str, tmp_path: Path, name: str
) -> None:
    content, words = NOTHING[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as refused:
        import_answers(place, "c", str(tmp_path / name))
    assert words in str(refused.value)
    assert str(tmp_path / name) in str(refused.value)
    assert values(place) == {}


def test_a_gold_file_with_semicolons_is_read_and_one_without_pairs_is_an_error(place: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.csv"
    file.write_text("id_u;id_v;value\nimage 1;image 2;same\n")
    assert import_gold(place, str(file))["read"] == 1
    file.write_text("a;b;value\nimage 1;image 2;same\n")
    with pytest.raises(InputError, match="no column u or v or id_u or id_v: expected id_u and id_v"):
        import_gold(place, str(file))


def test_a_row_with_a_comma_too_many_is_named(place: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("question_id,value,annotator\n5,0,5,ana\n0,same,ana\n")
    report = import_answers(place, "c", str(file))
    assert (report["recorded"], report["rejected"][0]["line"]) == (1, 2)
    assert "4 cells for 3 columns: a cell with ',' in it needs quotes" in report["rejected"][0]["reason"]


ROWS = [
    {"question_id": 0, "value": "same", "answer_id": "one"},
    {"question_id": 0, "value": "different", "answer_id": "one"},
    {"question_id": 1, "value": "same", "answer_id": "one"},
    {"question_id": 1, "value": "same", "seconds": 1e308},
    {"question_id": 1, "value": "same", "annotator": "\ud800"},
    {"question_id": 1, "value": "same", "answer_id": "\ud800"},
    {"question_id": 1.7, "value": "same"},
    {"question_id": "1.7", "value": "same"},
    {"question_id": True, "value": "same"},
    {"question_id": 1, "value": ["same"]},
    {"question_id": 1, "value": "same", "annotator": "a" * 200},
    {"question_id": 1, "value": "same", "annotator": "a\nb"},
    {"question_id": 1, "value": "1_0"},
    {"question_id": 10**30, "value": "same"},
    {"question_id": 5, "value": "1e308"},
    7,
    {"question_id": 2, "value": 1},
    {"question_id": 3.0, "value": False},
]  # fmt: skip


def test_one_bad_row_does_not_take_the_good_ones_with_it(place: str, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(ROWS))
    for recorded in (3, 0):
        report = import_answers(place, "c", str(file))
        assert (report["answers"], report["recorded"]) == (3, recorded)
        assert [row["line"] for row in report["rejected"]] == list(range(2, 17))
    assert values(place) == {0: 1.0, 2: 1.0, 3: 0.0}
    assert "was recorded with another value" in report["rejected"][1]["reason"]
    assert "no whole number: 1.7" in report["rejected"][5]["reason"]


def test_a_cell_of_parquet_that_is_no_text_does_not_take_the_good_rows_with_it(place: str, tmp_path: Path) -> None:
    bad = pa.array([b"same", b"\xff\xfe", b"same"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"question_id": [0, 1, 2], "value": bad}), tmp_path / "a.parquet")
    report = import_answers(place, "c", str(tmp_path / "a.parquet"))
    assert (report["recorded"], [row["line"] for row in report["rejected"]]) == (2, [2])


def test_a_spreadsheet_finds_no_formula_in_an_exported_file_and_the_names_come_back(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "ws", collection_table(FORMULAS))
    folder = CampaignFolder(workspace, "c")
    folder.create(SETTINGS, Goal(10, "people"))
    ask(folder, [Question(number, number, (number + 1) % len(FORMULAS)) for number in range(len(FORMULAS))])
    opened = Campaign.open(workspace.location, "c")
    opened.tell([Response(0, 1.0, '=HYPERLINK("x")', id="=1+1")])
    file = tmp_path / "out.csv"
    export_answers(workspace.location, "c", str(file))
    with file.open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    for row in rows:
        row["value"] = "same"
    with file.open("w", newline="") as sink:
        table = csv.DictWriter(sink, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    report = import_answers(workspace.location, None, str(file))
    assert (report["answers"], report["recorded"], report["rejected"]) == (10, 9, []), "the first one is known by its id"


def test_export_does_not_write_over_a_file_that_people_filled_in(place: str, tmp_path: Path) -> None:
    file = tmp_path / "todo.csv"
    export_answers(place, "c", str(file))
    filled_in = file.read_text().replace(",same,,", ",same,same,")
    file.write_text(filled_in)
    shown = cccount("answers", "export", place, "--campaign", "c", "--file", file)
    assert (shown.code, shown.out) == (1, "")
    assert "there already, and may hold answers: import it first, then name another file, or give --overwrite" in shown.line
    assert file.read_text() == filled_in
    assert cccount("answers", "export", place, "--campaign", "c", "--file", file, "--overwrite").code == 0
    assert file.read_text() != filled_in
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["todo.csv"]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".json"])
def test_an_export_without_questions_has_its_columns_all_the_same(tmp_path: Path, ending: str) -> None:
    place = make_folder(tmp_path / "ws", []).workspace.location
    file = tmp_path / f"none{ending}"
    export_answers(place, "c", str(file))
    with pytest.raises(InputError, match=r"no rows|no column question_id"):
        import_answers(place, "c", str(file))

"""A new kind of question is one Python file (`order.py`), one JavaScript file (`order.js`) and a registration: nothing else."""

import base64
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from benchmarks.gallery import pairs_of, start_campaign
from cccount_dist.campaign.adoption import OtherCampaign
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.review.pack import _modules
from cccount_dist.review.pagefiles import page_files
from cccount_dist.sampling.ledger import Ledger, LoggedAnswer
from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle, SimilarityOracle
from cccount_dist.sampling.questions.registry import QUESTION_KINDS, register_question_kind
from cccount_dist.sampling.types import Question
from flows.exchange.labelstudio import write_tasks
from flows.exchange.origin import Origin
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import export_answers, import_answers, write_pack
from tests.review.campaigns import make_folder, pairs, plain_desk, reply
from tests.review.conftest import Serve
from tests.review.order import ORDER
from tests.review.person import Person
from tests.review.test_pack import handed_in
from tests.review.test_page import settled

QUESTIONS = [replace(question, kind="order") for question in pairs(6)]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with QUESTION_KINDS.having("order", ORDER):
        assert register_question_kind(ORDER) is ORDER
        yield


def test_a_program_asks_and_tells_and_a_wrong_value_is_named(tmp_path: Path) -> None:
    campaign = Campaign(make_folder(tmp_path, QUESTIONS))
    assert [question.kind for question in campaign.ask(3)] == ["order"] * 3
    assert campaign.tell([Response(0, 1.0), Response(1, 0.0), Response(2, None)]) == 3
    with pytest.raises(InputError, match=r"question 3 takes 1 \(first\), 0 \(second\) or nothing \(unsure\), not 0.5"):
        campaign.tell([Response(3, 0.5)])
    assert len(campaign.ask(10)) == 3


def test_answers_are_votes_that_the_majority_settles_and_never_links(tmp_path: Path) -> None:
    ledger = Ledger(2)
    ledger.know([Question(0, 4, 5, "order")])
    said = [("ana", 1.0), ("ben", 0.0), ("cleo", 0.0)]
    for number, (name, value) in enumerate(said):
        assert ledger.settled(0) is None or number == 2
        ledger.take([LoggedAnswer(f"a{number}", 0, 4, 5, value, "people", name)])
    told = ledger.settled(0)
    assert told is not None
    assert told.value == 0.0
    assert ledger.constraints.known(4, 5) is None, "that one is older does not make them different"
    assert ledger.shared == [], "it says nothing about who misses a same"
    assert not Question(0, 4, 5, "order").may_be_inferred
    folder = make_folder(tmp_path, QUESTIONS)
    Campaign(folder).tell([Response(0, 1.0)])
    with folder.journal() as journal:
        journal.seal(folder.log)
    assert OtherCampaign(folder).new_answers() == [], "other campaigns make nothing of it"


def test_labels_or_a_function_can_stand_for_people(tmp_path: Path) -> None:
    ages = np.array([3, 9, 9, -1])
    asked = [Question(0, 0, 1, "order"), Question(1, 1, 0, "order"), Question(2, 1, 2, "order"), Question(3, 0, 3, "order")]
    assert [LabelOracle(ages).answer(question) for question in asked] == [0.0, 1.0, None, None]
    assert FunctionOracle(lambda u, v: bool(u > v)).answer(asked[1]) == 1.0
    with pytest.raises(InputError, match="asks first or second"):
        SimilarityOracle(np.eye(2, dtype=np.float32)).answer(asked[0])


def test_files_have_its_words(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "ws", QUESTIONS)
    place, file = folder.workspace.location, tmp_path / "todo.csv"
    export_answers(place, "c", str(file))
    with file.open(newline="") as source:
        rows = list(csv.DictReader(source))
    for row, word in zip(rows, ["first", "second", "unsure", "same", "0", ""], strict=True):
        row["value"] = word
    with file.open("w", newline="") as sink:
        table = csv.DictWriter(sink, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    report = import_answers(place, "c", str(file))
    assert report["rejected"] == [{"line": 5, "reason": "'same' is none of first, second, unsure, nor a number"}]
    assert report["recorded"] == 4
    export_answers(place, "c", str(file), overwrite=True)
    with file.open(newline="") as source:
        assert [row["value"] for row in csv.DictReader(source)] == ["first", "second", "unsure", "", "second", ""]


def test_label_studio_offers_its_words(workspace: Workspace, tmp_path: Path) -> None:
    config = write_tasks(tmp_path / "tasks.json", QUESTIONS, Origin(workspace, "c"))
    assert '<Choice value="first" hotkey="f"/><Choice value="second" hotkey="s"/>' in Path(config).read_text()


def test_the_desk_hands_it_out_as_its_own_sheet(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [*QUESTIONS[:2], Question(2, 4, 5)])
    desk = plain_desk(folder, gold=0.5, repeats=0.5)
    sheets = desk.take("ana")
    assert [sheet.kind for sheet in sheets] == ["order", "order", "pair"]
    assert len(desk.answer("ana", reply(sheets)).stored) == 3
    assert [row.kind for row in desk.recent("ana")] == ["pair", "order", "order"]
    assert desk.answer("ana", [Response(0, 0.3, id="x")]).rejected[0].reason.startswith("question 0 takes 1 (first)")


def test_the_page_asks_it(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    both = pairs_of(48, 6)
    start_campaign(workspace, "ages", [replace(question, kind="order") for question in both[:4]] + both[4:])
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        expect(person.page.locator("#question")).to_have_text("Which of these two is older?")
        given: dict[tuple[str, ...], float | None] = {}
        for key, value in (("l", 1.0), ("r", 0.0), ("u", None)):
            shown = person.sees()
            person.page.keyboard.press(key)
            person.waits_for_another_than(shown)
            given[shown] = value
        shown = person.sees()
        person.page.keyboard.press("s")  # means nothing here
        person.page.locator(".choice.second").click()
        person.waits_for_another_than(shown)
        given[shown] = 0.0
        expect(person.page.locator("#question")).to_have_text("Are these two the same?")
        person.page.keyboard.press("l")  # and that means nothing here
        person.meant = {}
        given[person.press("s")] = 1.0
        person.everything_is_saved()
        assert settled(workspace, "ages") == given
        person.page.reload()
        expect(person.page.locator("#recent li")).to_have_text(["←first", "→second", "?unsure", "→second", "=same"])
        person.page.locator("#stage img").first.wait_for()
        person.page.keyboard.press("h")
        expect(person.page.locator("#change-first")).to_be_visible()
        script = httpx.get(f"{server.url}/static/order.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert "script-src 'self'" in script.headers["content-security-policy"]
        assert person.problems == []


def test_a_pack_has_it_too(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    start_campaign(workspace, "ages", [replace(question, kind="order") for question in pairs_of(48, 3)])
    file = tmp_path / "pack.html"
    write_pack(workspace.location, "ages", 3, str(file), annotator="ana", side=64)
    with browser.new_context(offline=True) as context:
        person = Person(context.new_page(), file.as_uri())
        person.visit("")
        for key in "lu":
            shown = person.sees()
            person.page.keyboard.press(key)
            person.waits_for_another_than(shown)
        answers = handed_in(person.page, tmp_path)
        assert [row["value"] for row in json.loads(answers.read_text())] == ["first", "unsure"]
        assert import_answers(workspace.location, "ages", str(answers))["recorded"] == 2
        assert sorted(settled(workspace, "ages").values(), key=str) == [1.0, None]
        assert person.problems == []


def test_a_script_may_import_in_its_own_way() -> None:
    source = 'import { choice } from \'./choices.js\';\nimport "./sheets.js";\nconst from = "./else.js";\n'
    (address,) = _modules({"own.js": source, "notes.txt": "", "progress.js": ""}, ["own.js"]).values()
    packed = base64.b64decode(address.partition(",")[2]).decode()
    assert packed == source.replace("'./choices", "'cccount/choices").replace('"./sheets', '"cccount/sheets')


def test_a_script_that_is_missing_or_takes_the_name_of_another_file_is_refused(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "gone.js", "cannot read .*gone.js, which draws questions of the kind 'order'"),
        (tmp_path / "review.js", "another file of the page has this name"),
        (tmp_path / "order.txt", "ends with .js"),
        ("order.js", "no file of the page"),
    ):
        if isinstance(path, Path) and path.name != "gone.js":
            path.write_text("// nothing")
        with QUESTION_KINDS.having("order", replace(ORDER, scripts=(path,))), pytest.raises(InputError, match=reason):
            page_files()

"""The offline pack: one file that a browser opens without any network; its answers come back and count once."""

import json
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from benchmarks.gallery import pages_of, pairs_of, start_campaign
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.sampling.types import Question
from storage.collection import collection_table
from storage.workspace import Workspace
from tests.flows.calls import import_answers, write_pack
from tests.review.person import Person
from tests.review.test_page import settled


def handed_in(page: Page, folder: Path) -> Path:
    page.locator("#saved").click()
    with page.expect_download() as download:
        page.locator("#hand-in").click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    page.keyboard.press("Escape")
    return path


def test_a_pack_is_answered_without_a_network_and_imported_once(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    start_campaign(workspace, "census", pairs_of(48, 12))
    file = tmp_path / "pack.html"
    told = write_pack(workspace.location, "census", 8, str(file), annotator="ana", side=128)
    assert (told["questions"], told["sheets"]) == (8, 8)
    with browser.new_context(offline=True) as context:
        person = Person(context.new_page(), file.as_uri())
        person.visit("")
        for key in "sdsu":
            person.press(key)
        person.undoes()
        person.press("d")
        expect(person.page.locator("#saved")).to_have_text("Hand in")
        person.page.reload()
        person.page.locator("#stage img").first.wait_for()
        assert person.sees() not in person.meant, "it goes on where it was left"
        first = handed_in(person.page, tmp_path)
        assert first.name == "answers-census-ana.json"
        ids, identity = workspace.collection().ids, (workspace.uuid, "census")
        for row in json.loads(first.read_text()):
            assert (row["workspace"], row["campaign"]) == identity
            assert (row["id_u"], row["id_v"]) == (ids[row["u"]], ids[row["v"]])
        assert import_answers(workspace.location, "census", str(first))["recorded"] == 4
        assert settled(workspace, "census") == person.meant
        assert import_answers(workspace.location, "census", str(first))["recorded"] == 0

        person.undoes()  # of what was handed in already
        for key in "usd":
            person.press(key)
        _, bad = person.sees()
        person.page.keyboard.press("f")
        person.page.keyboard.press("2")
        expect(person.page.locator("#flag-dialog")).not_to_be_visible()
        second = handed_in(person.page, tmp_path)
        flag = next(row for row in json.loads(second.read_text()) if "flag_item" in row)
        assert ((flag["workspace"], flag["campaign"]), flag["id_item"]) == (identity, bad)
        assert import_answers(workspace.location, "census", str(second)) == {
            "file": str(second), "campaign": "census", "answers": 8, "recorded": 5, "rejected": [],
        }  # fmt: skip
        assert import_answers(workspace.location, "census", str(second))["recorded"] == 0
        ledger = Campaign.open(workspace.location, "census").ledger
        assert {workspace.collection().ids[item] for item in ledger.flagged} == {bad}
        assert person.meant.items() <= settled(workspace, "census").items()
        person.page.reload()
        person.page.locator("#stage img").first.wait_for()
        person.page.keyboard.press("Backspace")  # of the flag, which was handed in already
        third = handed_in(person.page, tmp_path)
        assert import_answers(workspace.location, "census", str(third))["rejected"] == []
        assert import_answers(workspace.location, "census", str(third))["recorded"] == 0
        assert Campaign.open(workspace.location, "census").ledger.flagged == set()
        assert {row.annotator for row in Campaign.open(workspace.location, "census").ledger.rows()} == {"ana"}
        assert person.problems == []
        assert person.foreign == []


def test_a_pack_has_pages_too(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    start_campaign(workspace, "grid", pages_of(48, 2, 6))
    file = tmp_path / "pack.html"
    write_pack(workspace.location, "grid", 12, str(file), annotator="ana", side=64)
    with browser.new_context(offline=True) as context:
        person = Person(context.new_page(), file.as_uri())
        person.visit("")
        anchor, *others = person.sees()
        person.page.keyboard.press("3")
        person.page.keyboard.press("Enter")
        person.waits_for_another_than((anchor, *others))
        rows = json.loads(handed_in(person.page, tmp_path).read_text())
        assert [row["value"] for row in rows] == ["same" if place == 2 else "different" for place in range(6)]


def test_names_in_a_pack_are_text_and_nothing_else(browser: Browser, tmp_path: Path) -> None:
    hostile = ["</script><script>document.title='caught'</script>", "<img src=x onerror=\"document.title='caught'\">"]
    workspace = Workspace.create(tmp_path / "workspace", collection_table(hostile))
    start_campaign(workspace, "names", [Question(0, 0, 1)])
    file = tmp_path / "pack.html"
    write_pack(workspace.location, "names", 1, str(file), annotator="<b>ana</b>", side=64)
    with browser.new_context(offline=True) as context:
        person = Person(context.new_page(), file.as_uri())
        person.page.goto(file.as_uri())
        expect(person.page.locator("#stage .name")).to_have_text(hostile)
        assert "caught" not in person.page.title()
        assert person.problems == []


def test_a_pack_has_no_pair_that_its_person_answered_before_unless_there_is_nothing_else(
    workspace: Workspace, tmp_path: Path
) -> None:
    start_campaign(workspace, "again", [Question(0, 6, 2), Question(1, 2, 6), Question(2, 6, 2), Question(3, 8, 9)])
    Campaign.open(workspace.location, "again").tell([Response(0, 1.0, "ana")])

    def asked(name: str) -> set[int]:
        file = tmp_path / f"{name}.html"
        write_pack(workspace.location, "again", 3, str(file), annotator=name.partition(" ")[0], side=64)
        content = json.loads(re.findall(r'id="pack">(.*?)</script>', file.read_text())[0])
        return {candidate["question_id"] for sheet in content["sheets"] for candidate in sheet["candidates"]}

    assert asked("ana") == {3}
    assert asked("ben") == {1, 2, 3}
    Campaign.open(workspace.location, "again").tell([Response(3, 0.0, "ben")])
    assert asked("ana later") == {1, 2}

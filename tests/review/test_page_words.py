"""What people read on the page is so: the question in their word, how far it is, why there is nothing, who they are."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from benchmarks.gallery import pages_of, pairs_of, start_campaign
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.report.contact import ContactFacts, Picture, contact_sheet
from cccount_dist.report.facts import Thumbnail
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.types import Question
from flows.exchange.pack import write_pack
from storage.campaigns import CampaignFolder
from storage.collection import collection_table
from storage.schema import ESTIMATES
from storage.settings import Goal
from storage.workspace import Workspace
from tests.cccount_dist.report.samples import DOT
from tests.review.conftest import Serve
from tests.review.person import Person

PHONE = {"width": 360, "height": 640}
DESK = {"width": 1280, "height": 800}
WORDS = Goal(300, "people", noun="individual")


def shot(page: Page, name: str) -> None:
    """Keep a picture for people to look at, where a folder is named for them."""
    if folder := os.environ.get("CCCOUNT_SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def campaign(workspace: Workspace, name: str, questions: list[Question], goal: Goal = WORDS) -> CampaignFolder:
    folder = start_campaign(workspace, name, questions)
    folder.set_goal(goal)
    return folder


def refreshed(folder: CampaignFolder, rows: list[tuple[int, float, float, float]], state: str = "waiting") -> None:
    """Results as steps would have left them: answers, estimate, low, high."""
    for answers, estimate, low, high in rows:
        row = {"answers": answers, "questions": answers, "inferred": 0, "estimate": estimate, "low": low, "high": high,
               "level": 0.95, "state": state, "forecast": None, "clusters_seen": 5.0, "glances": 0}  # fmt: skip
        folder.append_row(ESTIMATES, row)


def violations(page: Page) -> list[str]:
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in Axe().run(page).response["violations"]]


def test_the_same_what_is_said_and_how_far_it_is_and_who_answers(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    folder = campaign(workspace, "census", pairs_of(48, 60))
    campaign(workspace, "own", pairs_of(48, 20), replace(WORDS, question="Is this the same lynx?"))
    campaign(workspace, "pages", pages_of(48, 3, 6))
    Campaign(folder).tell([Response(number, 1.0, "ben") for number in range(23)])
    with serve(workspace) as server, browser.new_context(viewport=DESK, bypass_csp=True) as context:  # type: ignore[arg-type]
        person = Person(context.new_page(), server.url)
        person.visit("/?campaign=census")
        page = person.page
        expect(page.locator("#question")).to_have_text("Are these two the same individual?")
        expect(page.locator("#pace")).to_have_text("23 of about 300")
        expect(page.locator("#who")).to_have_text("ana")
        person.press("s")
        expect(page.locator("#pace")).to_have_text("24 of about 300")
        person.undoes()
        expect(page.locator("#pace")).to_have_text("23 of about 300")
        shot(page, "pair-1280")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        expect(page.locator("#pace")).to_be_visible()
        expect(page.locator("#who")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        shot(page, "pair-phone")
        person.visit("/?campaign=own")
        expect(page.locator("#question")).to_have_text("Is this the same lynx?")
        person.visit("/?campaign=pages")
        expect(page.locator("#question")).to_have_text("Which of the others are the same individual as this one?")
        assert person.problems == []


def test_the_line_below_a_pair_does_not_read_as_a_verdict(browser: Browser, serve: Serve, tmp_path: Path) -> None:
    times = [datetime(2026, 6, 3, 6, tzinfo=UTC), datetime(2026, 6, 7, 12, tzinfo=UTC), datetime(2026, 6, 7, 12, tzinfo=UTC)]
    table = collection_table(["a.jpg", "b.jpg", "c.jpg"], taken_at=times, group=["camera A", "camera B", "camera B"])
    workspace = Workspace.create(tmp_path / "ws", table)
    campaign(workspace, "census", [Question(0, 0, 1), Question(1, 1, 2)], Goal(10, "people"))
    with serve(workspace) as server, browser.new_context() as context:
        page = context.new_page()
        page.goto(server.url)
        between = page.locator("#between")
        expect(between).to_have_text("taken 4 days 6 h apart · from camera A and from camera B")
        page.keyboard.press("u")  # there are no pictures: nobody can say more
        expect(between).to_have_text("taken at the same moment · both from camera B")
        expect(page.locator("#question")).to_have_text("Are these two the same?")


def test_the_end_of_a_long_path_is_seen(browser: Browser, serve: Serve, tmp_path: Path) -> None:
    names = [f"expedition/north-eastern-valley/station-0{n}/2026-06-03-morning/card-B/IMG_{n:04}.JPG" for n in range(2)]
    workspace = Workspace.create(tmp_path / "ws", collection_table(names))
    campaign(workspace, "census", [Question(0, 0, 1)])
    with serve(workspace) as server, browser.new_context(viewport={"width": 500, "height": 640}) as context:
        page = context.new_page()
        page.goto(server.url)
        expect(page.locator("#stage .name").first).to_have_text(names[0])
        seen = page.evaluate("""() => [...document.querySelectorAll('#stage .name')].map(tag => {
            const box = tag.getBoundingClientRect(), text = tag.querySelector('bdi').firstChild;
            const range = document.createRange();
            range.setStart(text, text.length - 12);
            range.setEnd(text, text.length);
            const end = range.getBoundingClientRect();
            return [tag.scrollWidth > tag.clientWidth, end.left >= box.left - 1 && end.right <= box.right + 1];
        })""")
        assert seen == [[True, True], [True, True]], "it is cut, and its last twelve letters are not"


def test_why_there_is_nothing_to_answer_and_for_how_long(
    browser: Browser, serve: Serve, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cccount_dist.review.desk.hindrance", lambda _: None)  # this workspace has no vectors, and needs none
    folder = campaign(workspace, "census", pairs_of(48, 1))
    other = Desk(workspace, "census", gold=0.0, repeats=0.0)
    assert len(other.take("ben")) == 1
    with serve(workspace) as server, browser.new_context(viewport=DESK, bypass_csp=True) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(server.url)
        expect(page.locator("#notice")).to_contain_text("The only open question is taken: another person has it on the screen.")
        expect(page.locator("#waited")).to_contain_text("at the latest")
        shot(page, "taken-1280")
        other.answer("ben", [Response(0, 1.0)])
        expect(page.locator("#notice")).to_contain_text("Nobody advances this campaign just now", timeout=20_000)
        refreshed(folder, [(3, 12.2, 9.5, 20.1)])
        expect(page.locator("#notice")).to_contain_text("The next questions are being chosen", timeout=20_000)
        expect(page.locator("#waited")).to_contain_text("You have waited")
        assert violations(page) == []
        folder.set_goal(replace(WORDS, budget=1))
        expect(page.locator("#notice")).to_contain_text("The budget of 1 answer is used up. Thank you.", timeout=20_000)
    other.close()


def test_cells_use_the_room_and_a_candidate_is_enlarged_on_a_phone(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    campaign(workspace, "four", pages_of(48, 3, 4))
    campaign(workspace, "many", pages_of(48, 3, 24))
    with (
        serve(workspace) as server,
        browser.new_context(viewport=DESK, has_touch=True, bypass_csp=True) as context,  # type: ignore[arg-type]
    ):
        person = Person(context.new_page(), server.url)
        page = person.page
        filled = """() => {
            const room = document.querySelector('.candidates').getBoundingClientRect();
            const cells = [...document.querySelectorAll('.slot')].map(one => one.getBoundingClientRect());
            return [cells.reduce((sum, one) => sum + one.width * one.height, 0) / (room.width * room.height),
                    Math.max(...cells.map(one => one.bottom)) <= room.bottom + 1];
        }"""
        person.visit("/?campaign=four")
        page.wait_for_function(
            "() => getComputedStyle(document.querySelector('.candidates')).getPropertyValue('--columns') !== ''"
        )
        share, inside = page.evaluate(filled)
        assert share > 0.6
        assert inside
        shot(page, "four-1280")
        person.visit("/?campaign=many")
        share, inside = page.evaluate(filled)
        assert share > 0.6
        assert inside, "24 candidates need no scrolling on a desk"
        shot(page, "many-1280")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        shot(page, "many-phone")
        shown = person.sees()
        page.locator(".enlarge").nth(1).tap()
        expect(page.locator("#large-dialog")).to_be_visible()
        expect(page.locator("#large-pictures .name")).to_have_text([shown[0], shown[2]])
        width = page.locator("#large-pictures img").nth(1).bounding_box()
        assert width is not None
        assert width["width"] > 280
        shot(page, "large-phone")
        assert violations(page) == []
        page.locator("#large-dialog [data-mark=same]").tap()
        expect(page.locator(".cell").nth(1)).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#choices")).to_contain_text("1 the same, the rest different")
        page.locator("#help").tap()
        expect(page.locator("#help-dialog")).to_contain_text("With fingers: tap an answer.")
        shot(page, "help-phone")
        assert violations(page) == []
        assert person.problems == []


def test_a_pack_ends_with_a_large_button_to_hand_in(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    campaign(workspace, "census", pairs_of(48, 2))
    file = tmp_path / "pack.html"
    write_pack(workspace.location, "census", 2, str(file), annotator="ana", side=64)
    with browser.new_context(offline=True, viewport=PHONE) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(file.as_uri())
        expect(page.locator("#pace")).to_have_text("0 of 2")
        expect(page.locator("#question")).to_have_text("Are these two the same individual?")
        for _ in range(2):
            page.locator(".choice.different").click()
        expect(page.locator("#pace")).to_have_text("2 of 2")
        button = page.get_by_role("button", name="Hand in").and_(page.locator(".finish"))
        box = button.bounding_box()
        assert box is not None
        assert box["width"] > 250
        assert box["height"] >= 60
        shot(page, "pack-end-phone")
        with page.expect_download() as loaded:
            button.click()
        assert loaded.value.suggested_filename == "answers-census-ana.json"


def test_progress_shows_noun_curve_interval_budget_and_a_scale_with_numbers(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    folder = campaign(workspace, "census", pairs_of(48, 60), replace(WORDS, target_width=0.2))
    Campaign(folder).tell([Response(number, 1.0, "ana with a long name" if number % 3 else "ben") for number in range(40)])
    refreshed(folder, [(5, 31.2, 4.0, 400.0), (12, 28.4, 20.2, 60.9), (25, 25.9, 23.8, 33.0), (40, 25.3, 23.6, 27.4)])
    with serve(workspace) as server, browser.new_context(viewport=DESK, bypass_csp=True) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(f"{server.url}/progress?campaign=census")
        expect(page.locator("#headline")).to_have_text("About 25 individuals")
        expect(page.locator("#below")).to_have_text("95 % sure: between 23 and 28")
        assert page.locator("#range text").all_text_contents()[:2] == ["0", "10"]
        expect(page.locator("#course .band")).to_have_count(1)
        expect(page.locator("#course")).to_contain_text("▲: the interval goes on above.")
        expect(page.locator("#figures")).to_contain_text("40 of 300")
        expect(page.locator("#people")).to_contain_text("no checks yet")
        expect(page.locator("#people")).not_to_contain_text("100 %")
        expect(page.locator("#people")).to_contain_text("too early to say")
        shot(page, "progress-1280")
        assert violations(page) == []
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        page.reload()
        expect(page.locator("#people tbody td").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        ends = "[...document.querySelectorAll('tbody td, tbody th, main text')].map(one => one.getBoundingClientRect().right)"
        assert max(page.evaluate(ends)) <= 361, "no column is cut"
        shot(page, "progress-phone")
        assert violations(page) == []


def test_a_contact_sheet_says_individual_1_explains_the_frame_and_marks_exact_copies(browser: Browser, tmp_path: Path) -> None:
    from cccount_dist.campaign.noun import read_noun

    pictures = [Picture(Thumbnail(f"{name}.jpg", DOT), name == "a", "a.jpg" if name == "c" else None) for name in "abc"]
    facts = ContactFacts("c", 3, 12, "done", [pictures], {}, 30, "0", "now", read_noun("individual"))
    file = tmp_path / "browse.html"
    file.write_text(contact_sheet(facts), encoding="utf-8")
    with browser.new_context(viewport=DESK) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(file.as_uri())
        expect(page.locator("h1")).to_have_text("1 individual")
        expect(page.locator("h2")).to_have_text("Individual 1 · a.jpg")
        expect(page.locator("header")).to_contain_text("A green frame: answers say that the picture belongs here.")
        expect(page.locator(".copy")).to_have_text(["exact copy of a.jpg"])


def test_a_pair_that_comes_to_the_same_person_again_is_declared(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    """Where one answer is not enough and nobody else is there, the page says that it asks once more."""
    start_campaign(workspace, "census", [Question(0, 3, 11), Question(1, 4, 20), Question(2, 11, 3)])
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        for _ in range(2):
            expect(person.page.locator("#again")).to_be_hidden()
            person.press("s")
        expect(person.page.locator("#again")).to_have_text("You answered this before. It is asked once more, to be sure.")
        assert person.problems == []

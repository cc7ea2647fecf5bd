"""The page in a real browser: keys, undo, reload, a dead network, pages, ratings, bad pictures, a phone."""

from itertools import cycle, islice

import pytest
from playwright.sync_api import Browser, expect

from benchmarks.gallery import pages_of, pairs_of, ratings_of, start_campaign
from cccount_dist.campaign.campaign import Campaign
from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace
from tests.review.campaigns import ask
from tests.review.conftest import Serve
from tests.review.person import PATIENCE, Person


def settled(workspace: Workspace, campaign: str) -> dict[tuple[str, str], float | None]:
    """What the log says about each pair, by the names of its items."""
    opened = Campaign.open(workspace.location, campaign)
    ids, ledger = workspace.collection().ids, opened.ledger
    answers = {(ids[q.u], ids[q.v]): ledger.settled(q.id) for q in opened.questions}
    return {pair: row.value for pair, row in answers.items() if row is not None}


def test_sixty_pairs_by_keys_with_undo_reload_and_a_dead_network(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 90))
    keys = cycle(["s", "d", "u", "1", "2", "3", "Space", "d", "d"])
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        loaded = "performance.getEntriesByType('resource').filter(entry => entry.name.includes('/images/')).length"
        person.page.wait_for_function(f"() => {loaded} >= 12")  # eight pairs, some items twice
        for key in islice(keys, 20):
            person.press(key)
        for _ in range(3):
            person.undoes()
        for key in islice(keys, 13):
            person.press(key)
        person.everything_is_saved()

        before = person.sees()
        person.page.reload()
        person.page.locator("#stage img").first.wait_for()
        assert person.sees() == before, "the sheet that was held is shown again"
        expect(person.page.locator("#recent li")).to_have_count(10)
        for _ in range(10):
            person.undoes()
        expect(person.page.locator("#undo")).to_be_disabled()
        for key in islice(keys, 20):
            person.press(key)

        person.everything_is_saved()
        person.has_sheets_ahead(7)
        context.set_offline(offline=True)
        server.stop()
        for key in islice(keys, 5):
            person.press(key)
        expect(person.page.locator("#saved")).to_have_text("5 not saved yet", timeout=PATIENCE)
        server.start()
        context.set_offline(offline=False)
        person.everything_is_saved()
        for key in islice(keys, 15):
            person.press(key)
        person.everything_is_saved()
        assert len(person.meant) == 60
        assert settled(workspace, "census") == person.meant
        assert [problem for problem in person.problems if "ERR_" not in problem] == []
        assert person.foreign == [], "nothing is loaded from elsewhere"


def test_answers_that_were_not_sent_survive_a_closed_tab(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 30))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        person.has_sheets_ahead(7)
        server.stop()
        for key in "sds":
            person.press(key)
        expect(person.page.locator("#saved")).to_have_text("3 not saved yet", timeout=PATIENCE)
        person.page.close()
        assert settled(workspace, "census") == {}
        server.start()
        again = Person(context.new_page(), server.url)
        again.visit()
        again.everything_is_saved()
        assert settled(workspace, "census") == person.meant
        assert again.sees() not in person.meant


def test_one_enter_answers_a_whole_page(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "grid", pages_of(48, 3, 24))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        anchor, *others = person.sees()
        assert len(others) == 24
        for key in ("1", "2", "2", "q", "q", "q"):  # same; unsure; back to different
            person.page.keyboard.press(key)
        person.page.locator(".cell").nth(23).click()
        expect(person.page.locator("#choices")).to_contain_text("2 the same, 1 unsure, the rest different")
        person.page.keyboard.press("Enter")
        person.waits_for_another_than((anchor, *others))
        person.everything_is_saved()
        expected: dict[tuple[str, str], float | None] = {(anchor, other): 0.0 for other in others}
        expected |= {(anchor, others[0]): 1.0, (anchor, others[1]): None, (anchor, others[23]): 1.0}
        assert settled(workspace, "grid") == expected
        ledger = Campaign.open(workspace.location, "grid").ledger
        assert ledger.glances == 1
        assert 0.0 < sum(row.seconds for row in ledger.rows()) < 60.0, "the seconds of a page are shared among its answers"

        person.page.reload()
        person.page.locator("#stage img").first.wait_for()
        expect(person.page.locator("#recent li")).to_have_text(["2/24page: 2 of 24 same"])
        shown = person.sees()
        person.page.keyboard.press("Backspace")
        person.waits_for_another_than(shown)
        assert sorted(person.sees()) == sorted([anchor, *others])
        person.everything_is_saved()
        assert settled(workspace, "grid") == {}
        assert person.problems == []


def test_ratings_by_digit_and_by_slider(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "rated", ratings_of(48, 12))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        given = {}
        for key, value in (("9", 1.0), ("0", 0.0), ("3", 1 / 3), ("u", None)):
            shown = person.sees()
            person.page.keyboard.press(key)
            person.waits_for_another_than(shown)
            given[shown] = value
        shown = person.sees()
        person.page.locator("#rating").fill("0.7")
        person.page.keyboard.press("Enter")
        person.waits_for_another_than(shown)
        given[shown] = 0.7
        person.everything_is_saved()
        assert settled(workspace, "rated") == pytest.approx(given)


def test_a_bad_picture_is_not_shown_again(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 60))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        _, bad = person.sees()
        person.page.keyboard.press("f")
        expect(person.page.locator("#flag-dialog")).to_be_visible()
        person.page.keyboard.press("2")
        person.waits_for_another_than((_, bad))
        person.everything_is_saved()
        seen = [name for _ in range(20) for name in person.press("d")]
        assert bad not in seen
        person.everything_is_saved()
        flagged = Campaign.open(workspace.location, "census").ledger.flagged
        assert {workspace.collection().ids[item] for item in flagged} == {bad}


@pytest.mark.parametrize(("key", "side", "swapped"), [("q", 0, False), ("w", 1, False), ("q", 1, True), ("w", 0, True)])
def test_one_key_says_which_picture_is_bad(
    browser: Browser, serve: Serve, workspace: Workspace, key: str, side: int, swapped: bool
) -> None:
    start_campaign(workspace, "census", pairs_of(48, 60))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        pair = person.sees()
        if swapped:
            person.page.keyboard.press("x")
        person.page.keyboard.press(key)
        person.waits_for_another_than(pair)
        person.everything_is_saved()
        flagged = Campaign.open(workspace.location, "census").ledger.flagged
        assert {workspace.collection().ids[item] for item in flagged} == {pair[side]}


def test_a_picture_that_was_flagged_by_mistake_comes_back(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        shown = person.sees()
        person.page.keyboard.press("f")
        person.page.keyboard.press("1")
        person.waits_for_another_than(shown)
        other = person.sees()
        person.page.keyboard.press("Backspace")
        person.waits_for_another_than(other)
        assert person.press("s") == shown
        assert person.sees() == other
        person.everything_is_saved()
        assert settled(workspace, "census") == {shown: 1.0}
        assert Campaign.open(workspace.location, "census").ledger.flagged == set()


def test_a_flag_is_taken_back_after_a_reload_too(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        person.press("s")
        shown = person.sees()
        person.page.keyboard.press("f")
        person.page.keyboard.press("1")
        person.waits_for_another_than(shown)
        person.everything_is_saved()
        assert Campaign.open(workspace.location, "census").ledger.flagged
        person.page.reload()
        expect(person.page.locator("#recent li")).to_have_count(2)
        person.page.keyboard.press("Backspace")
        expect(person.page.locator("#recent li")).to_have_count(1)
        person.everything_is_saved()
        ledger = Campaign.open(workspace.location, "census").ledger
        assert ledger.flagged == set()
        assert settled(workspace, "census") == person.meant, "what the flag had answered waits again"


def test_new_questions_appear_by_themselves(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    questions = pairs_of(48, 6)
    folder = start_campaign(workspace, "census", questions[:3])
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        for key in "sd":
            person.press(key)
        person.sees()
        person.page.keyboard.press("s")
        expect(person.page.locator("#notice")).to_contain_text("New ones appear here by themselves")
        ask(folder, questions[3:])
        person.page.locator("#stage img").first.wait_for()
        person.press("d")
        person.everything_is_saved()


def test_keys_can_be_changed_and_stay_changed(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        person.page.keyboard.press("h")
        person.page.locator("#change-same").focus()
        person.page.keyboard.press("Enter")
        person.page.keyboard.press("f")
        expect(person.page.locator("#key-problem")).to_contain_text("It was the key of “Bad image” before")
        person.page.keyboard.press("Escape")
        person.page.reload()
        person.page.locator("#stage img").first.wait_for()
        shown = person.sees()
        person.page.keyboard.press("s")  # nothing any more
        person.page.keyboard.press("f")
        person.waits_for_another_than(shown)
        person.everything_is_saved()
        assert settled(workspace, "census") == {shown: 1.0}


def test_both_pictures_are_zoomed_and_lit_together(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    styles = """[...document.querySelectorAll('#stage img')].map(e => getComputedStyle(e)).map(
        s => [s.transform.replace(/\\d+\\.\\d+/g, number => Math.round(number)), s.filter])"""
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        whole = person.page.evaluate(styles)
        person.page.locator(".frame").first.hover(position={"x": 40, "y": 40})
        person.page.mouse.wheel(0, -500)
        person.page.keyboard.press("ArrowRight")
        person.page.locator("#adjust").click()
        person.page.locator("#brightness").fill("1.5")
        left, right = person.page.evaluate(styles)
        assert left == right != whole[0]
        assert "brightness(1.5)" in left[1]
        person.page.locator("#main").focus()
        person.press("d")
        assert person.page.evaluate(styles)[0] == [whole[0][0], left[1]], "the next pair is shown whole, in the same light"
        order = "[...document.querySelectorAll('.pane')].map(e => e.getBoundingClientRect().left)"
        first, second = person.page.evaluate(order)
        person.page.keyboard.press("x")
        assert person.page.evaluate(order) == [second, first]


def test_a_phone_of_360_pixels(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    start_campaign(workspace, "grid", pages_of(48, 3, 24))
    with (
        serve(workspace) as server,
        browser.new_context(viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True) as context,
    ):
        person = Person(context.new_page(), server.url)
        for campaign in ("census", "grid"):
            person.visit(f"/?campaign={campaign}")
            width, height = person.page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            assert (width, height) == (360, 640), "nothing sticks out"
            boxes = [target.bounding_box() for target in person.page.locator("button:visible, a:visible, select:visible").all()]
            assert all(box and min(box["width"], box["height"]) >= 44 for box in boxes)
        shown = person.sees()
        person.page.locator(".cell").nth(1).tap()
        person.page.locator(".choice.submit").tap()
        person.waits_for_another_than(shown)
        person.visit("/?campaign=census")
        shown = person.sees()
        person.page.locator(".choice.different").tap()
        person.waits_for_another_than(shown)
        person.everything_is_saved()
        assert settled(workspace, "census") == {shown: 0.0}
        person.page.goto(f"{server.url}/progress?campaign=census")
        expect(person.page.locator("#figures li").first).to_be_visible()
        assert person.page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_token_opens_the_page_and_the_cookie_is_out_of_reach_of_scripts(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    token = Annotators(workspace).add("ben")
    with serve(workspace, local=None) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        person.page.locator("#token").fill("wrong")
        person.page.keyboard.press("Enter")
        expect(person.page.locator("#login-problem")).to_have_text("nobody has this token")
        person.page.locator("#token").fill(token)
        person.page.keyboard.press("Enter")
        person.page.locator("#stage img").first.wait_for()
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert person.page.evaluate("document.cookie") == ""
        person.press("s")
        person.everything_is_saved()
        rows = Campaign.open(workspace.location, "census").ledger.rows()
        assert [row.annotator for row in rows] == ["ben"]
        Annotators(workspace).remove("ben")
        person.sees()  # a key means nothing before the pictures are there
        person.page.keyboard.press("d")
        expect(person.page.locator("#login")).to_be_visible()

"""The gallery of individuals in a real Chromium: found, named, merged, split, moved, taken back; on a desk and on a phone."""

from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from cccount_dist.campaign.sidewords import SIDES_FILE
from cccount_dist.individuals.census import Individuals
from cccount_dist.individuals.sides import of_census, set_side
from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace
from tests.individuals.made import add_campaign, groups
from tests.review.conftest import Serve
from tests.review.test_accessibility import complaints

# Eight butterflies; one picture of the second is with the first, and the last of them is in two groups.
WRONG = [0 if item == 9 else 8 if item % 8 == 7 and item > 30 else item % 8 for item in range(48)]


@pytest.fixture
def individuals(workspace: Workspace) -> Individuals:
    return add_campaign(workspace, "census", WRONG)


def opened(page: Page, url: str) -> list[str]:
    failures: list[str] = []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(url)
    return failures


def test_a_person_finds_names_splits_merges_and_takes_back(browser: Browser, serve: Serve, individuals: Individuals) -> None:
    before = groups(individuals)
    with serve(individuals.workspace) as server, browser.new_context() as context:
        page = context.new_page()
        failures = opened(page, f"{server.url}/individuals")
        cards, toast = page.locator(".card"), page.locator("#toast")
        expect(page.locator("h1")).to_have_text("9 individuals")
        expect(cards).to_have_count(9)
        page.get_by_label("Sort by").select_option("photos")
        cards.first.click()
        page.get_by_label("Name", exact=True).fill("=Luna")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("h1:visible")).to_have_text("=Luna")
        page.get_by_role("button", name="Mark IMG_2224.jpg").click()  # item 9
        page.get_by_role("button", name="Another one").click()
        expect(toast).to_contain_text("1 picture of =Luna")
        expect(page.locator(".pick")).to_have_count(6)
        assert groups(individuals)[10] == (9,)
        toast.get_by_role("button", name="Undo").click()
        expect(page.locator(".pick")).to_have_count(7)
        assert groups(individuals) == before
        page.get_by_role("button", name="Mark IMG_2224.jpg").click()
        page.get_by_role("button", name="Move to …").click()
        page.locator("dialog input").fill("individual 2")
        page.locator("dialog li button").first.click()
        expect(page.locator(".pick")).to_have_count(6)
        page.goto(f"{server.url}/individuals#8")
        expect(page.locator("h1:visible")).to_have_text("Individual 8")
        page.get_by_role("button", name="Merge with …").click()
        page.locator("dialog input").fill("individual 9")
        page.locator("dialog li button").first.click()
        expect(page.locator(".pick")).to_have_count(6)
        page.get_by_role("link", name="All individuals").click()
        expect(cards).to_have_count(8)
        page.get_by_role("searchbox", name="Search").fill("luna")
        expect(cards).to_have_count(1)
        assert failures == []
    after = groups(individuals)
    assert sorted(after.values()) == [tuple(range(who, 48, 8)) for who in range(8)]
    assert individuals.census().find(1).name == "=Luna"
    assert {row.annotator for row in individuals.campaign.ledger.rows()} == {"ana"}


def test_what_shows_no_animal_leaves_and_all_that_is_confirmed_says_by_whom(
    browser: Browser, serve: Serve, individuals: Individuals
) -> None:
    with serve(individuals.workspace) as server, browser.new_context() as context:
        page = context.new_page()
        opened(page, f"{server.url}/individuals#2")
        page.locator(".pick").first.click()
        page.get_by_role("button", name="Not an animal").click()
        expect(page.locator(".pick")).to_have_count(4)
        page.get_by_role("button", name="Confirm").click()
        expect(page.locator(".facts")).to_contain_text("by ana")
    census = individuals.census()
    assert (census.find(2).sure, len(census.no_animals)) == ("confirmed", 1)


def test_sides_are_set_for_marked_pictures_and_taken_back(browser: Browser, serve: Serve, individuals: Individuals) -> None:
    second = [item for item in range(48) if WRONG[item] == 1]
    set_side(individuals.workspace, second, "right")
    with serve(individuals.workspace) as server, browser.new_context() as context:
        page = context.new_page()
        failures = opened(page, f"{server.url}/individuals#2")
        toast = page.locator("#toast")
        for place in (0, 1):
            page.locator(".pick").nth(place).click()
        page.get_by_role("button", name="Side …").click()
        page.locator("dialog").get_by_role("button", name="Left").click()
        expect(toast).to_contain_text("2 pictures show the left side")
        expect(page.locator(".pick", has_text="left side")).to_have_count(2)
        expect(page.locator(".facts")).to_contain_text("left")
        told = individuals.workspace.collection().sides()
        assert sorted(side for side in told if side) == ["left", "left", "right", "right", "right"]
        toast.get_by_role("button", name="Undo").click()
        expect(toast).to_contain_text("It is taken back.")
        expect(page.locator(".pick", has_text="right side")).to_have_count(5)
        assert failures == []
    assert [item for item, side in enumerate(individuals.workspace.collection().sides()) if side == "right"] == second


@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_violation_in_gallery_portrait_and_choice(
    width: int, browser: Browser, serve: Serve, individuals: Individuals
) -> None:
    scheme: Literal["light", "dark"] = "light" if width > 1000 else "dark"
    found: dict[str, list[str]] = {}
    with (
        serve(individuals.workspace) as server,
        browser.new_context(color_scheme=scheme, bypass_csp=True, viewport={"width": width, "height": 800}) as context,
    ):
        page = context.new_page()
        opened(page, f"{server.url}/individuals")
        expect(page.locator(".card").first).to_be_visible()
        found["gallery"] = complaints(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".card").first.click()
        page.locator(".pick").first.click()
        found["portrait"] = complaints(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("button", name="Move to …").click()
        expect(page.locator("dialog li").first).to_be_visible()
        found["choice"] = complaints(page)
    assert {where: what for where, what in found.items() if what} == {}


def test_with_sides_apart_the_gallery_says_how_few_there_may_be(browser: Browser, serve: Serve, individuals: Individuals) -> None:
    """Nine groups, of which four were seen from the left and five from the right."""
    for who in range(9):
        set_side(individuals.workspace, [item for item in range(48) if WRONG[item] == who], "left" if who < 4 else "right")
    census = individuals.census()
    found = of_census(census, individuals.workspace.collection().sides())
    individuals.folder.write_result(SIDES_FILE, found.stored())
    with serve(individuals.workspace) as server, browser.new_context() as context:
        page = context.new_page()
        opened(page, f"{server.url}/individuals")
        expect(page.locator("h1")).to_have_text("5 to 9 individuals")
        expect(page.locator("#below")).to_contain_text("left 4, right 5; one whose two sides nobody has joined is here twice")
    assert (found.least, found.most) == (5, 9)


def test_nobody_sees_individuals_without_a_token(browser: Browser, serve: Serve, individuals: Individuals) -> None:
    Annotators(individuals.workspace).add("ben")
    with serve(individuals.workspace) as server, browser.new_context() as context:
        for path in ("/api/individuals", "/api/census/individuals", "/api/census/individuals/1"):
            assert context.request.get(f"{server.url}{path}").status == 401
        body = {"id": "abcdefgh", "action": "confirm", "individual": 1}
        assert context.request.post(f"{server.url}/api/census/individuals", data=body).status == 401
    assert not individuals.campaign.ledger.rows()

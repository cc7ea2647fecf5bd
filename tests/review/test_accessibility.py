"""axe-core finds nothing to complain about, wherever the page can be, in light and dark; the keyboard alone is enough."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from benchmarks.gallery import pages_of, pairs_of, ratings_of, start_campaign
from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace
from tests.review.conftest import Serve
from tests.review.person import Person


def complaints(page: Page) -> list[str]:
    response = Axe().run(page).response
    assert len(response["passes"]) > 10, "it did look"
    violations = response["violations"]
    return [f"{v['id']}: {v['help']} ({v['nodes'][0]['html']})" for v in violations]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(scheme: str, browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    start_campaign(workspace, "grid", pages_of(48, 3, 12))
    start_campaign(workspace, "rated", ratings_of(48, 12))
    found: dict[str, list[str]] = {}
    # The page's content policy keeps axe out like any other script that is not its own.
    with serve(workspace) as server, browser.new_context(color_scheme=scheme, bypass_csp=True) as context:  # type: ignore[arg-type]
        person = Person(context.new_page(), server.url)
        page = person.page
        for campaign in ("grid", "rated", "census") if scheme == "light" else ("grid", "census"):
            person.visit(f"/?campaign={campaign}")
            if campaign == "grid":
                page.keyboard.press("1")
                page.keyboard.press("2")
                page.keyboard.press("2")
            found[campaign] = complaints(page)
        person.press("s")
        person.press("d")
        page.locator("#adjust").click()
        found["answered"] = complaints(page)
        dialogs = (("help-dialog", "help"), ("flag-dialog", "flag"), ("saved-dialog", "saved"))
        for dialog, button in dialogs if scheme == "light" else dialogs[:1]:
            page.locator(f"#{button}").click()
            expect(page.locator(f"#{dialog}")).to_be_visible()
            found[dialog] = complaints(page)
            page.keyboard.press("Escape")
        page.set_viewport_size({"width": 360, "height": 640})
        found["phone"] = complaints(page)
        page.goto(f"{server.url}/progress?campaign=census")
        expect(page.locator("#figures li").first).to_be_visible()
        found["progress"] = complaints(page)
        Annotators(workspace).add("ben")
        page.goto(server.url)
        expect(page.locator("#login")).to_be_visible()
        found["login"] = complaints(page)
    assert {where: what for where, what in found.items() if what} == {}


def test_everything_can_be_reached_by_tab_alone(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        first = person.sees()
        person.press("s")
        person.waits_for_another_than(first)
        person.sees()  # the buttons wait for the next pair's pictures, too
        reached = set()
        for _ in range(16):
            person.page.keyboard.press("Tab")
            reached.add(person.page.evaluate("document.activeElement.id || document.activeElement.className"))
        wanted = {"saved", "to-progress", "adjust", "help", "undo", "flag", "choice same", "choice different", "choice unsure"}
        assert wanted <= reached
        person.page.locator(".choice.different").focus()
        shown = person.sees()
        for _ in range(2):  # on a button that has the focus, Space presses it, and the focus stays
            person.page.keyboard.press("Space")
            person.waits_for_another_than(shown)
            shown = person.sees()
        person.everything_is_saved()

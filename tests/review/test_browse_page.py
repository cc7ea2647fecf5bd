"""The contact sheet in a real Chromium, served and as one file: every subcluster is there, and search finds."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from storage.workspace import Workspace
from tests.flows.calls import browse
from tests.flows.test_subcluster import pictures, running  # noqa: F401  the first is a fixture


def test_the_served_page_filters_by_id_and_finds_what_an_item_and_a_picture_are_most_like(
    browser: Browser,
    pictures: Path,  # noqa: F811
) -> None:
    opened = Workspace.open(str(pictures / "ws"))
    uri = opened.collection().uri(4)
    assert uri is not None
    with running(opened, "ana") as server, browser.new_context() as context:
        page = context.new_page()
        failures: list[str] = []
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"{server.url}/browse")
        rows = page.locator("h2:visible")
        expect(rows).to_have_count(3)
        first = rows.first.inner_text()
        page.locator("#text").fill(first.partition("· ")[2])
        expect(rows).to_have_count(1)
        expect(rows.first).to_have_text(first)
        page.locator("#text").fill(opened.collection().ids[4])
        page.keyboard.press("Enter")
        expect(rows).to_have_count(3)
        by_item = rows.first.inner_text()
        page.locator("#text").fill("")
        page.locator("#file").set_input_files(uri.removeprefix("file://"))
        expect(rows.first).to_have_text(by_item)
        assert failures == []


def test_the_single_file_finds_by_id_without_a_server(browser: Browser, pictures: Path) -> None:  # noqa: F811
    sheet = browse(str(pictures / "ws"), "subcluster")["file"]
    ids = Workspace.open(str(pictures / "ws")).collection().ids
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.goto(Path(sheet).as_uri())
        rows = page.locator("h2:visible")
        expect(rows).to_have_count(3)
        page.locator("#search").fill(ids[4])
        expect(rows).to_have_count(1)
        page.locator("#search").fill("nobody has this id")
        expect(rows).to_have_count(0)

"""The pictures of the next eight sheets are there before they are shown: a real server, a real browser, cold photographs."""

from pathlib import Path

from playwright.sync_api import Browser

from benchmarks.gallery import LARGE, large_jpeg, start_campaign
from storage.collection import collection_table
from storage.workspace import Workspace
from tests.attack.server import review
from tests.review.campaigns import pairs
from tests.review.person import Person

SHEETS = 8  # that a person has in hand: one is shown, seven lie ready behind it
DRAWN = "() => [...document.querySelectorAll('#stage img')].filter(one => one.complete && one.naturalWidth > 0).length"


def test_the_pictures_of_the_next_eight_sheets_are_there_before_they_are_shown(browser: Browser, tmp_path: Path) -> None:
    assert LARGE[0] * LARGE[1] >= 12_000_000
    (tmp_path / "images").mkdir()
    uris = large_jpeg(tmp_path / "images", 60)
    workspace = Workspace.create(tmp_path / "ws", collection_table([f"item {number}" for number in range(60)], uri=uris))
    start_campaign(workspace, "census", pairs(30))
    with review(tmp_path / "ws", log=tmp_path / "log") as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url.rstrip("/"))
        person.visit()
        person.has_sheets_ahead(SHEETS - 1)
        fetched: list[str] = []
        context.on("request", lambda request: fetched.append(request.url) if "/images/" in request.url else None)
        context.route("**/images/**", lambda route: route.abort())  # from now on no picture comes any more
        for number in range(SHEETS):
            assert person.page.evaluate(DRAWN) == 2, f"sheet {number}: both pictures are drawn at once"
            assert person.page.locator("#stage").get_attribute("data-loading") != "true"
            if number < SHEETS - 1:
                person.press("d")
        assert fetched, "the page went on to fetch what comes after these"
        shown = {name for pair in person.order for name in pair}
        assert len(shown) == 2 * (SHEETS - 1), "all of different photographs"

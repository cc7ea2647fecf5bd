"""Points that two pictures share: shown as lines when somebody asks, in a real browser, and never by themselves."""

import httpx
import numpy as np
from playwright.sync_api import Browser, expect

from benchmarks.gallery import pairs_of, start_campaign
from cccount_dist.embedding.images import load_image
from cccount_dist.embedding.localfeatures import local_features
from cccount_dist.review.points import shared_points
from cccount_dist.similarity.localmatches import COLUMNS, POINTS, SIDE
from storage.schema import FEATURES
from storage.workspace import Workspace
from tests.review.conftest import Serve
from tests.review.person import Person
from tests.review.test_marking import sheets_of, start

LINES = ".lines line"


def look_at_pictures(workspace: Workspace) -> None:
    """What `cccount matches` does first."""
    collection = workspace.collection()
    rows = np.stack([local_features(load_image(collection.uri(item) or "", SIDE)) for item in range(collection.items)])
    array = workspace.create_array(FEATURES, (collection.items, POINTS, COLUMNS), attributes={}, shard_rows=256)
    array.write_shard(0, rows)


def test_points_of_a_pair_are_the_same_whichever_picture_is_first_and_lie_inside(workspace: Workspace) -> None:
    assert shared_points(workspace, 0, 1) is None, "nobody has looked at the pictures"
    look_at_pictures(workspace)
    alike = shared_points(workspace, 3, 3)
    assert alike
    assert all((a, b) == (c, d) and 0 <= a < 1 and 0 <= b < 1 for a, b, c, d in alike)
    there, back = shared_points(workspace, 0, 1), shared_points(workspace, 1, 0)
    assert there is not None
    assert back == [(c, d, a, b) for a, b, c, d in there]
    assert shared_points(workspace, 0, 10_000) is None


def test_the_server_gives_points_to_who_is_at_the_desk_and_says_where_there_are_none(workspace: Workspace, serve: Serve) -> None:
    start_campaign(workspace, "census", pairs_of(48, 5))
    with serve(workspace) as server, httpx.Client(base_url=server.url) as client:
        refused = client.get("/api/census/points?first=0&second=1")
        assert refused.status_code == 404
        assert "were not compared" in refused.json()["detail"]
        look_at_pictures(workspace)
        assert client.get("/api/census/points?first=2&second=2").json()["points"]
        assert client.get("/api/census/points?first=0&second=9999999").status_code == 404
        assert client.get("/api/census/points?first=-1&second=2").status_code == 422
    with serve(workspace, local=None) as server:
        assert httpx.get(f"{server.url}/api/census/points?first=0&second=1").status_code == 401


def test_lines_come_with_m_go_with_m_and_never_stay_for_the_next_pair(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    look_at_pictures(workspace)
    start_campaign(workspace, "census", pairs_of(48, 6))
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.visit()
        page = person.page
        alike = '{"points": [[0.25, 0.5, 0.75, 0.5], [0.5, 0.25, 0.5, 0.75]]}'
        page.route("**/points?*", lambda route: route.fulfill(body=alike, content_type="application/json"))
        person.sees()
        expect(page.locator(".lines")).to_have_count(0)
        page.keyboard.press("m")
        expect(page.locator(LINES)).to_have_count(2)
        expect(page.locator("#said")).to_have_text("2 points match.")
        ends = page.evaluate(
            """() => {
              const line = document.querySelector(".lines line");
              const origin = document.querySelector("#stage").getBoundingClientRect();
              return [...document.querySelectorAll("#stage .frame img")].map((image, side) => {
                const box = image.getBoundingClientRect();
                const scale = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight);
                const x = Number(line.getAttribute(side ? "x2" : "x1")) + origin.left - (box.left + box.width / 2);
                return x / (image.naturalWidth * scale);
              });
            }"""
        )
        np.testing.assert_allclose(ends, [-0.25, 0.25], atol=0.01)
        page.keyboard.press("m")
        expect(page.locator(".lines")).to_have_count(0)
        page.keyboard.press("m")
        expect(page.locator(LINES)).to_have_count(2)
        person.press("d")
        expect(page.locator(".lines")).to_have_count(0)
        page.unroute("**/points?*")
        page.keyboard.press("m")
        expect(page.locator("#said")).to_contain_text("match")


def test_on_a_sheet_l_shows_them_where_a_picture_is_large(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start(workspace, sheets_of(1, 6))
    with serve(workspace) as server, browser.new_context() as context:
        page = context.new_page()
        page.goto(server.url)
        page.locator(".marks .cell img").first.wait_for()
        page.locator("#stage:not([data-loading=true])").wait_for()
        page.locator(".marks .cell").nth(2).click(button="right")
        dialog = page.locator("dialog.closer")
        expect(dialog).to_be_visible()
        page.keyboard.press("l")
        expect(dialog.locator("[role=status]")).to_contain_text("were not compared")
        page.route(
            "**/points?*", lambda route: route.fulfill(body='{"points": [[0.5, 0.5, 0.5, 0.5]]}', content_type="application/json")
        )
        page.keyboard.press("l")
        expect(dialog.locator(LINES)).to_have_count(1)
        dialog.locator("svg.lines").evaluate("lines => lines.remove()")  # as where a picture came meanwhile
        dialog.locator(".frame img").first.evaluate("picture => { picture.src += '#finer'; }")
        expect(dialog.locator(LINES)).to_have_count(1)
        page.keyboard.press("r")
        expect(dialog.locator(".lines")).to_have_count(0)

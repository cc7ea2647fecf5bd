"""Sheets of pictures to mark, in a real browser: keys, mouse and fingers; every mark is stored on its pair, whatever happens."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from benchmarks.gallery import pages_of
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.sampling.methods import METHODS, Method
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.schema import GROUPINGS
from storage.settings import Goal
from storage.workspace import Workspace
from tests.flows.calls import import_answers, write_pack
from tests.flows.test_sheets import build
from tests.review.campaigns import SETTINGS, ask
from tests.review.conftest import Serve
from tests.review.person import Person
from tests.review.test_pack import handed_in
from tests.review.test_page import settled

SAME, DIFFERENT, UNSURE = 1.0, 0.0, None
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 800}


def sheets_of(count: int, size: int) -> list[Question]:
    return [replace(question, kind="sheet") for question in pages_of(48, count, size)]


def start(workspace: Workspace, questions: list[Question]) -> CampaignFolder:
    folder = CampaignFolder(workspace, "catalogue")
    folder.create(replace(SETTINGS, items=48), Goal(10_000, "people", noun="butterfly/butterflies"))
    ask(folder, questions)
    return folder


OTHER_ANCHOR = "was => document.querySelector('.anchor img') && document.querySelector('.anchor img').alt !== was"


class Marker(Person):
    """Somebody who marks sheets, and remembers what they meant of each pair."""

    def __init__(self, page: Page, url: str) -> None:
        super().__init__(page, url)
        self.sheets: list[dict[tuple[str, str], float | None]] = []  # that were sent, and not taken back

    def said(self) -> dict[tuple[str, str], float | None]:
        return {pair: value for sheet in self.sheets for pair, value in sheet.items()}

    @property
    def cells(self) -> Locator:
        return self.page.locator(".marks .cell")

    def anchor(self) -> str:
        return str(self.page.locator(".anchor img").get_attribute("alt"))

    def names(self) -> list[str]:
        return list(self.page.locator(".marks .cell img").evaluate_all("all => all.map(one => one.alt)"))

    def marks(self) -> list[str]:
        return list(self.cells.evaluate_all("all => all.map(one => one.dataset.mark)"))

    def sends(self, way: str, same: Iterable[int], unsure: Iterable[int] = (), rest: float | None = DIFFERENT) -> None:
        """Check that the sheet shows these marks, send it, and wait for the next one."""
        names, anchor, same = self.names(), self.anchor(), set(same)
        expected = ["same" if i in same else "unsure" if i in unsure else "different" for i in range(len(names))]
        assert self.marks() == expected
        values = {"same": SAME, "unsure": UNSURE, "different": rest}
        self.sheets.append({(anchor, name): values[mark] for name, mark in zip(names, expected, strict=True)})
        button = self.page.locator(".choice.submit")
        self.page.locator("#stage:not([data-loading=true])").wait_for()  # nothing is sent before all pictures are there
        {"tap": button.tap, "click": button.click}.get(way, lambda: self.page.keyboard.press(way))()
        self.waits_for_another_anchor(anchor)

    def waits_for_another_anchor(self, anchor: str) -> None:
        self.page.wait_for_function(OTHER_ANCHOR, arg=anchor)

    def undoes(self) -> tuple[str, ...]:
        anchor = next(iter(self.sheets.pop()))[0]
        self.page.keyboard.press("Backspace")
        expect(self.page.locator(".anchor img")).to_have_attribute("alt", anchor)
        return (anchor,)

    def presses(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def drags(self, first: int, last: int) -> None:
        self.page.mouse.move(*self._middle(first))
        self.page.mouse.down()
        self.page.mouse.move(*self._middle(last))
        self.page.mouse.up()

    def touches(self, places: Sequence[int], until: Locator | None = None) -> None:
        """Put a finger on a cell, move it across others, or leave it there until something is to be seen."""
        self.cells.nth(places[0]).scroll_into_view_if_needed()  # which waits until it stands still
        session = self.page.context.new_cdp_session(self.page)
        for kind, place in zip(["touchStart", *["touchMove"] * len(places)], places, strict=False):
            x, y = self._middle(place)
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        if until is not None:
            expect(until).to_be_visible()
        session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    def has_pictures(self, anchors: int) -> None:
        """Wait until the browser has the first pictures of so many sheets, and every picture of a cell."""
        loaded = "side => new Set(performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes(side))).size"
        for side, count in (("side=512", anchors), ("side=256", 47)):
            self.page.wait_for_function(f"([side, count]) => ({loaded})(side) >= count", arg=[side, count])

    def sees_all(self) -> None:
        self.page.locator(".marks").evaluate("box => box.scrollTo(0, box.scrollHeight)")
        expect(self.page.locator(".choice.submit")).not_to_contain_text("more")

    def _middle(self, place: int) -> tuple[float, float]:
        box = self.cells.nth(place).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_thirty_sheets_by_keys_mouse_and_fingers_with_a_dead_network_and_undo(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    start(workspace, sheets_of(33, 12))
    with serve(workspace) as server:
        with browser.new_context(viewport=DESK) as context:
            ana = Marker(context.new_page(), server.url)
            ana.visit()
            expect(ana.page.locator("#question")).to_have_text("Mark every picture that shows the same butterfly")
            by_keys(ana)
            ana.everything_is_saved()
            ana.has_sheets_ahead(7)
            ana.has_pictures(anchors=len(ana.sheets) + 8)
            context.set_offline(offline=True)
            by_mouse(ana)
            expect(ana.page.locator("#saved")).to_contain_text("not saved yet")
            ana.undoes()
            assert ana.marks() == ["same"] * 4 + ["different"] * 8, "the marks come back with the sheet"
            ana.presses("1", "1")
            ana.sends("Enter", same=[0, 1, 2, 3, 10])
            context.set_offline(offline=False)
            ana.everything_is_saved()
            ana.page.reload()
            ana.page.locator("#stage img").first.wait_for()
            expect(ana.page.locator("#recent li")).to_have_count(10)
            ana.undoes()
            assert ana.marks().count("same") == 5, "after a reload, too"
            ana.sends("Enter", same=[0, 1, 2, 3, 10])
            ana.everything_is_saved()
            assert [text for text in ana.problems if "ERR_INTERNET_DISCONNECTED" not in text] == []
        with browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True) as context:
            finger = Marker(context.new_page(), server.url)
            finger.visit()
            by_fingers(finger)
            finger.everything_is_saved()
            assert finger.problems == []
    assert len(ana.sheets) + len(finger.sheets) == 30
    assert settled(workspace, "catalogue") == ana.said() | finger.said()
    rows = [row for row in Campaign.open(workspace.location, "catalogue").ledger.rows() if row.is_vote and row.undoes is None]
    assert all(row.clicks is not None and row.seconds > 0 for row in rows)
    clicked = {(row.u, row.v): row.clicks for row in rows}
    first, second = sheets_of(2, 12)[1], sheets_of(2, 12)[0]
    assert clicked[first.u, first.v] == 1, "marked once"
    assert clicked[second.u, second.v] == 0, "left alone"


def by_keys(ana: Marker) -> None:
    """Thirteen sheets: arrows and Space, numbers, nothing, everything, a mark taken back, and what nobody can tell."""
    ana.presses("ArrowRight", "ArrowRight", "Space", "ArrowDown", "Space", "Space", "u")
    columns = int(ana.page.locator(".marks").evaluate("box => getComputedStyle(box).gridTemplateColumns.split(' ').length"))
    ana.sends("Enter", same=[1], unsure=[1 + columns])
    assert ana.page.evaluate("document.activeElement.dataset.place") == "0", "the next sheet is at hand"
    ana.presses("3", "1", "2", "5")  # three, twelve, five
    ana.sends("Enter", same=[2, 4, 11])
    ana.presses("7", "1")
    expect(ana.page.locator(".cell.typed")).to_have_count(4)  # 1, 10, 11, 12
    expect(ana.cells.first).to_have_attribute("aria-pressed", "true")  # after a moment it is 1
    ana.presses("7")
    ana.sends("Enter", same=[0])
    ana.sends("Enter", same=[])
    ana.presses("Home")
    for _ in range(12):
        ana.presses("Space", "ArrowRight")
    expect(ana.page.locator(".choice.submit")).to_contain_text("Send 12 marked")
    ana.sends("Enter", same=range(12))
    ana.presses("4")
    ana.sends("c", same=[3], rest=UNSURE)
    ana.presses("Home", "End", "Space")
    ana.sends("Enter", same=[11])
    ana.undoes()
    assert ana.marks() == ["different"] * 11 + ["same"]
    ana.presses("2")
    ana.sends("Enter", same=[1, 11])
    for number in range(2, 8):
        ana.presses(str(number))
        ana.sends("Enter", same=[number - 1])


def by_mouse(ana: Marker) -> None:
    """Six sheets: clicks, strokes across cells, and a closer look."""
    for place in (3, 7, 3):
        ana.cells.nth(place).click()
    ana.sends("click", same=[7])
    ana.drags(0, 3)
    ana.sends("click", same=[0, 1, 2, 3])
    ana.drags(0, 3)
    ana.drags(2, 1)  # takes back, as what is marked where it begins
    ana.sends("click", same=[0, 3])
    ana.cells.nth(5).click(button="right")
    closer = ana.page.locator("dialog.closer")
    ana.presses("ArrowRight")
    expect(closer.locator("h2")).to_have_text("Picture 7 of 12")
    closer.get_by_role("button", name="Cannot tell").click()
    ana.cells.nth(2).hover()
    ana.presses("z", "r", "m", "t")
    turned = closer.locator("figure").evaluate_all("all => all.map(one => one.style.getPropertyValue('--turn'))")
    assert turned == ["90deg", "180deg"], "R turns both, T the one that is looked at"
    mirrored = closer.locator("figure").evaluate_all("all => all.map(one => one.style.getPropertyValue('--mirror'))")
    assert mirrored == ["-1", "-1"]
    ana.presses("Space")
    expect(closer).to_be_hidden()
    ana.sends("click", same=[2], unsure=[6])
    ana.sends("click", same=[])
    ana.drags(0, 3)
    ana.sends("click", same=[0, 1, 2, 3])


def by_fingers(finger: Marker) -> None:
    """Eleven sheets: taps, a stroke and a long press."""
    for number in range(9):
        for place in (number % 3, 5, 5) if number % 2 else (number % 3, 5):
            finger.cells.nth(place).tap()
        finger.sees_all()
        finger.sends("tap", same=[number % 3] if number % 2 else [number % 3, 5])
    finger.touches([0, 2])
    finger.sees_all()
    finger.sends("tap", same=[0, 1, 2])
    finger.touches([1], until=finger.page.locator("dialog.closer"))
    finger.page.locator("dialog.closer").get_by_role("button", name="Cannot tell").tap()
    finger.sees_all()
    finger.sends("tap", same=[], unsure=[1])


def test_a_bad_picture_leaves_its_sheet_and_the_other_marks_stay(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start(workspace, sheets_of(10, 8))
    with serve(workspace) as server, browser.new_context(viewport=DESK) as context:
        ana = Marker(context.new_page(), server.url)
        ana.visit()
        names = ana.names()
        ana.presses("2", "5", "3")
        ana.presses("Home", "ArrowRight", "ArrowRight", "f")
        expect(ana.page.locator("#flag-items button")).to_have_count(1)
        ana.page.locator("#flag-items button").click()
        expect(ana.cells).to_have_count(7)
        assert ana.names() == names[:2] + names[3:]
        ana.presses("Backspace")  # it was not that bad
        expect(ana.cells).to_have_count(8)
        assert ana.marks() == ["different", "same", "same", "different", "same", "different", "different", "different"]
        ana.presses("z")
        ana.page.locator("dialog.closer").get_by_role("button", name="Bad image").click()
        ana.presses("Enter")
        expect(ana.cells).to_have_count(7)
        ana.sends("Enter", same=[0, 1, 3])
        ana.everything_is_saved()
        said = ana.said()
        assert settled(workspace, "catalogue").items() >= said.items()
        bad = set(names) - {name for _, name in said}
        assert len(bad) == 1
        ana.page.locator("#flag").click()
        ana.page.locator("#flag-items button").first.click()  # the anchor: nothing of the sheet is left
        ana.waits_for_another_anchor(next(iter(said))[0])
        assert not bad & set(ana.names())
        assert ana.problems == []


def test_twenty_four_fit_a_desk_and_a_phone_shows_all_of_them_first(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start(workspace, sheets_of(9, 24))
    with serve(workspace) as server:
        with browser.new_context(viewport=DESK) as context:
            ana = Marker(context.new_page(), server.url)
            ana.visit()
            expect(ana.cells).to_have_count(24)
            assert ana.page.locator(".marks").evaluate("box => box.scrollHeight <= box.clientHeight")
            used = "box => box.querySelector('.frame').offsetWidth * box.querySelector('.frame').offsetHeight * 24"
            room = "box => box.clientWidth * box.clientHeight"
            box = ana.page.locator(".marks")
            assert box.evaluate(used) > 0.55 * box.evaluate(room)
            words = " ".join(ana.page.locator(".marks .facts").all_inner_texts()).lower()
            assert "later" in words
            assert not any(verdict in words for verdict in ("same", "different", "match", "likely"))
            expect(ana.page.locator(".choice.submit")).to_contain_text("None of them")
        with browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True) as context:
            finger = Marker(context.new_page(), server.url)
            finger.visit()
            shown = finger.page.locator(".anchor .frame").bounding_box()
            assert shown is not None
            columns = finger.page.locator(".marks").evaluate("box => getComputedStyle(box).gridTemplateColumns.split(' ').length")
            assert columns == 3
            anchor = finger.anchor()
            for _ in range(6):  # each tap shows more, and nothing is sent meanwhile
                if "more" not in finger.page.locator(".choice.submit").inner_text():
                    break
                finger.page.locator(".choice.submit").tap()
                finger.page.wait_for_timeout(400)
                assert finger.anchor() == anchor
                assert finger.page.locator(".anchor .frame").bounding_box() == shown, "the first one stays in sight"
            expect(finger.page.locator(".choice.submit")).to_contain_text("None of them")
            finger.sends("tap", same=[])
            wide = finger.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= PHONE["width"]


def test_axe_finds_nothing_on_a_sheet_and_in_its_closer_look(browser: Browser, serve: Serve, workspace: Workspace) -> None:
    start(workspace, sheets_of(9, 24))
    found: dict[str, list[str]] = {}
    with serve(workspace) as server:
        for scheme, size in (("light", DESK), ("dark", PHONE)):
            with browser.new_context(color_scheme=scheme, bypass_csp=True, viewport=size) as context:  # type: ignore[arg-type]
                ana = Marker(context.new_page(), server.url)
                ana.visit()
                ana.presses("3", "4", "4", "ArrowRight", "ArrowRight", "u", "ArrowDown", "Space")
                for where in ("sheet", "closer"):
                    violations = Axe().run(ana.page).response["violations"]
                    found[f"{where} {scheme}"] = [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations]
                    ana.presses("z")
    assert {where: what for where, what in found.items() if what} == {}


# A busy disk: what is written into the browser's store takes half a second.
SLOW_STORE = """() => {
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (...given) {
        const begun = begin.apply(this, given);
        const later = (done) => begun.addEventListener('complete', () => setTimeout(done, 500));
        Object.defineProperty(begun, 'oncomplete', {set: later});
        return begun;
    };
}"""


def test_a_pack_has_sheets_too(browser: Browser, workspace: Workspace, tmp_path: Path) -> None:
    start(workspace, sheets_of(4, 6))
    file = tmp_path / "pack.html"
    packed = write_pack(workspace.location, "catalogue", 14, str(file), annotator="ana", side=64)
    assert (packed["questions"], packed["sheets"]) == (18, 3), "no sheet is cut in two"
    with browser.new_context(offline=True, viewport=DESK) as context:
        ana = Marker(context.new_page(), file.as_uri())
        ana.visit("")
        ana.presses("2", "4")
        ana.sends("Enter", same=[1, 3])
        ana.presses("ArrowRight", "f", "Enter")  # a picture that is of no use
        expect(ana.cells).to_have_count(5)
        ana.page.reload()
        ana.page.locator("#stage img").first.wait_for()
        expect(ana.cells).to_have_count(5)  # what is left of the sheet comes back
        ana.page.evaluate(SLOW_STORE)
        ana.presses("1")
        ana.sends("Enter", same=[0])
        rows = json.loads((answers := handed_in(ana.page, tmp_path)).read_text())
        assert [row["clicks"] for row in rows if "value" in row][:6] == [0, 1, 0, 1, 0, 0]
        assert import_answers(workspace.location, "catalogue", str(answers))["rejected"] == []
        assert settled(workspace, "catalogue").items() >= ana.said().items()
        assert ana.problems == []


def test_the_progress_page_says_how_good_the_groups_are_and_what_answers_take(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    method = Method("in-rows", "cluster", "Sheets about one item after the other.", build, needs=("vectors",), measures=True)
    folder = CampaignFolder(workspace, "groups")
    folder.create(
        replace(SETTINGS, kind="cluster", method="in-rows", items=48), Goal(1000, "people", noun="butterfly/butterflies")
    )
    ask(folder, sheets_of(4, 12))
    campaign = Campaign(folder)
    campaign.tell([Response(q.id, 0.0, "ana", seconds=1.0, clicks=0) for q in sheets_of(2, 12)])
    grouped = {"answers": 24, "questions": 0, "inferred": 0, "clusters": 12, "entropy": 2.0, "state": "waiting", "glances": 2}
    said = {"right": 0.914, "right_low": 0.862, "right_high": 0.951, "random_pages": 14, "least_sure": [3, 1], "hour": 0.021}
    with METHODS.having("cluster/in-rows", method), serve(workspace) as server, browser.new_context(bypass_csp=True) as context:
        folder.append_row(GROUPINGS, grouped | {"random_pages": 1})
        page = context.new_page()
        page.goto(f"{server.url}/progress?campaign=groups")
        quality = page.locator("#quality")
        expect(quality).to_contain_text("Measured on 1 random page")
        expect(quality).to_contain_text("Too few of them are answered for an honest interval")
        folder.append_row(GROUPINGS, grouped | said | {"answers": 36})
        page.reload()
        expect(quality).to_contain_text("86.2 % to 95.1 %")
        expect(quality).to_contain_text("One more hour of a person should bring about 2.1 % of the items to their group")
        expect(quality.locator("img")).to_have_count(2)
        expect(page.locator("#figures")).to_contain_text("for a page, from 2 answers")
        assert Axe().run(page).response["violations"] == []

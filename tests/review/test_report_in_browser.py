"""Reports in a real browser: as wide as the window, pictures that can be judged, an interval that is cut says so."""

import os
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from benchmarks.butterflies import photograph
from cccount_dist.campaign.effort import Effort, PersonsTotal
from cccount_dist.report.countpage import report_page
from cccount_dist.report.facts import Estimate, JudgedPair, Thumbnail
from cccount_dist.report.groupfacts import GroupingFacts, NextPair, Refresh, Sheet
from cccount_dist.report.grouppage import groups_page
from cccount_dist.report.thumbnails import thumbnail
from storage.settings import Goal
from tests.cccount_dist.report.samples import COUNTED, counted

NAME = "expedition/north-eastern-valley/station-{}/2026-06-03-morning/card-B/IMG_{:04}.JPG"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Thumbnail]:
    folder = tmp_path_factory.mktemp("photographs")
    found = []
    for number in range(8):
        path = folder / f"{number}.jpg"
        photograph(number % 3, number).save(path)
        found.append(thumbnail(NAME.format(number, number), str(path), side=192))
    return found


def grouped(pictures: list[Thumbnail]) -> GroupingFacts:
    one, two = pictures[:2]
    return GroupingFacts(
        campaign="groups", settings=COUNTED.settings, goal=Goal(600, "people", noun="individual"), collection=COUNTED.collection,
        course=[Refresh(20 * step, 40 - step, 3.0 - step / 20, None, None, 25.0) for step in range(1, 12)],
        sizes={1: 4, 8: 3}, sheets=[Sheet(number, 8, pictures) for number in range(3)],
        effort=Effort(220, 0, 30, 0, (PersonsTotal("ana", 200, 0, 4), PersonsTotal("ben", 20))), unsure=2, contradictions=1,
        against=[JudgedPair(3, 1.0, one, two)] * 3, against_count=3, pending=16, next=[NextPair("merge", one, two)] * 5,
        warning="after 220 answers the groups still change with every tenth one", version="0", written_at=COUNTED.written_at,
    )  # fmt: skip


@pytest.mark.parametrize("width", [1280, 360])
def test_a_cluster_report_is_not_2202_pixels_wide(
    browser: Browser, pictures: list[Thumbnail], tmp_path: Path, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(groups_page(grouped(pictures)), encoding="utf-8")
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == width
        shown = page.locator(".sheet img").evaluate_all("images => images.map(image => image.getBoundingClientRect().width)")
        assert len(shown) == 24
        assert min(shown) > 120, "thumbnails of 64 pixels cannot be judged"
        assert "Take care. After 220 answers the groups still change" in page.locator("header").inner_text().replace("\xa0", " ")
        assert page.locator("h1").inner_text().startswith("29 groups")
        assert "As a count: about 25 individuals." in page.locator("header").inner_text()
        if folder := os.environ.get("CCCOUNT_SHOTS"):
            page.screenshot(path=f"{folder}/cluster-{width}.png", full_page=True)


def test_a_clipped_interval_has_a_mark_and_numbers_are_whole(browser: Browser, tmp_path: Path) -> None:
    answers = np.array([10, 40, 90, 160, 250])
    course = [Estimate(int(n), 25 + 90 / n, 25 - 200 / n, 25 + 9000 / n**1.3, 12.0) for n in answers]
    pages = {True: report_page(counted(estimates=course, goal={"noun": "individual"}, collection={"truth": None})),
             False: report_page(counted(estimates=counted().estimates[1:]))}  # fmt: skip
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        page = context.new_page()
        for cut, content in pages.items():
            file = tmp_path / f"{cut}.html"
            file.write_text(content, encoding="utf-8")
            page.goto(file.as_uri())
            assert ("▲ ▼: the interval goes on beyond the picture" in page.locator("main").inner_text()) == cut
            assert page.evaluate("document.documentElement.scrollWidth") == 1280
            if (folder := os.environ.get("CCCOUNT_SHOTS")) and cut:
                page.screenshot(path=f"{folder}/count-1280.png", full_page=True)
        assert "About 10 different ones" in page.locator("h1").inner_text()

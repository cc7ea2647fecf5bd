"""Contradictions are opened on the progress page and decided there: by a lead, above what people answered, and taken back."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from cccount_dist.campaign.campaign import Response
from cccount_dist.individuals.census import Individuals
from cccount_dist.review.annotators import Annotators
from cccount_dist.sampling.types import Question
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.settings import Goal
from storage.workspace import Workspace
from tests.review.campaigns import SETTINGS, ask, make_folder, plain_desk
from tests.review.conftest import Serve
from tests.review.test_accessibility import complaints

TRIANGLE = [Question(0, 0, 1), Question(1, 1, 2), Question(2, 0, 2)]


@pytest.fixture
def disputed(workspace: Workspace) -> CampaignFolder:
    """On a pair two people differ, and the answers about a triangle contradict each other."""
    folder = CampaignFolder(workspace, "census")
    folder.create(SETTINGS, Goal(100, "people"))
    ask(folder, [*TRIANGLE, Question(3, 5, 6)])
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0), Response(1, 1.0), Response(2, 0.0), Response(3, 1.0)])
    desk.answer("ben", [Response(3, 0.0)])
    return folder


def test_a_decision_ends_a_contradiction_and_its_undo_brings_it_back(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, TRIANGLE)
    desk, individuals = plain_desk(folder), Individuals(folder)
    desk.answer("ana", [Response(0, 1.0), Response(1, 1.0), Response(2, 0.0)])
    (found,) = desk.standing().contradictions
    assert found.said == [("ana", 0.0)]
    assert sorted(found.against) == [(0, 1, 1.0, "ana"), (1, 2, 1.0, "ana")]
    told = individuals.decide(0, 2, True, annotator="lea")
    assert plain_desk(folder).standing().contradictions == []
    assert individuals.campaign.status().contradictions == 0
    assert plain_desk(folder).take("ben") == [], "nobody is asked about it any more"
    individuals.undo(told, annotator="lea")
    assert len(plain_desk(folder).standing().contradictions) == 1
    with pytest.raises(InputError, match="two pictures are decided about"):
        individuals.decide(3, 3, True, annotator="lea")


def test_people_who_differ_are_not_asked_again_after_a_decision(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [Question(0, 0, 1)])
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0)])
    desk.answer("ben", [Response(0, 0.0)])
    individuals = Individuals(folder)
    individuals.decide(0, 1, False, annotator="lea")
    later = plain_desk(folder)
    assert (later.standing().contradictions, later.take("cleo")) == ([], [])
    assert individuals.campaign.ledger.constraints.known(0, 1) == 0.0


def test_roles_are_kept_with_tokens_and_old_files_know_none(tmp_path: Path) -> None:
    annotators = Annotators(make_folder(tmp_path, []).workspace)
    annotators.add("ana")
    annotators.add("lea", role="lead")
    assert annotators.roles() == {"ana": "annotator", "lea": "lead"}
    assert '"role"' not in (tmp_path / "annotators.json").read_text().split('"lea"')[0]
    annotators.set_role("ana", "lead")
    assert annotators.is_lead("ana")
    with pytest.raises(InputError, match="annotator or lead"):
        annotators.set_role("ana", "boss")
    with pytest.raises(InputError, match="no annotator 'eve'"):
        annotators.set_role("eve", "lead")


def signed_in(page: Page, url: str, token: str) -> None:
    assert page.request.post(f"{url}/api/login", data={"token": token}).ok
    page.goto(f"{url}/progress?campaign=census")


def test_a_lead_opens_decides_and_takes_back_and_nobody_else_can(
    browser: Browser, serve: Serve, disputed: CampaignFolder
) -> None:
    annotators = Annotators(disputed.workspace)
    lea, ana = annotators.add("lea", role="lead"), annotators.add("ana")
    with serve(disputed.workspace) as server:
        with browser.new_context(bypass_csp=True, viewport={"width": 390, "height": 800}) as context:
            page = context.new_page()
            signed_in(page, server.url, lea)
            disputes = page.locator(".disputes > li")
            expect(disputes).to_have_count(2)
            disputes.filter(has_text="1 same · 1 different").locator("summary").click()
            expect(disputes.locator(".said li:visible")).to_have_text(["ana said same", "ben said different"])
            assert complaints(page) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.get_by_role("button", name="Different: items 5 and 6").click()
            expect(page.locator(".decided")).to_contain_text("You decided: items 5 and 6 are different.")
            expect(disputes).to_have_count(1)
            page.get_by_role("button", name="Undo").click()
            expect(disputes).to_have_count(2)
            disputes.filter(has_text="others imply the opposite").locator("summary").click()
            expect(disputes.locator(".implied:visible")).to_have_count(2)
            page.get_by_role("button", name="Different: items 0 and 2").click()
            page.get_by_label("Who said what about items 1 and 2").click()  # now one of the two "same" must be wrong
            page.get_by_role("button", name="Different: items 1 and 2").click()
            expect(disputes).to_have_count(1)
        with browser.new_context() as context:
            page = context.new_page()
            signed_in(page, server.url, ana)
            expect(page.locator("#contradictions")).to_contain_text("A lead can decide them.")
            page.locator(".disputes summary").click()
            expect(page.locator(".decide")).to_have_count(0)
            body = {"id": "abcdefgh", "u": 5, "v": 6, "same": True}
            assert page.request.post(f"{server.url}/api/census/decisions", data=body).status == 403
    rows = [row for row in Individuals(disputed).campaign.ledger.rows() if row.source == "correction: decision"]
    assert [(row.u, row.v, row.value, row.annotator) for row in rows] == [(0, 2, 0.0, "lea"), (1, 2, 0.0, "lea")]

"""Photographs that moved: nobody answers about what cannot be seen, `verify` says so, and `relocate` finds them again."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from playwright.sync_api import Browser, Route, expect

from benchmarks.gallery import start_campaign
from cccount_dist.campaign.campaign import Campaign
from cccount_dist.sampling.types import Question
from flows.stages.relocate import relocate
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import initialise, verify
from tests.flows.conftest import cccount
from tests.review.conftest import Serve
from tests.review.person import PATIENCE, Person


def test_same_and_different_cannot_be_pressed_for_a_picture_that_is_not_there(
    browser: Browser, serve: Serve, workspace: Workspace, tmp_path: Path
) -> None:
    table = workspace.collection().table
    uris = table.column("uri").to_pylist()
    place = table.column_names.index("uri")
    pairs = [Question(number, 2 * number, 2 * number + 1) for number in range(4)]
    uris[1] = str(tmp_path / "moved-away.jpg")
    workspace.update_collection(table.set_column(place, table.schema.field("uri"), pa.array(uris, pa.string())))
    start_campaign(workspace, "census", pairs)
    with serve(workspace) as server, browser.new_context() as context:
        person = Person(context.new_page(), server.url)
        person.page.goto(server.url)
        expect(person.page.locator("#unseen")).to_contain_text("Answer unsure, or flag it.", timeout=PATIENCE)
        for name in ("same", "different"):
            expect(person.page.locator(f"#choices .{name}")).to_be_disabled()
        expect(person.page.locator("#choices .unsure")).to_be_enabled()
        person.page.keyboard.press("s")
        person.page.keyboard.press("d")
        expect(person.page.locator("#unseen")).to_be_visible()
        refused = context.request.post(
            f"{server.url}/api/census/answers",
            data=[{"id": "aaaaaaaaaaaaaaaa", "question_id": 0, "value": 1.0, "seconds": 1.0}],
            headers={"Origin": server.url},
        ).json()
        assert "cannot be shown: answer unsure, or flag it" in refused["rejected"][0]["reason"]
        person.page.keyboard.press("u")
        expect(person.page.locator("#unseen")).to_be_hidden(timeout=PATIENCE)
        expect(person.page.locator("#choices .same")).to_be_enabled()
        person.everything_is_saved()
    ledger = Campaign.open(workspace.location, "census").ledger
    assert [row.value for row in ledger.answers(0)] == [None]


def test_same_and_different_cannot_be_pressed_before_both_pictures_are_there(
    browser: Browser, serve: Serve, workspace: Workspace
) -> None:
    start_campaign(workspace, "census", [Question(number, 2 * number, 2 * number + 1) for number in range(2)])
    held: list[Route] = []
    with serve(workspace) as server, browser.new_context() as context:
        context.route("**/images/1?*", lambda route: held.append(route))  # a slow network: the picture on the right does not come
        person = Person(context.new_page(), server.url)
        person.page.goto(server.url)
        expect(person.page.locator("#choices .same")).to_be_disabled(timeout=PATIENCE)
        expect(person.page.locator("#choices .unsure")).to_be_enabled()
        before = person.page.locator("#stage .name").all_inner_texts()
        person.page.keyboard.press("s")
        person.page.keyboard.press("d")
        assert person.page.locator("#stage .name").all_inner_texts() == before, "nobody saw what they were asked about"
        for route in held:
            route.continue_()
        expect(person.page.locator("#choices .same")).to_be_enabled(timeout=PATIENCE)
        assert person.press("s") == tuple(before)
        person.everything_is_saved()
    rows = Campaign.open(workspace.location, "census").ledger.rows()
    assert [(row.question_id, row.value) for row in rows] == [(0, 1.0)]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ("a/1.png", "a/2.png", "b/1.png"):
        file = tmp_path / "photos" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (16, 24, 3), dtype=np.uint8)).save(file)
    return tmp_path / "photos"


def test_verify_knows_that_photographs_moved_and_relocate_finds_them(photos: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "ws")
    initialise(place, images=str(photos))
    assert verify(place)["ok"]
    photos.rename(tmp_path / "archive")
    found = verify(place)["problems"]
    assert [Path(one["path"]).name for one in found] == ["a", "b"]
    assert found[0]["problem"] == "2 pictures are missing here, or shorter than before; the first: 1.png"
    assert f"`cccount relocate {place} --images DIR`" in found[0]["repair"]
    before = Workspace.open(place).collection()
    dry = cccount("relocate", place, tmp_path / "archive", "--dry-run", "--json")
    assert dry.json == {"workspace": place, "moved": 3, "missing": [], "dry_run": True}
    assert Workspace.open(place).collection().table.equals(before.table)
    (tmp_path / "archive/b/1.png").unlink()
    shown = cccount("relocate", place, "--images", tmp_path / "archive")
    assert (shown.code, shown.out) == (0, "2 pictures are taken from there now.\nStill missing: b/1.png.\n")
    after = Workspace.open(place).collection()
    assert after.ids == before.ids
    assert after.uri(0) == str(tmp_path / "archive/a/1.png")
    (problem,) = verify(place)["problems"]
    assert problem["problem"].startswith("a picture is missing here")


def test_relocate_finds_the_one_card_of_several_that_moved(photos: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "ws")
    initialise(place, images=str(photos))
    second = Path(shutil.copytree(photos / "a", tmp_path / "second" / "DCIM"))
    assert cccount("extend", place, "--images", tmp_path / "second", "--prefix", "June/").code == 0
    second.parent.rename(tmp_path / "card two")
    shown = cccount("relocate", place, "--images", tmp_path / "card two")
    assert (shown.code, shown.out) == (0, "2 pictures are taken from there now.\n"), shown.err
    after = Workspace.open(place).collection()
    assert after.uri(after.ids.index("June/DCIM/1.png")) == str(tmp_path / "card two/DCIM/1.png")
    assert verify(place)["ok"]


def test_relocate_takes_no_other_pictures(photos: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "ws")
    initialise(place, images=str(photos))
    shutil.move(photos, tmp_path / "archive")
    before = Workspace.open(place).collection().table
    with pytest.raises(InputError, match="none of the 3 missing pictures is in"):
        relocate(place, str(tmp_path))
    (tmp_path / "archive/a/2.png").write_text("a letter")
    with pytest.raises(InputError, match=r"cannot be the picture of a/2\.png"):
        relocate(place, str(tmp_path / "archive"))
    assert Workspace.open(place).collection().table.equals(before)
    assert cccount("relocate", place).line.endswith("cccount relocate WORKSPACE --images DIR")

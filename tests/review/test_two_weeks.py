"""A campaign of two weeks in small, as a new user runs it: commands, a real browser, three people, and what comes between.

Photographs with real names, EXIF times, a broken file and an exact copy; answers at the pace of people (each of three after 0.5
to 2 s; in the long form, `make weeks`, after 1 to 4 s and four times as many), a pause, an undo, a closed laptop; a pack that
comes back twice, a file with semicolons, a second card whose names repeat, another encoder and k, a server that is started again,
a folder that moves. At the end every answer is on its pair, nobody was asked a pair twice, the result is that of the same answers
read in one go, and the report says how long people waited.
"""

import csv
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from benchmarks.butterflies import photograph
from cccount_dist import Campaign
from storage.campaigns import CampaignFolder
from storage.handouts import read_waits
from storage.workspace import Workspace
from tests.flows.conftest import cccount, environment
from tests.review.person import PATIENCE, Person
from tests.review.test_pack import handed_in
from tests.servers import free_port

INDIVIDUALS = 10
LONG = os.environ.get("CCCOUNT_TWO_WEEKS") == "long"
THINKING = (1.0, 4.0) if LONG else (0.5, 2.0)  # seconds that somebody looks at a pair
TIMES = 4 if LONG else 1  # as many answers
WHO = ("Ana", "Bö", "Chloé")
_TAKEN = 0x9003  # DateTimeOriginal


def write_photographs(folder: Path, takes: range) -> dict[str, int]:
    """Photographs as they come from a card; return the individual of each by the end of its name."""
    folder.mkdir(parents=True)
    truth, begin = {}, datetime(2026, 6, 3, 6, 12, tzinfo=UTC)
    for take in takes:
        for individual in range(INDIVIDUALS):
            number = take * INDIVIDUALS + individual
            name = f"IMG_{1000 + number % 30:04d}.JPG" if individual % 3 else f"Große Wiese {number % 30} (2).jpeg"
            exif = Image.Exif()
            exif.get_ifd(0x8769)[_TAKEN] = (begin + timedelta(hours=7 * number)).strftime("%Y:%m:%d %H:%M:%S")
            photograph(individual, take, size=(160, 120)).save(folder / name, "JPEG", exif=exif)
            truth[name] = individual
    return truth


@contextmanager
def reviewed(workspace: Path, port: int) -> Iterator[str]:
    """`cccount review` for people with tokens, at the same address every time."""
    command = [sys.executable, "-m", "flows", "review", str(workspace), "--host", "0.0.0.0", "--port", str(port), "--json"]
    process = subprocess.Popen([*command, "--gold", "0", "--repeats", "0"], stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["login"]
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        with process.stdout:
            assert process.wait(30) == 130


class Team:
    """Three people, each in a browser of their own, who know the butterflies."""

    def __init__(self, browser: Browser, url: str, tokens: dict[str, str], truth: dict[str, int]) -> None:
        self._browser, self._url, self._tokens, self._truth = browser, url, tokens, truth
        self._chance, self._thought = random.Random(5), random.Random(6)
        self.people: dict[str, Person] = {}
        self.said: Counter[tuple[str, frozenset[str]]] = Counter()
        self.waits: list[float] = []

    def comes(self, name: str) -> None:
        """Somebody opens the page and signs in."""
        person = self.people[name] = Person(self._browser.new_context().new_page(), self._url)
        person.visit()
        person.page.locator("#token").fill(self._tokens[name])
        person.page.keyboard.press("Enter")
        person.page.locator("#stage img").first.wait_for()

    def goes(self, name: str) -> None:
        """Somebody closes the laptop."""
        person = self.people.pop(name)
        person.everything_is_saved()
        assert person.foreign == []
        person.page.context.close()

    def answer(self, count: int) -> None:
        """Everybody answers so many pairs, in turn: while one looks at theirs, so do the others."""
        for _ in range(count * TIMES):
            for name, person in self.people.items():
                time.sleep(self._thought.uniform(*THINKING) / len(self.people))
                self._look(name, person.page)

    def _look(self, name: str, page: Page) -> None:
        page.locator("#stage:not([data-loading=true])").wait_for()
        shown = page.locator("#stage .name").all_inner_texts()
        same = self._who(shown[0]) == self._who(shown[1])
        began = time.monotonic()
        page.keyboard.press("s" if same else "d")
        self.said[name, frozenset(shown)] += 1
        if self._chance.random() < 0.1:  # a slip, and it is put right
            page.keyboard.press("Backspace")
            page.wait_for_function(_IS, arg=shown, timeout=PATIENCE)
            page.keyboard.press("s" if same else "d")
        page.wait_for_function(_IS_NOT, arg=shown, timeout=PATIENCE)
        self.waits.append(time.monotonic() - began)

    def _who(self, name: str) -> int:
        return self._truth[name]


_NAMES = "JSON.stringify([...document.querySelectorAll('#stage .name')].map(e => e.textContent))"
_IS = f"names => {_NAMES} === JSON.stringify(names)"
_IS_NOT = f"names => document.querySelector('#stage .name') && {_NAMES} !== JSON.stringify(names)"


def ran(*arguments: str | Path) -> dict[str, object]:
    shown = cccount(*arguments, "--json")
    assert shown.code == 0, shown.err
    return dict(shown.json)


@pytest.mark.timeout(1800 if LONG else 900)
def test_a_campaign_of_two_weeks(browser: Browser, tmp_path: Path) -> None:
    photos, workspace, port = tmp_path / "Fotos 2026", tmp_path / "census", free_port()
    truth = write_photographs(photos / "card", range(3))
    (photos / "card" / "IMG_9999.JPG").write_bytes(b"\xff\xd8 a broken file")
    (photos / "notes.txt").write_text("rain on the third day")
    some = sorted(truth)[0]
    shutil.copy(photos / "card" / some, photos / "card" / f"Kopie von {some}")
    truth[f"Kopie von {some}"] = truth[some]
    truth = {f"card/{name}": individual for name, individual in truth.items()}

    made = ran("init", workspace, "--images", photos, "--noun", "butterfly/butterflies")
    assert (made["items"], made["skipped"]) == (32, {".txt": 1})
    assert ran("embed", workspace, "--encoder", "hog")["failed"]
    ran("neighbors", workspace, "--k", "10")
    ran("count", workspace, "--budget", "400")
    tokens = {name: str(ran("annotators", "add", workspace, name)["token"]) for name in WHO}

    # The first days: three people, one of whom closes the laptop.
    with reviewed(workspace, port) as url:
        team = Team(browser, url, tokens, truth)
        for name in WHO:
            team.comes(name)
        expect(team.people["Ana"].page.locator("#question")).to_contain_text("butterfly")
        team.answer(4)
        team.goes("Chloé")
        team.answer(2)
        time.sleep(5 * max(THINKING))  # coffee
        team.answer(1)

        # Somebody takes a pack along, hands it in, and hands the same file in again.
        pack = tmp_path / "pack.html"
        assert ran("pack", workspace, "--count", "6", "--file", pack, "--annotator", "Chloé")["questions"] == 6
        with browser.new_context(offline=True) as context:
            person = Person(context.new_page(), pack.as_uri())
            person.visit("")
            for _ in range(6):
                one, other = person.sees()
                person.page.keyboard.press("s" if truth[one] == truth[other] else "d")
                team.said["Chloé", frozenset((one, other))] += 1
                person.page.wait_for_timeout(300)
            brought = handed_in(person.page, tmp_path)
        assert ran("answers", "import", workspace, "--file", brought)["recorded"] == 6
        assert ran("answers", "import", workspace, "--file", brought)["recorded"] == 0
        team.answer(2)
        for name in tuple(team.people):
            team.goes(name)

    # A spreadsheet: exported, filled in by a program that writes semicolons, imported without saying whose it is.
    sheet = tmp_path / "Fragen.csv"
    ran("answers", "export", workspace, "--file", sheet)
    with sheet.open(newline="", encoding="utf-8") as source:
        rows = [row for row in csv.DictReader(source) if not row["value"]][:5]
    for row in rows:
        row["value"] = "same" if truth[row["id_u"]] == truth[row["id_v"]] else "different"
        row["annotator"] = "Dörte"
    with sheet.open("w", newline="", encoding="utf-8-sig") as target:
        writer = csv.DictWriter(target, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert ran("answers", "import", workspace, "--file", sheet)["recorded"] == 5

    # A second card, whose names repeat; another encoder, and another k.
    second = write_photographs(tmp_path / "second" / "card", range(3, 6))
    more = ran("extend", workspace, "--images", tmp_path / "second", "--prefix", "June/", "--yes")
    assert more["added"] == len(second)
    truth |= {f"June/card/{name}": individual for name, individual in second.items()}
    assert "cccount embed" in cccount("status", workspace).out
    ran("embed", workspace, "--encoder", "pixels", "--yes")
    ran("neighbors", workspace, "--k", "12", "--yes")
    before = str(ran("status", workspace, "--campaign", "count")["campaigns"])
    grown = ran("advance", workspace, "--campaign", "count")
    assert grown["estimate"] is not None, f"after half of the photographs came there is no estimate any more: {before}"

    # The photographs move; the server is started again, and everybody goes on.
    moved = Path(shutil.move(photos, tmp_path / "archive"))
    assert not cccount("verify", workspace, "--json").json["ok"]
    ran("relocate", workspace, "--images", moved)
    assert cccount("verify", workspace, "--json").json["ok"], cccount("verify", workspace).out
    with reviewed(workspace, port) as url:
        for name in WHO:
            team.comes(name)
        team.answer(4)
        for name in WHO:
            team.goes(name)

    # Every answer is on its pair, and right; nobody was asked the same pair twice.
    ran("advance", workspace, "--campaign", "count")
    campaign = Campaign.open(str(workspace), "count")
    ids = Workspace.open(workspace).collection().ids
    given = [row for row in campaign.ledger.rows() if row.is_vote and row.annotator in WHO]
    found = Counter((row.annotator, frozenset((ids[row.u], ids[row.v]))) for row in given)
    assert found == team.said
    assert set(found.values()) == {1}
    assert all(row.value == float(truth[ids[row.u]] == truth[ids[row.v]]) for row in given)
    # Those of the file too, each once. The new epoch may say them again, as it does everybody's: those rows are no votes.
    filled_in = [row for row in campaign.ledger.rows() if row.is_vote and row.annotator == "Dörte"]
    said = sorted((ids[row.u], ids[row.v], "same" if row.value else "different") for row in filled_in)
    assert said == sorted((row["id_u"], row["id_v"], row["value"]) for row in rows)
    assert len(said) == 5
    assert "butterflies" in cccount("status", workspace).out
    assert cccount("verify", workspace, "--json").json["ok"]

    # The result is that of the same answers, read in one go by a fresh process.
    result = ran("advance", workspace, "--campaign", "count")
    again = Path(shutil.copytree(workspace, tmp_path / "again"))
    shutil.rmtree(again / "campaigns/count/snapshot")
    read = ran("advance", again, "--campaign", "count")
    assert {**read, "report": None} == {**result, "report": None}
    report = Path(str(ran("report", workspace, "--campaign", "count")["files"][0])).read_text(encoding="utf-8")  # type: ignore[index]
    waited = read_waits(CampaignFolder(Workspace.open(workspace), "count").handouts_path)
    assert ("Somebody at the page had nothing to answer" in report) == bool(waited)
    assert sorted(team.waits)[len(team.waits) * 9 // 10] < 2.0, f"people waited: {sorted(team.waits)[-9:]}"

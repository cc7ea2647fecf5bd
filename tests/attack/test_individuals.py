"""The page of individuals against strangers, other sites, floods, markup, and annotators who say the same again and again."""

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import httpx
import pytest

from cccount_dist.individuals.census import Individuals
from cccount_dist.review import pace
from cccount_dist.review.annotators import Annotators
from storage.individuals import read_names
from storage.nameentries import NAME, NAMES, Entry, now
from storage.settings import Goal
from storage.stamp import stamped
from storage.workspace import Workspace
from tests.attack.test_requests import HOSTILE, JSON
from tests.individuals.made import add_campaign, make_census
from tests.review.conftest import Serve

PATHS = ("/api/individuals", "/api/groups/individuals", "/api/groups/individuals/1")
HERE = "/api/groups/individuals"


@pytest.fixture
def individuals(gallery: Workspace) -> Individuals:
    return add_campaign(gallery, "groups", [item // 8 for item in range(48)])


@pytest.fixture
def client(individuals: Individuals, serve: Serve) -> Iterator[httpx.Client]:
    token = Annotators(individuals.workspace).add("ana")
    with serve(individuals.workspace, local=None) as server, httpx.Client(base_url=server.url, timeout=60.0) as found:
        found.post("/api/login", json={"token": token}).raise_for_status()
        yield found


def said(action: str, number: int = 0, **more: object) -> dict[str, object]:
    return {"id": f"{action}-{number:08d}", "action": action, **more}


def test_strangers_and_other_sites_get_nothing_and_change_nothing(client: httpx.Client, individuals: Individuals) -> None:
    body = said("name", individual=1, text="Luna")
    for path in PATHS:
        assert httpx.get(f"{client.base_url}{path}", timeout=60.0).status_code == 401
        assert client.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert client.get(path).status_code == 200
    assert httpx.post(f"{client.base_url}{HERE}", json=body, timeout=60.0).status_code == 401
    assert client.post(HERE, json=body, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.post(HERE, content=json.dumps(body), headers={"Content-Type": "text/plain"}).status_code == 415
    assert client.post(HERE, content=b" " * 999_999, headers=JSON).status_code == 413
    assert read_names(individuals.workspace) == []


def test_hostile_corrections_are_refused_and_never_answered_with_a_crash(
    client: httpx.Client, individuals: Individuals, caplog: pytest.LogCaptureFixture
) -> None:
    long, turned = "x" * 1001, "a\u202eb"
    bodies = [text.encode() for text in HOSTILE]
    cases: list[dict[str, object]] = [
        {"individual": 2**53}, {"individual": -1}, {"individual": 1, "text": long}, {"individual": 1, "text": turned},
        {"individual": 1, "others": [2**53] * 5000}, {"individual": 1, "others": list(range(5001))}, {"pictures": [2**53]},
        {"individual": 1, "pictures": [2**53, 0]}, {"undoes": "nothing-1"}, {"individual": 1, "annotator": "ben"}, {},
    ]  # fmt: skip
    for number, more in enumerate(cases):
        actions = ["merge", "split", "move", "no-animal", "undo", "nothing"]
        actions += ["name", "note"] if "text" in more else []  # without one they take a name away, which is no attack
        bodies += [json.dumps(said(action, number, **more)).encode() for action in actions]
    found = {body[:90]: client.post(HERE, content=body, headers=JSON).status_code for body in bodies}
    assert set(found.values()) <= {400, 422}, found
    assert "Traceback" not in caplog.text
    for name in ("%2e%2e", "a%00b", "x" * 65, "nobody"):
        assert client.get(f"/api/{name}/individuals").status_code in (404, 422)
    assert individuals.campaign.ledger.rows() == []


def test_markup_in_a_name_goes_out_as_the_text_that_it_is(client: httpx.Client) -> None:
    markup = "<img src=x onerror=alert(1)>"
    assert client.post(HERE, json=said("name", individual=1, text=markup)).status_code == 200
    told = client.get(HERE)
    assert told.json()["individuals"][0]["name"] == markup
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
    page = client.get("/individuals")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert markup not in page.text


def test_who_says_the_same_again_says_nothing_new_and_a_flood_is_held_up(
    client: httpx.Client, individuals: Individuals, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = []
    monkeypatch.setattr(pace, "CHANGES_AT_ONCE", 10)  # of 240, with 60 a minute: a busy machine does not send more than that
    monkeypatch.setattr(pace, "CHANGES_A_MINUTE", 1)
    for number in range(10):
        codes.append(client.post(HERE, json=said("confirm", number, individual=1)).status_code)
        codes.append(client.post(HERE, json=said("note", number, individual=1, text="torn ear")).status_code)
    assert codes[:2] == [200, 200]
    assert codes[-1] == 429
    assert len(individuals.campaign.ledger.rows()) == 7, "one confirmation of eight pictures"
    assert len(read_names(individuals.workspace)) == 1


def test_where_labels_answer_nobody_corrects_on_the_page(client: httpx.Client, individuals: Individuals) -> None:
    individuals.folder.set_goal(Goal(10_000, "labels"))
    refused = client.post(HERE, json=said("merge", individual=1, others=[2]))
    assert (refused.status_code, "labels answer" in refused.json()["detail"]) == (422, True)
    assert client.get(HERE).status_code == 200
    assert individuals.campaign.ledger.rows() == []


def test_what_one_person_took_back_or_gave_is_not_another_ones_to_undo(client: httpx.Client, individuals: Individuals) -> None:
    theirs = individuals.merge(1, [2], annotator="ben")
    name = individuals.name(3, "Luna", annotator="ben")
    for number, told in enumerate((theirs, name)):
        assert client.post(HERE, json=said("undo", number, undoes=told)).status_code == 422
    assert len(individuals.census().individuals) == 5


def test_a_journal_with_3000_names_is_read_once_and_a_name_more_costs_nothing(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    for number in range(3000):
        key = f"{NAMES}/{number:06d}.json"
        entry = Entry(f"e{number}", 1, NAME, f"n{number}", "ana", now())
        individuals.workspace.objects.create(key, stamped(key, json.dumps(asdict(entry)).encode()))
    assert individuals.census().find(1).name == "n2999"
    began = time.process_time()
    for number in range(5):
        individuals.note(1, f"note {number}", annotator="ana")
    again = time.process_time() - began
    began = time.process_time()
    assert len(read_names(individuals.workspace)) == 3005
    assert again < 5 * (time.process_time() - began), "each note reads the new entries, and not all of them"

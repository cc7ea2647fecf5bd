"""What one annotator posts: any body for every route that writes, and the one refusal of whoever is too fast."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.review import pace
from storage.workspace import Workspace
from tests.attack.test_text_readers import JSON
from tests.flows.calls import verify
from tests.individuals.made import add_campaign
from tests.review.campaigns import make_folder, pairs
from tests.review.conftest import Serve

QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
ROUTES: dict[str, Any] = {  # every route on which a campaign is written, with a body that it takes
    "groups/individuals": {"id": "correct-01", "action": "merge", "individual": 1, "others": [2]},
    "c/answers": [{"id": "answer-0001", "question_id": 0, "value": 1.0}],
    "c/undo": {"id": "undo-00001", "answer_id": "answer-0001"},
    "c/flag": {"id": "flag-00001", "item": 3, "reason": "dark"},
    "c/decisions": {"id": "decide-001", "u": 0, "v": 1, "same": True},
    "c/decisions/undo": {"id": "decide-002", "undoes": "decide-001"},
}
ACTIONS = ["name", "note", "merge", "split", "move", "confirm", "no-animal", "undo", "nothing"]
IDS = st.integers(0, 9).map(lambda number: f"posted-{number:04d}")
NUMBERS = st.integers(0, 5) | st.integers(-1, 21) | st.sampled_from([2**53, 2**63, 0.5, "0", None])
FIELDS: dict[str, st.SearchStrategy[object]] = {
    "id": IDS | JSON, "action": st.sampled_from(ACTIONS), "individual": NUMBERS, "others": st.lists(NUMBERS, max_size=4),
    "pictures": st.lists(NUMBERS, max_size=4), "text": st.text(max_size=12) | JSON, "undoes": IDS | JSON, "u": NUMBERS,
    "v": NUMBERS, "same": st.booleans() | JSON, "question_id": NUMBERS, "value": NUMBERS, "seconds": NUMBERS | st.floats(),
    "answer_id": IDS | JSON, "item": NUMBERS, "reason": st.text(max_size=12) | JSON, "clicks": NUMBERS,
}  # fmt: skip


def bodies_of(route: str) -> st.SearchStrategy[object]:
    """The body of this route with other values in some of its fields, or what is no such body at all."""
    whole = ROUTES[route]
    plain: dict[str, object] = whole[0] if isinstance(whole, list) else whole
    own = [*plain, *(("pictures", "text", "undoes") if "action" in plain else ())]
    others = st.fixed_dictionaries({"id": IDS}, optional={name: FIELDS[name] for name in own if name != "id"})
    one = others.map(lambda more: {**plain, **more})
    return st.lists(one, max_size=3) | JSON if isinstance(whole, list) else one | JSON


@pytest.fixture
def asked(tmp_path: Path) -> Workspace:
    """A campaign with questions, and one with groups."""
    workspace = make_folder(tmp_path / "ws", pairs(6), items=20).workspace
    add_campaign(workspace, "groups", [item // 4 for item in range(20)])
    return workspace


def post(client: httpx.Client, route: str, body: object) -> httpx.Response:
    data = json.dumps(body).encode(errors="surrogatepass")
    return client.post(f"/api/{route}", content=data, headers={"Content-Type": "application/json"})


@pytest.mark.timeout(120)
def test_any_body_is_stored_or_refused_and_what_was_stored_is_sound(
    asked: Workspace, serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pace.Pace, "wait", lambda *_, **__: 0.0)
    stored: Counter[str] = Counter()
    with serve(asked) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        for route, whole in ROUTES.items():

            @QUICK
            @given(body=bodies_of(route), route=st.just(route))
            def check(body: object, route: str) -> None:
                told = post(client, route, body)
                assert told.status_code in (200, 400, 404, 422), (route, body, told.text)
                stored[route] += told.status_code == 200

            assert post(client, route, whole).status_code == 200, "the body that others are made of is taken"
            check()
    assert "Traceback" not in caplog.text
    assert verify(str(asked.location))["problems"] == []
    assert stored.total() >= 20, "many of them get past the check of their form"


def test_whoever_is_too_fast_hears_the_same_on_every_route(
    asked: Workspace, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace.Pace, "wait", lambda *_, **__: 2.5)
    with serve(asked) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        refused = {route: post(client, route, body) for route, body in ROUTES.items()}
    assert {told.status_code for told in refused.values()} == {429}
    assert {told.headers["retry-after"] for told in refused.values()} == {"3"}
    said = {route: told.json()["detail"] for route, told in refused.items()}
    assert said.pop("c/answers") == "too many answers in a minute: go on in 3 seconds"
    assert set(said.values()) == {"too many changes in a minute: go on in 3 seconds"}
    assert Campaign.open(str(asked.location), "c").ledger.rows() == []

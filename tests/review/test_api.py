"""The server as a stranger meets it: paths, other sites, tokens, hostile bodies; and what pictures carry with them."""

import http.client
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from PIL import Image
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from benchmarks.gallery import pairs_of, start_campaign
from cccount_dist.campaign.campaign import Campaign
from cccount_dist.review.annotators import Annotators
from cccount_dist.review.guard import MOST_BYTES
from cccount_dist.review.signin import Attempts
from storage.collection import collection_table
from storage.workspace import Workspace
from tests.review.conftest import Serve, Served

ANSWER = [{"id": "0123456789abcdef", "question_id": 0, "value": 1, "seconds": 2.5}]


@pytest.fixture
def server(workspace: Workspace, serve: Serve) -> Iterator[Served]:
    start_campaign(workspace, "census", pairs_of(48, 20))
    with serve(workspace) as server:
        yield server


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url) as client:
        yield client


def answers(workspace: Workspace) -> int:
    return len(Campaign.open(workspace.location, "census").ledger.rows())


# -- answers --------------------------------------------------------------------------------------------------------------


def test_the_same_answer_again_counts_once(client: httpx.Client, workspace: Workspace) -> None:
    assert client.post("/api/census/answers", json=ANSWER).json() == {"stored": [ANSWER[0]["id"]], "known": [], "rejected": []}
    assert client.post("/api/census/answers", json=ANSWER).json()["known"] == [ANSWER[0]["id"]]
    assert answers(workspace) == 1


def test_of_several_answers_the_wrong_one_is_named_and_the_others_are_kept(client: httpx.Client, workspace: Workspace) -> None:
    body = [*ANSWER, {"id": "ffffffffffffffff", "question_id": 999, "value": 0}]
    receipt = client.post("/api/census/answers", json=body).json()
    assert receipt["stored"] == [ANSWER[0]["id"]]
    assert "no question 999" in receipt["rejected"][0]["reason"]
    assert answers(workspace) == 1


def test_what_cannot_be_an_answer_is_refused_whole(client: httpx.Client, workspace: Workspace) -> None:
    bodies: list[Any] = [
        [{**ANSWER[0], "value": 2}],
        [{**ANSWER[0], "value": "same"}],
        [{**ANSWER[0], "question_id": -1}],
        [{**ANSWER[0], "question_id": 2**60}],
        [{**ANSWER[0], "id": "../../etc"}],
        [{**ANSWER[0], "annotator": "ben"}],
        [{**ANSWER[0], "seconds": -1}],
        ANSWER * 201,
        {"id": 1},
        "text",
    ]
    assert [client.post("/api/census/answers", json=body).status_code for body in bodies] == [422] * len(bodies)
    assert answers(workspace) == 0


def test_a_body_that_is_no_json_or_too_long_is_refused(client: httpx.Client, workspace: Workspace) -> None:
    json_type = {"Content-Type": "application/json"}
    assert client.post("/api/census/answers", content=b'[{"value": NaN', headers=json_type).status_code == 422
    assert client.post("/api/census/answers", content=b" " * (MOST_BYTES + 1), headers=json_type).status_code == 413

    def pieces() -> Iterator[bytes]:
        yield b"["
        for _ in range(10):
            yield b" " * (MOST_BYTES // 8)
        yield json.dumps(ANSWER)[1:].encode()

    assert client.post("/api/census/answers", content=pieces(), headers=json_type).status_code == 422
    assert answers(workspace) == 0


# -- paths ----------------------------------------------------------------------------------------------------------------


PATHS = [
        "/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/..%5capp.py", "/static/....//app.py",
        "/static//etc/passwd", "/static/%00", "/static/index.html%00.png", "/static/", "/images/../workspace.toml",
        "/images/..%2f..%2fworkspace.toml", "/images/0/../../x", "/images/-1", "/images/48", "/images/1e3", "/images/0x1",
        "/images/file:///etc/passwd", "/images/9999999999999999999999", "/api/../workspace.toml", "/api/..%2fcensus/sheets",
        "/api/census%2f..%2f/sheets", "/api/.hidden/sheets", "/api/nobody/sheets", "/workspace.toml", "/annotators.json",
        "/docs", "/openapi.json", "/redoc", "/%2e%2e/%2e%2e/etc/passwd",
    ]  # fmt: skip


def test_no_path_leads_out(server: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)  # sends a path as it is
    for path in PATHS:
        connection.request("GET", path)
        found = connection.getresponse()
        said = found.read().decode()
        assert found.status in (404, 422), path
        assert found.headers["content-type"] == "application/json", path
        assert server.workspace.location not in said, path
    connection.close()


def test_every_response_forbids_scripts_from_elsewhere(client: httpx.Client) -> None:
    for path in ("/", "/progress", "/static/review.js", "/api/session", "/images/0", "/nothing"):
        headers = client.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    for page in ("/", "/progress"):
        assert " style=" not in client.get(page).text
        assert "<script>" not in client.get(page).text


# -- other sites ------------------------------------------------------------------------------------------------------------


FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9"},
    {"Origin": "{own}.evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "{own}"},
    {"Host": "evil.example"},
    {"Host": "evil.example:8765", "Origin": "http://evil.example:8765"},
]


def test_posts_of_other_sites_are_refused(client: httpx.Client, workspace: Workspace) -> None:
    own = str(client.base_url).rstrip("/")
    for headers in FOREIGN:
        sent = {name: value.replace("{own}", own) for name, value in headers.items()}
        for path, body in (("answers", ANSWER), ("undo", {}), ("flag", {})):
            assert client.post(f"/api/census/{path}", json=body, headers=sent).status_code == 403, headers
    assert answers(workspace) == 0


def test_a_form_of_another_site_is_no_json(client: httpx.Client, workspace: Workspace) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        sent = client.post("/api/census/answers", content=json.dumps(ANSWER), headers={"Content-Type": kind})
        assert sent.status_code == 415
    assert answers(workspace) == 0


def test_other_sites_cannot_read_pictures_or_questions(client: httpx.Client) -> None:
    for path in ("/images/0", "/api/census/sheets", "/api/session"):
        assert client.get(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200, "a link may lead here"


# -- who is asking -----------------------------------------------------------------------------------------------------------


def test_without_a_token_nothing_is_told(workspace: Workspace, serve: Serve) -> None:
    start_campaign(workspace, "census", pairs_of(48, 20))
    token = Annotators(workspace).add("ben")
    with serve(workspace, local=None) as server, httpx.Client(base_url=server.url, headers={"Host": "review.example"}) as client:
        assert client.get("/api/session").json() == {
            "annotator": None,
            "login": True,
            "lead": False,
            "workspace": "",
            "campaigns": [],
        }
        for path in ("/api/census/sheets", "/api/census/recent", "/api/census/standing", "/api/nobody/sheets", "/images/0"):
            assert client.get(path).status_code == 401
        client.cookies.set("cccount_token", "guessed")
        assert client.post("/api/census/answers", json=ANSWER).status_code == 401
        client.cookies.clear()
        cookie = client.post("/api/login", json={"token": token}).headers["set-cookie"]
        assert all(word in cookie for word in ("HttpOnly", "SameSite=strict"))
        assert "Secure" not in cookie, "over plain http the browser would not send it back"
        assert client.get("/api/session").json()["annotator"] == "ben"
        Annotators(workspace).remove("ben")
        assert client.get("/api/census/sheets").status_code == 401, "at once, and although nobody is left"
        token = Annotators(workspace).add("cleo")
        behind_tls = client.post("/api/login", json={"token": token}, headers={"X-Forwarded-Proto": "https"})
        assert "Secure" in behind_tls.headers["set-cookie"]


def test_tokens_close_a_page_that_was_open(client: httpx.Client, workspace: Workspace) -> None:
    assert client.get("/api/census/sheets").status_code == 200
    Annotators(workspace).add("ben")
    assert client.get("/api/census/sheets").status_code == 401
    elsewhere = {"Host": "evil.example"}
    Annotators(workspace).remove("ben")
    assert client.get("/api/census/sheets", headers=elsewhere).status_code == 401, "nobody's: its host was not checked"
    assert client.get("/api/census/sheets", headers=elsewhere).status_code == 403
    assert client.get("/api/census/sheets").status_code == 200


def test_somebody_who_guesses_has_to_wait(workspace: Workspace, serve: Serve) -> None:
    token = Annotators(workspace).add("ben")
    with serve(workspace, local=None) as server, httpx.Client(base_url=server.url) as client:
        tried = [client.post("/api/login", json={"token": f"guess {number}"}).status_code for number in range(8)]
        assert tried == [401] * 5 + [429] * 3
        refused = client.post("/api/login", json={"token": "guess again"})
        assert 0 < int(refused.headers["retry-after"]) <= 60
        assert client.post("/api/login", json={"token": token}).status_code == 200, "the right token never waits"


def test_attempts_are_counted_for_each_address_and_for_all() -> None:
    now = [0.0]
    attempts = Attempts(clock=lambda: now[0])
    assert [attempts.failed(f"address {number}") for number in range(50)] == [0.0] * 50
    assert attempts.failed("another one") == pytest.approx(60.0)
    now[0] = 61.0
    assert attempts.failed("another one") == 0.0


# -- pictures ------------------------------------------------------------------------------------------------------------------


def test_pictures_carry_nothing_but_pixels(serve: Serve, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010F] = "SecretCamera"
    exif[0x8825] = {1: "N", 2: (47.0, 22.0, 11.0)}  # where the rhinoceros is
    path = tmp_path / "located.jpg"
    Image.new("RGB", (900, 600), "olive").save(path, exif=exif, comment=b"SecretComment", icc_profile=b"SecretPlace")
    assert b"Secret" in path.read_bytes()
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8 not an image <script>")
    uris = [str(path), str(tmp_path / "broken.jpg"), str(tmp_path / "gone.jpg"), None]
    located = Workspace.create(tmp_path / "located", collection_table(["a", "b", "c", "d"], uri=uris))
    with serve(located) as server, httpx.Client(base_url=server.url) as client:
        served = client.get("/images/0?side=256")
        assert served.headers["content-type"] == "image/jpeg"
        assert b"Secret" not in served.content
        picture = Image.open(io.BytesIO(served.content))
        assert picture.size == (256, 171)
        assert dict(picture.getexif()) == {}
        for item in (1, 2, 3):
            refused = client.get(f"/images/{item}")
            assert refused.status_code == 404
            assert str(tmp_path) not in refused.text
        assert client.get("/images/0?side=100000").status_code == 422


# -- whatever a machine can think of ------------------------------------------------------------------------------------------


def test_schemathesis_finds_no_crash_and_no_undeclared_response(server: Served) -> None:
    schema = schemathesis.openapi.from_dict(server.app.openapi())
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) >= 10
    for operation in operations:

        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))
        def call(case: Any) -> None:
            case.call_and_validate(base_url=server.url)

        call()

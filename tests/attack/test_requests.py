"""Requests that no page sends: half characters, numbers that are none, tokens by the thousand, other people's campaigns."""

import json
import os
import threading
from collections import Counter
from pathlib import Path

import httpx
import pytest

from benchmarks.gallery import pairs_of, start_campaign
from cccount_dist.review.annotators import Annotators
from storage.campaigns import CampaignFolder
from storage.settings import Goal
from storage.workspace import Workspace
from tests.attack.server import review
from tests.review.conftest import Serve

JSON = {"Content-Type": "application/json"}
HOSTILE = [  # @ stands for half of a character
    text.replace("@", r'"\ud800"')
    for text in (
        "NaN", "Infinity", "-Infinity", "1e999", "[NaN]", "@", "[@]", "{@: 1}", '{"token": @}', '{"token": NaN}',
        r'{"token": "x\udfff"}', '{"id": "aaaaaaaaaaaa", "item": 0, "reason": @}', '{"id": "aaaaaaaaaaaa", "answer_id": @}',
        '[{"id": @, "question_id": 0, "value": 1}]', '[{"id": "aaaaaaaaaaaa", "question_id": 0, "value": NaN}]',
        '[{"id": "aaaaaaaaaaaa", "question_id": 1e999, "value": 1}]', '{"image": @}', '{"image": NaN}',
        '[{"id": "aaaaaaaaaaaa", "question_id": 0, "value": 1, "seconds": NaN}]',
        '[{"id": "aaaaaaaaaaaa", "question_id": 0, "value": 1, @: 2}]', "[" * 20_000, "[" * 20_000 + "]" * 20_000, "9" * 20_000,
        '{"a": ' * 5_000 + "1" + "}" * 5_000, "null", "", "\x00", "\ufeff[]",
    )
]  # fmt: skip
PATHS = ["login", "logout", "census/answers", "census/undo", "census/flag", "census/nearest"]


@pytest.mark.parametrize("signed_in", [False, True])
def test_hostile_json_is_refused_and_never_answered_with_a_crash(
    gallery: Workspace, serve: Serve, signed_in: bool, caplog: pytest.LogCaptureFixture
) -> None:
    start_campaign(gallery, "census", pairs_of(48, 20))
    token = Annotators(gallery).add("ana")
    with serve(gallery, local=None) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        if signed_in:
            client.post("/api/login", json={"token": token}).raise_for_status()
        crashed = []
        for path in PATHS if signed_in else PATHS[::3]:
            for body in [*(text.encode() for text in HOSTILE), b"\xff\xfe", b'"\xed\xa0\x80"']:
                found = client.post(f"/api/{path}", content=body, headers=JSON)
                if found.status_code >= 500:
                    crashed.append((path, body[:80], found.status_code))
                assert found.headers["content-type"] == "application/json"
                json.loads(found.content)
        assert crashed == []
        for query in ("count=NaN", "count=%ED%A0%80", "count=" + "9" * 5000, "count=%00"):
            assert client.get(f"/api/census/sheets?{query}").status_code < 500
        for header in (b"cccount_token=\xff\xed\xa0\x80", b"cccount_token=" + b"x" * 8000):
            assert httpx.get(f"{server.url}/api/session", headers={b"Cookie": header}).status_code < 500
    assert "Traceback" not in caplog.text
    assert CampaignFolder(gallery, "census").log.answers().num_rows == 0


def test_a_thousand_wrong_tokens_at_once_are_counted_and_lock_nobody_out(gallery: Workspace, serve: Serve) -> None:
    token = Annotators(gallery).add("ben")
    with serve(gallery, local=None) as server:
        codes: Counter[int] = Counter()
        begin = threading.Barrier(12)

        def guess(number: int) -> None:
            begin.wait()
            with httpx.Client(base_url=server.url, timeout=60.0) as client:
                for at in range(10):  # with an address of its own each, as far as a client can claim one
                    forged = {"X-Forwarded-For": f"10.{number}.{at}.1"} if number % 2 else {}
                    codes[client.post("/api/login", json={"token": f"{number} {at}"}, headers=forged).status_code] += 1

        threads = [threading.Thread(target=guess, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(codes) == {401, 429}
        assert codes[401] <= 50, "however many at once"
        with httpx.Client(base_url=server.url, timeout=60.0) as client:
            assert client.post("/api/login", json={"token": token}).status_code == 200, "the right one gets in all the same"
            assert client.get("/api/session").json()["annotator"] == "ben"


def test_wrong_cookies_are_counted_like_wrong_tokens(gallery: Workspace, serve: Serve) -> None:
    start_campaign(gallery, "census", pairs_of(48, 20))
    Annotators(gallery).add("ben")
    with serve(gallery, local=None) as server:
        codes = []
        for number in range(8):
            with httpx.Client(base_url=server.url, cookies={"cccount_token": f"guess {number}"}) as client:
                codes.append(client.get("/api/census/sheets").status_code)
        assert codes == [401] * 5 + [429] * 3
        with httpx.Client(base_url=server.url, cookies={"cccount_token": "of before"}) as client:
            told = client.get("/api/session")
            assert told.json()["annotator"] is None
            assert 'cccount_token=""' in told.headers["set-cookie"], "the browser forgets it"
        with httpx.Client(base_url=server.url) as client:
            assert client.get("/api/census/sheets").status_code == 401, "who has no token at all is only told to sign in"


def test_annotators_cannot_vote_where_labels_answer(gallery: Workspace, serve: Serve) -> None:
    folder = start_campaign(gallery, "simulated", pairs_of(48, 20))
    folder.set_goal(Goal(10_000, "labels"))
    with serve(gallery) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        assert client.get("/api/simulated/sheets").status_code == 404
        body = [{"id": "aaaaaaaaaaaa", "question_id": 0, "value": 1}]
        assert client.post("/api/simulated/answers", json=body).status_code == 404
        assert client.post("/api/simulated/flag", json={"id": "aaaaaaaaaaaa", "item": 0, "reason": "x"}).status_code == 404
    assert not folder.journal_path.exists()
    assert folder.log.answers().num_rows == 0


def test_the_log_of_the_server_says_why(gallery: Workspace, tmp_path: Path) -> None:
    folder = start_campaign(gallery, "census", pairs_of(48, 20))
    both: list[dict[str, str]] = [{}, {"CCCOUNT_LOG": "json"}]
    for variables in both:
        log = tmp_path / f"log {len(variables)}"
        with review(Path(gallery.location), log=log, variables=variables) as server:
            file = Path(gallery.location) / "annotators.json"
            file.write_text("{ damaged")
            refused = httpx.get(f"{server.url}api/census/sheets", timeout=60.0)
            file.unlink()
        assert refused.status_code == 503
        assert "the server's log says why" in refused.json()["detail"]
        (line, *_) = [line for line in log.read_text().splitlines() if "annotators.json is damaged" in line]
        if variables:
            assert json.loads(line)["level"] == "error"
    assert folder.log.answers().num_rows == 0


def test_a_server_on_another_loopback_address_answers_to_it(gallery: Workspace, tmp_path: Path) -> None:
    options = ("--no-advance", "--annotator", "ana", "--host", "127.0.0.2")
    with review(Path(gallery.location), *options, log=tmp_path / "log") as server:
        assert server.url.startswith("http://127.0.0.2:")
        assert httpx.get(f"{server.url}api/session", timeout=60.0).json()["annotator"] == "ana"
        for name in ("evil.example", "127.0.0.2.evil.example", "0x7f.1", "192.0.2.1"):
            assert httpx.get(f"{server.url}api/session", headers={"Host": name}, timeout=60.0).status_code == 403
    assert os.environ.get("CCCOUNT_LOG") is None

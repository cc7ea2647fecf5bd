"""Nobody waits: questions lie ready for everybody who answers, from an engine that stays open beside the server."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from benchmarks.waiting import CAMPAIGN, answered
from cccount_dist.campaign import replayed
from cccount_dist.campaign.activity import AtTheDesk, for_the_desk
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.resident import Resident
from cccount_dist.counting.placing import placing_sampler
from cccount_dist.counting.placing.ahead import AheadEngine
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.ledger import CLOSED
from cccount_dist.sampling.logged import answers_of
from cccount_dist.sampling.replay import replay
from tests.flows.calls import ClusterOptions, CountOptions, advance, count, open_campaign, verify, write_pack
from tests.flows.conftest import environment

SLOW = '''
"""A plug-in whose sampler thinks for minutes."""
import time
from pathlib import Path
from cccount_dist.sampling.methods import Method, register_method

class Slow:
    done = False
    def ask(self, limit):
        Path({mark!r}).touch()
        time.sleep(600)
        return []
    def tell(self, answers): ...
    def result(self): ...

register_method(Method("slow", "count", "Never asks.", lambda inputs, given: Slow(), needs=("degrees",)))
'''


@pytest.mark.parametrize(("kind", "options"), [("count", {}), ("cluster", {"method": "evidence"})])
def test_three_people_at_once_never_wait_for_a_poll_or_a_slow_step(
    workspace: Path, labels: NDArray[np.int64], kind: str, options: dict[str, str]
) -> None:
    """Before: 8 to 48 seconds, and at the start `the campaign asks no more`."""
    Campaign.create(str(workspace), CAMPAIGN, kind, budget=30, **options)
    seen = answered(workspace, labels, people=3, pace=0.4)
    assert seen.answered >= 30
    assert float(np.median(seen.waits)) < 0.3
    assert max(seen.waits) < 5.0, "however busy the machine is"
    assert verify(str(workspace))["ok"]


# -- the engine ------------------------------------------------------------------------------------------------------------


@contextmanager
def served(workspace: Path, **more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "flows", "review", str(workspace), "--port", "0", "--json", "--gold", "0", "--repeats", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**environment(), **more})
    assert process.stdout is not None
    try:
        yield process, json.loads(process.stdout.readline())["url"]
    finally:
        process.send_signal(signal.SIGINT)
        with process.stdout:
            process.wait(60)


def until(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def test_the_process_that_advances_is_gone_when_its_server_was_killed_in_the_middle_of_a_step(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin, mark = tmp_path / "slow.py", tmp_path / "thinking"
    plugin.write_text(SLOW.format(mark=str(mark)))
    made = subprocess.run(
        [sys.executable, "-c", f"from cccount_dist import Campaign; Campaign.create({str(workspace)!r}, 'c', method='slow')"],
        env={**environment(), "CCCOUNT_PLUGINS": str(plugin)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    with served(workspace, CCCOUNT_PLUGINS=str(plugin)) as (server, _):
        assert until(mark.exists), "the engine is in the middle of a step"
        (engine,) = psutil.Process(server.pid).children()
        server.kill()
        server.wait(30)
        assert until(lambda: not engine.is_running() or engine.status() == psutil.STATUS_ZOMBIE, 20.0)


def test_a_person_is_told_of_new_questions_as_soon_as_there_are_some(workspace: Path, labels: NDArray[np.int64]) -> None:
    """Two people share the questions of an evidence campaign; who has none left is held by the server, and not sent away."""
    Campaign.create(str(workspace), "c", "cluster", budget=200)
    with served(workspace) as (_, url), httpx.Client(base_url=url, timeout=60.0) as client:
        first = client.get("/api/c/sheets?count=8&wait=25").json()
        assert first["sheets"], "the first step had not been taken when the page was opened: the request waited for it"
        have = len(first["sheets"])
        body = [reply(sheet, labels) for sheet in first["sheets"]]
        assert len(client.post("/api/c/answers", json=body).json()["stored"]) == have
        began = time.monotonic()
        following = client.get("/api/c/sheets?count=8&wait=25").json()["sheets"]
        assert {sheet["id"] for sheet in following}.isdisjoint(sheet["id"] for sheet in first["sheets"])
        assert following
        assert time.monotonic() - began < 20.0


def test_a_server_that_is_stopped_lets_nobody_wait_for_questions(workspace: Path) -> None:
    Campaign.create(str(workspace), "c", "cluster", budget=1)
    with served(workspace) as (server, url):
        address = f"{url}api/c/sheets?count=8&have=8&wait=25"
        with httpx.Client(base_url=url, timeout=60.0) as client:
            assert client.get("/api/c/sheets?count=1&wait=25").json()["sheets"]
        waiting = subprocess.Popen(
            [sys.executable, "-c", f"import httpx; print(httpx.get('{address}', timeout=60).status_code)"],
            stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        assert until(lambda: any(c.status == "ESTABLISHED" for c in psutil.Process(waiting.pid).net_connections()))
        time.sleep(0.3)  # until it has asked
        began = time.monotonic()
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130
        assert time.monotonic() - began < 15.0, "and not the 25 seconds that it was allowed to hold"
        assert waiting.communicate(timeout=30)[0].strip() == "200"


def reply(sheet: dict, labels: NDArray[np.int64]) -> dict:  # type: ignore[type-arg]
    (candidate,) = sheet["candidates"]
    same = labels[sheet["anchor"]["item"]] == labels[candidate["item"]["item"]]
    return {"id": os.urandom(16).hex(), "question_id": candidate["question_id"], "value": float(same), "seconds": 3.0}


# -- a campaign that stays open ------------------------------------------------------------------------------------------------


def give(place: str, labels: NDArray[np.int64], most: int) -> int:
    """Answer up to so many open questions from the labels."""
    campaign = Campaign.open(place, "c")
    return campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v])) for q in campaign.ask(most)])


def test_a_step_of_a_campaign_that_is_open_costs_its_answers_and_no_replay(
    workspace: Path, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, replays = str(workspace), []
    open_campaign(place, "c", ClusterOptions(budget=200))

    def counted(*arguments: Any) -> None:
        replays.append(1)
        replay(*arguments)

    monkeypatch.setattr(replayed, "replay", counted)
    resident = Resident(place, "c")
    assert resident.supply(AtTheDesk(3, 9)) > 0
    for _ in range(4):
        assert give(place, labels, 3) == 3
        resident.supply(AtTheDesk(3))
    resident.conclude()
    assert replays == [1]


def test_advance_beside_a_campaign_that_is_open_is_noticed_and_the_log_stays_one(
    workspace: Path, labels: NDArray[np.int64]
) -> None:
    place = str(workspace)
    open_campaign(place, "c", CountOptions(budget=300))
    resident = Resident(place, "c")
    resident.supply(AtTheDesk(2, 6))
    give(place, labels, 5)
    asked = advance(place, "c")["pending"]
    assert asked >= 16, "a step by hand keeps more ready than two people at the page need"
    give(place, labels, 20)
    resident.supply(AtTheDesk(2, 6))
    resident.conclude()
    assert give(place, labels, 3) == 3
    advance(place, "c")
    assert verify(place) == {"ok": True, "problems": []}


def test_advance_waits_for_the_moment_in_which_the_engine_holds_the_campaign(workspace: Path) -> None:
    place = str(workspace)
    folder = open_campaign(place, "c", CountOptions(budget=100))
    lease = folder.lease()
    threading.Timer(0.5, lease.release).start()
    assert advance(place, "c")["state"] == "waiting"


def test_questions_that_follow_from_answers_lie_ready_for_everybody_and_no_further_than_they_must() -> None:
    def ready(people: int, answered: int, left: int = 1000, **more: float) -> int:
        return for_the_desk(AtTheDesk(people, **more), 0, answered, left, independent=False)  # type: ignore[arg-type]

    assert [ready(people, 0) for people in (0, 1, 3, 10)] == [16, 4, 9, 30], "three sheets each from the start"
    assert [ready(people, 20) for people in (0, 1, 3, 10)] == [4, 4, 9, 30], "and when it is known who is there"
    assert ready(10, 500) == 50, "a tenth of what was answered …"
    assert ready(10, 5000) == 90, "… up to eight sheets each and some"
    assert [ready(10, 5000, left) for left in (400, 60, 50, 40, 10)] == [40, 30, 25, 20, 20], (
        "at the end what was begun is finished"
    )
    assert ready(10, 0, pause=6.0) == 60, "more where results take long"
    assert for_the_desk(AtTheDesk(10, 5), 90, 5000, 1000, independent=True) == 95, "what somebody lacks is asked"


def test_what_was_asked_ahead_and_became_needless_is_taken_back_and_counts_for_nobody(
    workspace: Path, labels: NDArray[np.int64], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(workspace)
    folder = open_campaign(place, "c", CountOptions(budget=300))
    resident = Resident(place, "c")
    resident.supply(AtTheDesk(10, 10))
    given = give(place, labels, 3)
    last = len(Campaign.open(place, "c").questions) - 1
    with monkeypatch.context() as patched:
        patched.setattr(PlacingSampler, "needless", lambda _: [last])
        resident.supply(AtTheDesk(10, 10))
    resident.conclude()
    assert [row.question_id for row in answers_of(folder.log.answers()) if row.source == CLOSED] == [last]
    campaign = Campaign.open(place, "c")
    assert last not in [question.id for question in campaign.ledger.pending(campaign.questions)]
    assert campaign.ledger.questions == given
    assert campaign.ledger.inferred == 0
    resident.close()
    resident.supply(AtTheDesk(10))  # replayed, it stands where it stood
    assert len(folder.epochs()) == 1


def test_a_step_that_is_taken_again_asks_nothing_more(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: what became needless while a step asked was taken back by the next step, which asked others in its place.

    Answers of earlier epochs come while a step asks, and settle items that it has asked about. Here it is two questions.
    """
    place = str(workspace)
    folder = open_campaign(place, "c", CountOptions(budget=300, parameter=("ahead=likely",)))
    monkeypatch.setattr(PlacingSampler, "needless", lambda sampler: sorted({2, 7} & set(sampler._open)))
    first = advance(place, "c")
    log = folder.log
    before = log.questions().num_rows, log.answers().num_rows
    assert before == (first["pending"] + 2, 2), "both are closed, and others were asked"
    shutil.rmtree(workspace / "campaigns" / "c" / "snapshot")
    assert advance(place, "c") == first
    assert (log.questions().num_rows, log.answers().num_rows) == before


def test_a_count_asks_what_is_likeliest_needed_where_it_was_chosen_and_one_that_was_begun_before_keeps_its_rule(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, begun = str(workspace), []

    class Seen(AheadEngine):
        def __init__(self, *given: Any) -> None:
            begun.append(self)
            super().__init__(*given)

    monkeypatch.setattr(placing_sampler, "AheadEngine", Seen)
    for name in ("new", "old"):
        folder = open_campaign(place, name, CountOptions(budget=300, parameter=("ahead=likely",)))
        assert folder.settings().parameters["ahead"] == "likely"
        settings = workspace / "campaigns" / name / "campaign.toml"
        if name == "old":  # the parameter was not known then
            settings.write_text(settings.read_text().replace('ahead = "likely"\n', ""))
        Resident(place, name).supply(AtTheDesk(3))
        assert bool(begun) == (name == "new")
        begun.clear()
    assert "ahead" not in settings.read_text()


# -- packs ---------------------------------------------------------------------------------------------------------------------


def test_a_pack_of_200_holds_200(workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before: 4, without a word."""
    place = str(workspace)
    count(place, "count", CountOptions(budget=400))
    told = write_pack(place, "count", 200, str(tmp_path / "pack.html"), annotator="ana", side=32)
    assert told["questions"] == 200
    assert "note" not in told


def test_a_pack_that_holds_fewer_says_why(workspace: Path, tmp_path: Path) -> None:
    place = str(workspace)
    count(place, "count", CountOptions(budget=30))
    told = write_pack(place, "count", 200, str(tmp_path / "pack.html"), annotator="ana", side=32)
    assert told["questions"] == 30
    assert told["note"] == ("It holds 30 and not 200: its budget of 30 questions allows no more, raise it with --budget")

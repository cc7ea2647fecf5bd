"""`cccount review` as a process: it serves, has questions kept ready by another one, refuses what is unsafe, and ends cleanly."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

from flows.counting import CountOptions, count
from flows.review import ReviewOptions, review
from flows.supply import IDLE_SECONDS, MANY, SHORT_SECONDS, Need
from storage.errors import InputError
from tests.flows.conftest import environment


def test_people_answer_and_new_questions_come_by_themselves(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    first = count(place, "count", CountOptions(budget=400, method="nis"))["pending"]
    command = [sys.executable, "-m", "flows", "review", place, "--port", "0", "--json", "--gold", "0", "--repeats", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    assert told["campaigns"] == ["count"]
    answered = 0
    try:
        with httpx.Client(base_url=told["url"], timeout=60.0) as client:
            deadline = time.monotonic() + 120
            while answered <= first and time.monotonic() < deadline:
                sheets = client.get("/api/count/sheets?count=64").json()["sheets"]
                body = [_answer(sheet, labels) for sheet in sheets]
                answered += len(client.post("/api/count/answers", json=body).json()["stored"]) if body else 0
                time.sleep(0 if body else 0.2)
            standing = client.get("/api/count/standing").json()
            while standing["result"]["estimate"] is None and time.monotonic() < deadline:  # until a step has taken them in
                time.sleep(0.2)
                standing = client.get("/api/count/standing").json()
            children = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(90)
    assert answered > first, "more than lay ready when the server was started"
    assert standing["result"]["estimate"] is not None
    assert code == 0
    assert children
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)
    process.stdout.close()


def _answer(sheet: dict[str, Any], labels: NDArray[np.int64]) -> dict[str, Any]:
    (candidate,) = sheet["candidates"]
    same = labels[sheet["anchor"]["item"]] == labels[candidate["item"]["item"]]
    return {"id": os.urandom(16).hex(), "question_id": candidate["question_id"], "value": float(same), "seconds": 3.0}


def test_others_can_reach_the_page_only_with_tokens(workspace: Path) -> None:
    with pytest.raises(InputError, match=r"nobody has a token yet.*cccount annotators add"):
        review(str(workspace), ReviewOptions(host="0.0.0.0", port=0))
    with pytest.raises(InputError, match="--certificate and --key belong together"):
        ReviewOptions(certificate="cert.pem")
    with pytest.raises(InputError, match="--port must lie between"):
        ReviewOptions(port=70_000)


def test_a_port_that_is_taken_is_explained_in_one_line(workspace: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match=r"cannot listen on 127\.0\.0\.1 port .*Address already in use"),
    ):
        review(str(workspace), ReviewOptions(port=taken.getsockname()[1]))


def test_a_campaign_is_advanced_when_it_needs_it() -> None:
    assert Need().due() == 0.0, "at the start, whatever lies there"
    assert Need(ended=100.0).due() is None
    assert Need(ended=100.0, fresh=1).due() == 100.0 + IDLE_SECONDS
    assert Need(ended=100.0, fresh=MANY, lasted=0.1).due() == 101.0
    assert Need(ended=100.0, fresh=1, short=True, lasted=3.0).due() == 106.0, "a slow step leaves the machine to the page"
    assert Need(ended=100.0, short=True).due() == 100.0 + SHORT_SECONDS

"""`cccount review` as a process: it serves, has questions kept ready by another one, refuses what is unsafe, and ends cleanly."""

import json
import os
import signal
import socket
import ssl
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

from cccount_dist.review.annotators import Annotators
from flows.serving.options import ReviewOptions
from flows.serving.review import review
from flows.serving.supply import BUSY_SECONDS, GATHER_SECONDS, LOOK_SECONDS, RESULTS_SECONDS, SOON_SECONDS, Need
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, count
from tests.flows.conftest import ROOT, environment


def test_people_answer_and_new_questions_come_by_themselves(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    first = count(place, "count", CountOptions(budget=400, method="nis"))["pending"]
    command = [sys.executable, "-m", "flows", "review", place, "--port", "0", "--json", "--gold", "0", "--repeats", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    answered = 0
    try:
        told = json.loads(process.stdout.readline())
        assert told["campaigns"] == ["count"]
        with httpx.Client(base_url=told["url"], timeout=60.0) as client:
            deadline = time.monotonic() + 120
            while answered <= first and time.monotonic() < deadline:
                sheets = client.get("/api/count/sheets?count=64").json()["sheets"]
                body = [answer_to(sheet, labels) for sheet in sheets]
                answered += len(client.post("/api/count/answers", json=body).json()["stored"]) if body else 0
                time.sleep(0 if body else 0.2)
            standing = client.get("/api/count/standing").json()
            while standing["result"]["estimate"] is None and time.monotonic() < deadline:  # until a step has taken them in
                time.sleep(0.2)
                standing = client.get("/api/count/standing").json()
            children = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGINT)
        with process.stdout:  # a wait that fails must not leave it open: a later test would be blamed for it
            code = process.wait(90)
    assert answered > first, "more than lay ready when the server was started"
    assert standing["result"]["estimate"] is not None
    assert code == 130
    assert children
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


def answer_to(sheet: dict[str, Any], labels: NDArray[np.int64]) -> dict[str, Any]:
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


def test_with_a_certificate_the_page_speaks_tls_and_nothing_else(workspace: Path, tmp_path: Path) -> None:
    subprocess.run([ROOT / "infra/tls/make-certificates", tmp_path / "tls"], check=True, capture_output=True)
    pems = [str(tmp_path / "tls" / name) for name in ("cert.pem", "key.pem")]
    token = Annotators(Workspace.open(workspace)).add("ana")
    command = [sys.executable, "-m", "flows", "review", str(workspace), "--port", "0", "--json", "--no-advance"]
    command += ["--certificate", pems[0], "--key", pems[1]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        assert url.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=tmp_path / "tls/ca.pem")
        with httpx.Client(base_url=url, verify=trusted, timeout=60.0) as client:
            signed_in = client.post("/api/login", json={"token": token})
            assert "secure" in signed_in.headers["set-cookie"].lower(), "the cookie never travels in the clear"
            assert client.get("/api/session").json()["annotator"] == "ana"
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http"), timeout=10.0)
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(url, timeout=10.0)
    finally:
        process.send_signal(signal.SIGINT)
        with process.stdout:
            process.wait(90)


def test_files_that_are_no_certificate_are_refused_in_one_line(workspace: Path, tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("no certificate")
    with pytest.raises(InputError, match="are no certificate and its key"):
        review(str(workspace), ReviewOptions(port=0, certificate=str(file), key=str(file)))
    with pytest.raises(InputError, match="there is no file"):
        review(str(workspace), ReviewOptions(port=0, certificate="gone.pem", key="gone.pem"))


def test_a_port_that_is_taken_is_explained_in_one_line(workspace: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(InputError, match=r"cannot listen on 127\.0\.0\.1 port .*Address already in use"),
    ):
        review(str(workspace), ReviewOptions(port=taken.getsockname()[1]))


def test_a_campaign_is_advanced_when_it_needs_it() -> None:
    assert Need().due() == 0.0, "at the start, whatever lies there"
    assert Need(ended=100.0).due() is None
    assert Need(ended=100.0, fresh=1).due() == 100.0 + GATHER_SECONDS
    assert Need(ended=100.0, fresh=1, lasted=3.0).due() == 106.0, "a slow step leaves the machine to the page"
    assert Need(ended=100.0, fresh=1, lasted=60.0).due() == 100.0 + LOOK_SECONDS, "the first step opens the campaign"
    assert Need(ended=100.0, fresh=1, people=1, missing=1, lasted=60.0).due() == 100.0 + SOON_SECONDS, "somebody may wait soon"
    assert Need(ended=100.0, people=2, missing=3, met=(1, 0)).due() == 100.0 + SOON_SECONDS, "somebody came"
    assert Need(ended=100.0, people=2, missing=3, met=(2, 3)).due() == 100.0 + LOOK_SECONDS, "nothing more can be asked yet"
    assert Need(ended=100.0, elsewhere=True).due() == 100.0 + BUSY_SECONDS, "another process was advancing"


def test_results_are_refreshed_beside_the_questions() -> None:
    assert Need(ended=100.0).results_due() is None, "nothing is new"
    assert Need(ended=100.0, unwritten=True).results_due() == 0.0, "the first ones at once"
    assert Need(ended=100.0, unwritten=True, concluded=90.0).results_due() == 90.0 + RESULTS_SECONDS
    assert Need(ended=100.0, unwritten=True, concluded=90.0, concluding=3.0).results_due() == 120.0, "slow ones more rarely"

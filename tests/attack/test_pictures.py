"""Pictures that are large, hang or break, asked for by many, while a person answers."""

import itertools
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest
from PIL import Image

from benchmarks.gallery import large_jpeg, start_campaign
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.pictures import Pictures, Side
from storage.collection import collection_table
from storage.picturecache import PictureCache
from storage.workspace import Workspace
from tests.attack.server import answer_for, ends_by, most, review, slowness
from tests.review.campaigns import pairs

ANSWER_MS = 100.0


@contextmanager
def looking(url: str, clients: int, items: int) -> Iterator[list[int]]:
    """So many people who fetch one cold picture after the other; yields the status of each."""
    stop, numbers = threading.Event(), itertools.count()
    statuses: list[int] = []

    def look() -> None:
        with httpx.Client(base_url=url, timeout=120.0) as client:
            while not stop.is_set():
                number = next(numbers)
                with suppress(httpx.TransportError):  # the server ends
                    found = client.get(f"/images/{number % items}?side={(512, 1024)[number // items % 2]}")
                    statuses.append(found.status_code)

    threads = [threading.Thread(target=look, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def test_answers_are_quick_while_20_people_fetch_cold_pictures_of_twelve_megapixels(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    uris = large_jpeg(tmp_path / "images", 300)
    workspace = Workspace.create(tmp_path / "ws", collection_table([f"i{n}" for n in range(1000)], uri=uris + [None] * 700))
    start_campaign(workspace, "census", pairs(400))
    with review(tmp_path / "ws", log=tmp_path / "log") as server:
        alone = answer_for(server.url, 1.0, questions=range(400))
        with looking(server.url, 20, 300) as statuses:
            time.sleep(1.0)
            times = answer_for(server.url, 3.0, questions=range(400))
        assert 200 in statuses
        assert set(statuses) <= {200, 503}
        assert most(times) < slowness(alone) * ANSWER_MS, f"{most(times):.0f} ms, nine of ten of {len(times)} answers"
        ends_by(server.process, signal.SIGTERM, 20)


@contextmanager
def silent_store() -> Iterator[str]:
    """An object store that takes a request and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_picture_that_hangs_stops_neither_answers_nor_the_end(tmp_path: Path) -> None:
    Image.new("RGB", (300, 300), "olive").save(tmp_path / "good.jpg")
    uris = [f"s3://bucket/{n}.jpg" for n in range(8)] + [str(tmp_path / "good.jpg")]
    workspace = Workspace.create(tmp_path / "ws", collection_table([f"i{n}" for n in range(9)], uri=uris))
    start_campaign(workspace, "census", pairs(4))
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}
    with (
        silent_store() as store,
        review(tmp_path / "ws", log=tmp_path / "log", variables={"AWS_ENDPOINT_URL": store, **keys}) as server,
        looking(server.url, 8, 8),
    ):
        time.sleep(1.5)  # until they hang
        times = answer_for(server.url, 1.0, questions=range(4))
        assert max(times) < 2000.0
        children = psutil.Process(server.process.pid).children(recursive=True)
        assert children, "pictures have processes of their own"
        ends_by(server.process, signal.SIGTERM, 30)
        _, alive = psutil.wait_procs(children, timeout=30)
        assert not alive


@pytest.fixture
def pictures(tmp_path: Path) -> Iterator[tuple[Pictures, list[str]]]:
    Image.new("RGB", (300, 200), "olive").save(tmp_path / "good.jpg")
    os.mkfifo(tmp_path / "pipe.jpg")
    uris = [str(tmp_path / "good.jpg"), str(tmp_path / "pipe.jpg"), str(tmp_path / "gone.jpg")]
    made = Pictures(lambda item: uris[item], tmp_path / "caches", seconds=3.0)
    yield made, uris
    made.close()


def test_a_pipe_is_refused_at_once_and_the_next_picture_comes(pictures: tuple[Pictures, list[str]]) -> None:
    made, _ = pictures
    for item, reason in ((1, "it is a pipe, not a file"), (2, "does not exist")):
        with pytest.raises(UnreadableImageError, match=reason):
            made.get(item, Side.SMALL)
    kind, data = made.get(0, Side.SMALL)
    assert (kind, data[:2]) == ("image/jpeg", b"\xff\xd8")
    assert made.ask(0, Side.SMALL).result() == (kind, data)


def test_a_picture_that_takes_too_long_is_given_up_and_the_next_one_comes(
    pictures: tuple[Pictures, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, uris = pictures
    with silent_store() as store:
        for name, value in {"AWS_ENDPOINT_URL": store, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}.items():
            monkeypatch.setenv(name, value)
        uris[2] = "s3://bucket/hangs.jpg"
        with pytest.raises(UnreadableImageError, match="takes longer than 3 s"):
            made.get(2, Side.SMALL)
        began = time.monotonic()
        with pytest.raises(UnreadableImageError, match="a moment ago"):
            made.get(2, Side.SMALL)
        assert time.monotonic() - began < 1.0
    assert made.get(0, Side.SMALL)[0] == "image/jpeg"


def test_what_a_process_takes_to_start_is_not_the_time_of_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("RGB", (300, 200), "olive").save(tmp_path / "good.jpg")
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow/sitecustomize.py").write_text("import time\ntime.sleep(3.5)\n")  # as on a machine that is very busy
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "slow"))
    made = Pictures(lambda _: str(tmp_path / "good.jpg"), tmp_path / "caches", seconds=1.0)
    try:
        assert made.get(0, Side.SMALL)[0] == "image/jpeg"
    finally:
        made.close()


def test_a_restarted_server_finds_resized_pictures_on_disk_and_a_changed_file_is_seen(
    pictures: tuple[Pictures, list[str]], tmp_path: Path
) -> None:
    made, uris = pictures
    _, data = made.get(0, Side.SMALL)
    (kept,) = (tmp_path / "caches/pictures").iterdir()
    assert kept.read_bytes().startswith(data)
    marked = data[:-40] + bytes(38) + data[-2:]
    PictureCache(tmp_path / "caches").put(kept.name, marked)  # to tell it from one that is made again
    again = Pictures(lambda item: uris[item], tmp_path / "caches")
    assert again.get(0, Side.SMALL)[1] == marked
    again.close()
    kept.write_bytes(b"x" + kept.read_bytes()[1:])  # a flipped byte
    Image.new("RGB", (300, 200), "navy").save(tmp_path / "good.jpg")
    fresh = Pictures(lambda item: uris[item], tmp_path / "caches")
    assert fresh.get(0, Side.SMALL)[1] not in (data, marked)
    fresh.close()


def test_the_cache_of_pictures_has_a_limit(tmp_path: Path) -> None:
    cache = PictureCache(tmp_path, most_bytes=50_000)
    for number in range(401):
        cache.put(f"{number:032x}.jpg", bytes(1000))
        os.utime(tmp_path / f"pictures/{number:032x}.jpg", (number, number))
    left = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert len(left) < 250
    assert left[-1] == f"{400:032x}.jpg", "the oldest go first"
    assert cache.get(left[-1]) == bytes(1000)

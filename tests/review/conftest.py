"""A real server on a free port, and a real Chromium in front of it."""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, expect, sync_playwright

from benchmarks.gallery import make_gallery
from cccount_dist.review.annotators import Annotators
from cccount_dist.review.app import make_app
from cccount_dist.review.desks import Desks
from cccount_dist.review.signin import Door
from flows.serving.review import Unattended
from storage.workspace import Workspace
from tests.review.person import PATIENCE
from tests.servers import free_port

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--disable-dev-shm-usage",
]  # fmt: skip

expect.set_options(timeout=PATIENCE)  # as every other wait here; Playwright's own 5 s are for machines that do nothing else


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of butterflies. Do not write to it."""
    root = tmp_path_factory.mktemp("gallery")
    make_gallery(root)
    return root / "workspace"


@pytest.fixture
def workspace(drawn: Path, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(drawn, tmp_path / "workspace"))


class Served:
    """A server in a thread; `stop` and `start` make it go away and come back at the same address."""

    def __init__(self, workspace: Workspace, local: str | None) -> None:
        self.workspace = workspace
        self.local = local
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        desks = Desks(self.workspace, gold=0.0, repeats=0.0)
        self.app = make_app(desks, Door(Annotators(self.workspace), local=self.local), Unattended())
        self.server = uvicorn.Server(uvicorn.Config(self.app, log_level="error", timeout_graceful_shutdown=1))
        listener = socket.create_server(("127.0.0.1", self.port))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as the real one has it
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]}, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join()


Serve = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def serve() -> Serve:
    @contextmanager
    def served(workspace: Workspace, *, local: str | None = "ana") -> Iterator[Served]:
        one = Served(workspace, local)
        one.start()
        try:
            yield one
        finally:
            one.stop()

    return served

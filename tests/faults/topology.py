"""The topology as processes of this machine: S3 server behind a proxy, Dask scheduler behind a proxy, two workers, and flows."""

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from storage.objects import LocalObjects, Objects, open_objects
from storage.workspace import Workspace
from tests.faults import work
from tests.faults.proxy import Proxy
from tests.faults.work import wait_until
from tests.forkserver import SERVER
from tests.servers import BUCKET, free_port, s3_server

ITEMS = 700  # three shards: embedding and neighbours have some tasks to be hurt in
RESULTS = ("embeddings.zarr", "neighbors.zarr")


class Topology:
    """Everything that can be hurt; made by `topology()`."""

    def __init__(self, folder: Path, s3: dict[str, str]) -> None:
        self.folder = folder
        self.direct = s3
        self.s3 = Proxy(int(s3["AWS_ENDPOINT_URL"].rpartition(":")[2]), http=True)
        self.scheduler_port = free_port()
        self.dask = Proxy(self.scheduler_port, http=False)
        self.address = f"tcp://127.0.0.1:{self.dask.port}"
        folders = {"CCCOUNT_CACHE": str(folder / "cache"), "CCCOUNT_STATE": str(folder / "state")}
        self.through_proxy = {**s3, **folders, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.s3.port}"}
        self.through_proxy["DASK_CCCOUNT__WORKERLESS_SECONDS"] = "6"  # nobody here waits two minutes for workers that are gone
        os.environ.update({**s3, **folders})
        self.scheduler: BaseProcess | None = None
        self.workers: list[BaseProcess] = []
        self.flows: list[BaseProcess] = []
        self._numbers = itertools.count()
        self._failure = folder / "failure"

    # -- processes ------------------------------------------------------------------------------------------------------

    def start(self, function: str, *arguments: Any, **environment: str) -> BaseProcess:
        """Start one of the functions of `work` in a process of its own."""
        self._failure = self.folder / f"failure-{next(self._numbers)}"
        process = SERVER.Process(
            target=work.run,
            args=(function, arguments, {**self.through_proxy, **environment}, str(self._failure)),
            name=self._failure.name,
            daemon=True,
        )
        process.start()
        return process

    def failure(self, process: BaseProcess | None = None) -> str:
        """What a process had to say when it failed; by default the one that was started last."""
        path = self._failure if process is None else self.folder / process.name
        return path.read_text() if path.exists() else ""

    def start_cluster(self) -> BaseProcess:
        """Start what is not running of scheduler and two workers; return the scheduler."""
        if self.scheduler is None or not self.scheduler.is_alive():
            self.scheduler = self.start("scheduler", self.scheduler_port)
        self.workers = [process for process in self.workers if process.is_alive()]
        while len(self.workers) < 2:
            self.workers.append(self.start("worker", self.address, str(self.folder / "dask")))
        return self.scheduler

    def stop(self) -> None:
        for process in (*self.flows, *self.workers, self.scheduler):
            if process is not None:
                kill(process)
        self.s3.close()
        self.dask.close()

    # -- what is there --------------------------------------------------------------------------------------------------

    def place(self, name: str) -> str:
        return f"s3://{BUCKET}/{name}"

    def make_workspace(self, place: str) -> None:
        from tests.flows.calls import initialise

        images = self.folder / "images"
        if not images.exists():
            _draw(images)
        initialise(place, images=str(images), labels="folder")

    def copy(self, source: str, target: str) -> None:
        """Copy a workspace, without its campaigns."""
        come_from, go_to = open_objects(source), open_objects(target)
        for key in come_from.keys(""):
            if not key.startswith(("campaigns/", ".")):
                go_to.replace(key, come_from.read(key))

    def forget_results(self, place: str) -> None:
        objects = open_objects(place)
        for key in (*RESULTS, "markers", ".scratch"):
            objects.delete(key)


def _draw(folder: Path) -> None:
    from sklearn.datasets import load_digits

    data = load_digits()
    for number in range(ITEMS):
        path = folder / str(data.target[number]) / f"{number:04d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((data.images[number] * 15).astype(np.uint8)).save(path)


def shards(place: str) -> dict[str, bytes]:
    """Every stored byte of the results, without what names the making (`zarr.json` has the array's generation)."""
    objects: Objects = open_objects(place)
    keys = [key for name in RESULTS for key in objects.keys(name) if not key.endswith("zarr.json")]
    return {key: objects.read(key) for key in keys}


def sound(place: str) -> bool:
    return not list(Workspace.open(place).problems())


def kill(process: BaseProcess, how: signal.Signals = signal.SIGKILL) -> None:
    if process.pid is not None and process.is_alive():
        os.kill(process.pid, how)
    if how == signal.SIGKILL:
        process.join()


def finished(process: BaseProcess, seconds: float = 240.0) -> int:
    process.join(seconds)
    if process.is_alive():
        kill(process)
        raise AssertionError(f"the work did not end within {seconds} s")
    assert process.exitcode is not None
    return process.exitcode


@contextmanager
def topology() -> Iterator[Topology]:
    folder = Path(tempfile.mkdtemp(prefix="cccount-faults-"))
    before = dict(os.environ)
    try:
        with s3_server(folder) as s3:
            made = Topology(folder, s3)
            try:
                yield made
            finally:
                made.stop()
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


__all__ = ["LocalObjects", "Topology", "finished", "kill", "shards", "sound", "topology", "wait_until"]

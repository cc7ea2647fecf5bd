"""What runs in the processes that are hurt: the real stages and steps of the front door, and the servers of a Dask cluster."""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import storage.remote

K = 8
BUDGET = 160


def scheduler(port: int) -> None:
    """`dask scheduler`, from a process that has everything imported."""
    import distributed

    async def run() -> None:
        async with distributed.Scheduler(host="127.0.0.1", port=port, dashboard_address=None, dashboard=False) as server:
            await server.finished()

    asyncio.run(run())


def worker(address: str, folder: str) -> None:
    """`dask worker --no-nanny`: it waits for its scheduler to come, and ends when it has gone."""
    import distributed

    async def run() -> None:
        async with distributed.Worker(
            address, nthreads=1, local_directory=folder, dashboard=False, death_timeout=60, memory_limit=0, name=f"w{os.getpid()}"
        ) as server:
            await server.finished()

    asyncio.run(run())


def compute(workspace: str, address: str) -> None:
    """Embeddings and neighbours on the cluster: tasks, shards, markers, partial results."""
    import dask

    from flows.compute.clients import open_client
    from tests.flows.calls import embed, neighbors

    dask.config.refresh()  # the fork server had read another environment
    with open_client(address) as client:
        embed(workspace, encoder="pixels", client=client)
        neighbors(workspace, k=K, client=client)


def count(workspace: str, campaign: str, lease_seconds: float = 60.0, batch: int = 16) -> None:
    """Go on with a labels campaign in small steps, so that there are many moments to be hurt at."""
    from cccount_dist.campaign.inputs import load_inputs
    from cccount_dist.kinds.count.runner import CountRunner
    from tests.flows.calls import CountOptions, open_campaign

    options = CountOptions(budget=BUDGET, oracle="labels", method="nis", seed=3)
    folder = open_campaign(workspace, campaign, options)
    with folder.lease(seconds=lease_seconds) as lease:
        runner = CountRunner(folder, lease, load_inputs(folder.workspace))
        _say("holding")
        while runner.step(batch=batch).state == "running":
            pass


def answer(workspace: str, campaign: str, person: str, acknowledged: str) -> None:
    """Somebody at the review page: answer question after question, and note what was acknowledged, each with its id."""
    from cccount_dist.campaign.campaign import Campaign, Response

    opened = Campaign.open(workspace, campaign)
    with Path(acknowledged).open("a") as notes:
        for number, question in enumerate(opened.ask(200, annotator=person)):
            name = f"{person}-{os.getpid()}-{number}"
            opened.tell([Response(question.id, 0.0, person, id=name)])
            notes.write(json.dumps({"id": name, "question": question.id}) + "\n")
            notes.flush()


def _say(text: str) -> None:
    if says := os.environ.get("TEST_SAYS"):
        Path(says).write_text(text)


def run(function: str, arguments: tuple[Any, ...], environment: dict[str, str], failure: str) -> None:
    """Run one of the functions here; exit with 0, with 3 for a failure that is explained, with 1 for any other."""
    from storage.errors import CccountError

    os.setsid()
    os.environ.update(environment)
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    storage.remote.LOCK_SECONDS = 2.0  # a stopped holder of a lock is overtaken while the test waits
    signal.signal(signal.SIGUSR1, lambda *_: jump(3600.0))
    signal.signal(signal.SIGUSR2, lambda *_: jump(-3600.0))
    try:
        globals()[function](*arguments)
    except CccountError as error:
        Path(failure).write_text(f"{type(error).__name__}: {error}")
        os._exit(3)
    except BaseException as error:  # noqa: BLE001  the parent only sees the exit code
        import traceback

        Path(failure).write_text(f"{type(error).__name__}: {error}\n{traceback.format_exc()}")
        os._exit(1)
    os._exit(0)


_offset = 0.0


class _Jumping(datetime):
    """The clock of this process, off by as much as it has jumped."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_Jumping":
        return super().now(tz) + timedelta(seconds=_offset)

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        """For a model that is made only after the clock has jumped."""
        return handler(datetime)


def jump(seconds: float) -> None:
    """Move the clock that our modules read: everything that decides by the time of day sees it."""
    global _offset
    _offset += seconds
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("storage", "cccount_dist", "flows") and getattr(module, "datetime", None) is datetime:
            module.datetime = _Jumping  # type: ignore[attr-defined]


def wait_until(ready: Any, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(0.05)

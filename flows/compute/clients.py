"""The choice of Dask cluster, and one way to run many tasks on it with progress.

Tasks are plain `client.map` tasks: a Prefect task costs some 70 times as much, so Prefect sees stages and Dask sees shards and
tiles. Nothing large travels: a task gets a workspace location and numbers, and returns a small report.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing import resource_tracker
from typing import TypeVar

import dask
import distributed
from distributed.comm.core import CommClosedError

from flows.compute.logs import event
from flows.compute.options import check_place, memory_bytes
from flows.compute.profiles import profile_cluster, security_from_environment
from flows.compute.progress import progress
from storage.errors import CccountError, ComputeError
from storage.version import __version__

T = TypeVar("T")
R = TypeVar("R")

CONNECT_SECONDS = 10
# Tasks wait for workers without end. A cluster that has had none for so long (DASK_CCCOUNT__WORKERLESS_SECONDS) is given up.
WORKERLESS = "cccount.workerless-seconds"
WORKERLESS_SECONDS = 120.0


@contextmanager
def open_client(
    compute: str = "local", *, workers: int | None = None, memory_limit: str | None = None
) -> Iterator[distributed.Client]:
    """Connect to a cluster, or start a local one for as long as the context lasts.

    A local cluster has one process for each core and one thread in each process: blocks are BLAS-bound, and two levels of
    threads fight for the same cores.
    """
    check_place(compute, workers, memory_limit)
    if compute == "local":
        with _local_cluster(workers or os.cpu_count() or 1, memory_limit) as cluster, distributed.Client(cluster) as client:
            yield client
        return
    if compute.startswith(("tcp://", "tls://")):
        security = security_from_environment() if compute.startswith("tls://") else None
        with _connected(compute, security) as client:
            yield client
    else:
        with _of_profile(compute) as client:
            yield client


@contextmanager
def _local_cluster(workers: int, memory_limit: str | None) -> Iterator[distributed.LocalCluster]:
    limit = memory_bytes(memory_limit)
    with _deaf_to_interrupts():
        # A nanny that is told to stop while its worker starts logs a warning, and a worker whose scheduler has ended an error
        # with its traceback: not the user's business. What goes wrong in a task comes back with the task.
        try:
            cluster = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit="auto" if limit is None else limit,
                dashboard_address=None,
                scheduler_kwargs={
                    "dashboard_address": ":0"
                },  # or else it asks for port 8787 all the same, and warns if it is taken
                silence_logs=logging.CRITICAL,
            )
        except (
            RuntimeError,
            OSError,
            ValueError,
        ) as error:  # certificates that the environment names and that are not there, say
            raise ComputeError(f"cannot start a Dask cluster on this machine: {error}; check the variables DASK_…") from error
    with cluster:
        yield cluster


def _start_tracker() -> None:
    """Start Python's process that tidies up behind others, before the first worker would: it lets blocked signals through again.

    What it removes behind a command that was stopped it need not tell the user.
    """
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore::UserWarning:multiprocessing.resource_tracker")))
    try:
        resource_tracker.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Whatever is started here never sees Ctrl-C: a terminal sends it to the workers, too, and each would print its traceback.

    Threads inherit the mask of the one that starts them, and processes that of the thread: so do workers that are started again
    later. A Ctrl-C that comes meanwhile is kept for the thread that called, and reaches it at the end.
    """
    _start_tracker()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _connected(address: str, security: distributed.Security | None) -> Iterator[distributed.Client]:
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, **({} if security is None else {"security": security}))
    except TypeError as error:  # what Dask says of a tls:// address when it knows of no certificate
        raise ComputeError(f"{address} needs certificates: set CCCOUNT_TLS to a folder of infra/tls/make-certificates") from error
    except (OSError, TimeoutError) as error:
        raise ComputeError(
            f"no Dask scheduler answers at {address}: start one with `dask scheduler`, or use --compute local; "
            "one that runs with TLS answers only to tls:// and to certificates of its own authority"
        ) from error
    with client:
        _require_workers(client, address)
        event("computing", compute=address, dashboard=client.dashboard_link)
        yield client


@contextmanager
def _of_profile(name: str) -> Iterator[distributed.Client]:
    with profile_cluster(name) as (cluster, seconds), distributed.Client(cluster) as client:
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError as error:
            raise ComputeError(
                f"--compute {name}: no worker came within {seconds:.0f} s: look at the queue, or raise the profile's wait_seconds"
            ) from error
        _require_workers(client, name)
        event("computing", compute=name, dashboard=client.dashboard_link)
        with dask.config.set(
            {WORKERLESS: max(seconds, dask.config.get(WORKERLESS, WORKERLESS_SECONDS))}
        ):  # a queue takes its time
            yield client


def _require_workers(client: distributed.Client, address: str) -> None:
    if not client.scheduler_info()["workers"]:
        raise ComputeError(f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`")
    try:
        theirs = client.run(_version)
    except ModuleNotFoundError as error:
        raise ComputeError(
            f"cccount is not installed on the workers of {address}: install version {__version__} there"
        ) from error
    strangers = sorted({v for v in theirs.values() if v != __version__})
    if strangers:
        raise ComputeError(
            f"the workers of {address} run cccount {', '.join(strangers)}, this is {__version__}: install the same"
        )


def _version() -> str:
    return __version__


def _explained(function: Callable[[T], R], task: T) -> R | CccountError:
    """Run a task on a worker. A failure that is explained comes back as a value: Dask would try it again, in vain."""
    try:
        return function(task)
    except CccountError as error:
        return error


def _opened(result: R | CccountError) -> R:
    if isinstance(result, CccountError):
        raise result
    return result


@contextmanager
def _given_up(client: distributed.Client, futures: Sequence["distributed.Future[R]"]) -> Iterator[threading.Event]:
    """Cancel the tasks, and set the event, when the cluster has had no worker for too long."""
    seconds = float(dask.config.get(WORKERLESS, WORKERLESS_SECONDS))
    over, given_up = threading.Event(), threading.Event()

    def watch() -> None:
        seen = time.monotonic()
        while not over.wait(min(2.0, seconds / 4)):
            if client.status != "running" or _has_workers(client):  # a lost scheduler is the client's own business
                seen = time.monotonic()
            elif time.monotonic() - seen > seconds:
                given_up.set()
                client.cancel(list(futures))
                return

    watching = threading.Thread(target=watch, name="workers of the cluster", daemon=True)
    watching.start()
    try:
        yield given_up
    finally:
        over.set()
        watching.join()


def _has_workers(client: distributed.Client) -> bool:
    try:
        return bool(client.nthreads())
    except (OSError, CommClosedError, TimeoutError):
        return True  # it cannot be asked at the moment


def run_tasks(
    client: distributed.Client,
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    describe: str,
    unit: str,
    done_before: int = 0,
    sizes: Sequence[int] | None = None,
    retries: int = 3,
    on_result: Callable[[int, R], None] | None = None,
) -> list[R]:
    """Run `function` on every task and return the results in the order of the tasks.

    A task that dies with its worker runs again elsewhere, so tasks must be harmless to repeat. `done_before` counts what an
    earlier, interrupted run has finished: it shows in the progress, and is not computed. `sizes` says how many units each
    task is worth; without it a task is one. `on_result` is called with the place and the result of each task when it is there.
    """
    futures = client.map(partial(_explained, function), tasks, pure=False, retries=retries)
    place = {future.key: i for i, future in enumerate(futures)}
    results: dict[int, R] = {}
    worth = sizes or [1] * len(tasks)
    total, done = done_before + sum(worth), done_before
    try:
        with _given_up(client, futures) as given_up, progress(describe, total, unit, done_before=done_before) as update:
            for future in distributed.as_completed(futures):
                results[place[future.key]] = _opened(future.result())
                if on_result is not None:
                    on_result(place[future.key], results[place[future.key]])
                done += worth[place[future.key]]
                update(done)
    except distributed.KilledWorker as error:
        raise ComputeError(
            f"{describe}: a task killed {error.last_worker.name} and others before it, most likely because memory ran out: "
            "give the workers more memory (--memory-limit) or use fewer of them (--workers)"
        ) from error
    except (distributed.client.FutureCancelledError, CommClosedError) as error:
        lost = "all Dask workers were lost" if given_up.is_set() else "the Dask scheduler was lost"
        raise ComputeError(
            f"{describe}: {lost} after {done} of {total} {unit}: run the same command again, what is done stays done"
        ) from error
    finally:
        if len(results) < len(futures) and client.status == "running":
            client.cancel(futures)
    return [results[i] for i in range(len(tasks))]

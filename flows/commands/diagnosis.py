"""What works on this machine and what does not: versions, cluster, store, encoders, Prefect server."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome
from flows.compute.options import ComputeOptions
from flows.orchestration.recording import require_answer, server_url
from storage.errors import CccountError
from storage.objects import LocalObjects
from storage.version import __version__

PACKAGES = (
    "dask",
    "distributed",
    "zarr",
    "numpy",
    "scipy",
    "scikit-learn",
    "pyarrow",
    "prefect",
    "numba",
    "fastapi",
    "sqlalchemy",
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that works here or does not; `needed`: cccount does not run without it."""

    check: str
    ok: bool
    needed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Diagnosis(Outcome):
    """What works; a failed check says what to do."""

    ok: bool
    checks: Sequence[Check]

    @property
    def success(self) -> bool:
        return self.ok

    def words(self) -> str:
        marks = {(True, True): "ok", (True, False): "ok", (False, True): "FAILED", (False, False): "no"}
        return "\n".join(f"{marks[one.ok, one.needed]:<7} {one.check}: {one.detail}" for one in self.checks)


def doctor(options: ComputeOptions) -> Diagnosis:
    """Try everything."""
    needed = [_versions(), _tried("store", _store), _tried("cluster", lambda: _cluster(options))]
    checks = [*needed, *_encoders(), _approximate(), _local(), _prefect()]
    return Diagnosis(all(one.ok for one in checks if one.needed), checks)


def _check(name: str, detail: str, *, ok: bool = True, needed: bool = True) -> Check:
    return Check(name, ok, needed, detail)


def _tried(name: str, try_it: Callable[[], str]) -> Check:
    try:
        return _check(name, try_it())
    except (CccountError, OSError) as error:
        return _check(name, str(error), ok=False)


def _versions() -> Check:
    found, missing = [], []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    python = ".".join(map(str, sys.version_info[:3]))
    detail = f"cccount {__version__}, Python {python}, {', '.join(found)}"
    if missing:
        detail += f"; missing: {', '.join(missing)} (install with `pip install -c constraints.txt cccount`)"
    return _check("versions", detail, ok=not missing)


def _store() -> str:
    with tempfile.TemporaryDirectory() as folder:
        objects = LocalObjects(Path(folder))
        start = time.perf_counter()
        for i in range(10):
            objects.create(f"probe-{i}", b"x" * 1000)
        each = (time.perf_counter() - start) / 10
    return f"durable writes take {1000 * each:.1f} ms each in {tempfile.gettempdir()}"


def _cluster(options: ComputeOptions) -> str:
    start = time.perf_counter()
    with options.client() as client:
        workers = client.scheduler_info()["workers"]
        client.submit(os.getpid).result(timeout=60)
        memory = sum(worker["memory_limit"] for worker in workers.values()) / 2**30
    return (
        f"{len(workers)} workers with {memory:.1f} GiB together ({options.compute}), ready in {time.perf_counter() - start:.1f} s"
    )


def _encoders() -> list[Check]:
    from cccount_dist.embedding.encoders import available_encoders

    return [_check(f"encoder {name}", detail, ok=ok, needed=False) for name, ok, detail in available_encoders()]


def _approximate() -> Check:
    from cccount_dist.similarity.coarse import NEEDS_FAISS, has_faiss

    if not has_faiss():
        return _check("engine approximate", NEEDS_FAISS, ok=False, needed=False)
    import faiss

    return _check("engine approximate", f"faiss {faiss.__version__}", needed=False)


def _local() -> Check:
    from cccount_dist.embedding.localfeatures import require_opencv

    try:
        return _check("local matches", f"OpenCV {require_opencv()}", needed=False)
    except CccountError as error:
        return _check("local matches", str(error), ok=False, needed=False)


def _prefect() -> Check:
    url = server_url()
    if url is None:
        return _check("prefect", "no server configured: stages run plainly, runs are not recorded", needed=False)
    return _tried("prefect", lambda: _answering(url))


def _answering(url: str) -> str:
    require_answer(url)
    return f"the server at {url} answers"

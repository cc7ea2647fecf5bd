"""Memory that cannot suffice is refused before the work begins: every method projects it, and as much as is measured."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cccount_dist.kinds  # noqa: F401  registers the methods of ours
from cccount_dist import ClusterCounter, PairwiseClusterer
from cccount_dist.clustering.evidence import micro, reciprocal
from cccount_dist.clustering.evidence.micro import make_micro
from cccount_dist.room import VARIABLE, Size, available_bytes, require_room, size_in_bytes
from cccount_dist.sampling.methods import METHODS, Method
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import ComputeError, InputError
from tests.flows.conftest import ROOT, cccount, environment, labels, prepared, workspace

__all__ = ["labels", "prepared", "workspace"]

OURS = [method for method in METHODS if method.kind in ("count", "cluster", "subcluster")]
MILLION = Size(1_000_000, 128, 50, 100)


def parameters(method: Method) -> object:
    return method.read({})


@pytest.mark.parametrize("method", OURS, ids=lambda method: method.name)
def test_every_method_projects_its_memory_and_more_items_never_take_less(method: Method) -> None:
    assert method.memory is not None
    sizes = [method.memory(Size(items, 128, 50, 100), parameters(method)) for items in (1_000, 5_000, 5_001, 100_000, 1_000_000)]
    assert sizes[0] > 0
    assert sizes[-1] >= sizes[-2] >= sizes[0]


def test_grouping_a_million_items_is_refused_where_it_would_be_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "2GiB")
    with pytest.raises(ComputeError, match=r"evidence on 1,000,000 items of 128 dimensions needs about 3\.\d GiB") as refused:
        next(one for one in OURS if one.name == "evidence").require_memory(MILLION, {})
    assert "items would fit" in str(refused.value)
    monkeypatch.setenv(VARIABLE, "64GiB")
    for method in OURS:
        method.require_memory(MILLION, {})


def test_what_is_said_to_fit_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1GiB")

    def square(size: Size) -> int:
        return 8 * size.items**2

    with pytest.raises(ComputeError, match="about") as refused:
        require_room("this", square, Size(1_000_000), instead="take fewer")
    fits = int(str(refused.value).partition("about ")[2].partition("about ")[2].split()[0].replace(",", ""))
    assert 0.98 * np.sqrt(2**30 / 8) <= fits <= np.sqrt(2**30 / 8)
    require_room("this", square, Size(fits), instead="take fewer")


def test_a_limit_of_this_process_counts() -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))"
    code = f"{limited}; from cccount_dist.room import available_bytes; print(available_bytes())"
    shown = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=ROOT, capture_output=True, text=True, check=True)
    assert 0 < int(shown.stdout) < 2**31
    assert available_bytes() > 0


@pytest.mark.parametrize("wrong", ["much", "12 elephants", "", "-", "nan", "infGiB"])
def test_a_size_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match=VARIABLE):
        size_in_bytes(wrong)


def test_the_estimators_refuse_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1MiB")
    vectors = np.random.default_rng(0).standard_normal((50, 4))
    for estimator in (ClusterCounter(budget=5), PairwiseClusterer(budget=5)):
        with pytest.raises(ComputeError, match="of memory"):
            estimator.fit(vectors, oracle=lambda u, v: u == v)


def test_more_similar_items_than_there_is_memory_for_are_refused_when_they_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).standard_normal((3_000, 8)).astype(np.float32)
    found = neighbors_in_memory(vectors, 20)
    make_micro(vectors, found.index)
    monkeypatch.setenv(VARIABLE, "16MiB")
    with pytest.raises(ComputeError, match=r"grouping with \d+ similar items of each on 3,000 items .*items would fit"):
        make_micro(vectors, found.index)


def test_what_surely_cannot_be_merged_is_refused_after_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(0).standard_normal((3_000, 8)).astype(np.float32)
    found = neighbors_in_memory(vectors, 20)
    rows: list[int] = []

    def noted(done: int, pairs: int, items: int) -> None:
        rows.append(done)
        foreseen(done, pairs, items)

    foreseen = micro._foreseen
    monkeypatch.setattr(micro, "_foreseen", noted)
    monkeypatch.setattr(reciprocal, "BLOCK", 2**15)
    monkeypatch.setenv(VARIABLE, "4MiB")
    with pytest.raises(ComputeError, match=r"grouping with \d+ similar items of each on 3,000 items"):
        make_micro(vectors, found.index)
    assert len(rows) == 1
    assert rows[0] < 1_000


def test_a_campaign_is_refused_before_it_is_made(workspace: Path) -> None:
    for command in (["count"], ["cluster"], ["subcluster", "--clusters", "4", "--size", "3"]):
        shown = cccount(*command[:1], workspace, *command[1:], "--oracle", "labels", variables={VARIABLE: "1MiB"})
        assert shown.code == 1, shown.err
        assert shown.err.count("\n") == 1
        assert "of memory" in shown.err
    assert not (workspace / "campaigns").exists() or not any((workspace / "campaigns").iterdir())


# Measured in a process of its own: what it takes at most beyond what it took when its vectors and neighbours lay ready.
MEASURED = """
import json, sys, threading, time
import numpy as np
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.clustering import methods as grouping
from cccount_dist.clustering.evidence import micro
from cccount_dist.counting import methods as counting
from cccount_dist.subclustering.passive import Options, draw_candidates
from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering

def data(items):
    draws = np.random.default_rng(0)
    vectors = draws.standard_normal((items, 32), dtype=np.float32)
    vectors += draws.standard_normal((max(2, items // 100), 32), dtype=np.float32)[draws.integers(0, max(2, items // 100), items)]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors, neighbors_in_memory(vectors, 20)

def drive(name, vectors, found):
    if name in counting.counting_methods():
        sampler = counting.make_counter(
            name, vectors=vectors, degree=np.ones(len(vectors)), neighbors=lambda: found.index
        )
    elif name == "active":
        options = Options(20, 10, seed=0, start="random")
        sampler = ActiveSubclustering(draw_candidates(vectors, options), options)
    else:
        told = 20 if "clusters" in grouping.grouping_method(name).needs else None
        sampler = grouping.make_grouper(name, grouping.GroupingInputs(vectors, found.index, found.similarity, 0, told))
    for _ in range(2):
        sampler.tell([Answer(one.id, one.u, one.v, float(one.u % 20 == one.v % 20)) for one in sampler.ask(10)])
    sampler.result()

def resident():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))

def watch():
    while not ended:
        most.append(resident())
        time.sleep(0.002)

def noted(stored, items):  # what is asked for when it is known how many pairs there are
    asked.append(micro.OF_PAIR * stored)

name, ended, asked = sys.argv[1], False, [0]
micro._require_room = noted
drive(name, *data(400))  # compiled kernels are of the process
given = data(int(sys.argv[2]))
asked[:] = [0]
before = resident()
most = [before]
thread = threading.Thread(target=watch)
thread.start()
drive(name, *given)
ended = True
thread.join()
print(max(most) - before, max(asked))
"""
SCRATCH = 64 * 2**20


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure")
@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("evidence", 8_000),
        ("apc", 8_000),
        ("catalogue", 8_000),
        ("hacc", 2_500),
        ("placing", 20_000),
        ("sheets", 8_000),
        ("nis", 20_000),
        ("active", 20_000),
    ],
)
def test_a_projection_is_of_the_size_that_is_measured(name: str, items: int) -> None:
    command = [sys.executable, "-c", MEASURED, name, str(items)]
    done = subprocess.run(command, env=environment(), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    measured, asked = map(int, done.stdout.split())
    method = next(one for one in OURS if one.name == name)
    assert method.memory is not None
    projected = method.memory(Size(items, 32, 20, 20), method.read({})) + asked
    assert measured <= projected <= 2 * measured + SCRATCH

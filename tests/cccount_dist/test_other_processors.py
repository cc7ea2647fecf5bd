"""A campaign goes on on another machine: whatever its processor, every method asks what it asked on this one."""

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from cccount_dist.sampling.methods import METHODS
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.rows import degree

ITEMS = 240
FEWEST = 40  # questions of a campaign that say something
PLAIN_NUMPY = {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}  # its loops without AVX
# What is set, and what the libraries then say that they compute for.
PROCESSORS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "haswell": ({"OPENBLAS_CORETYPE": "Haswell"}, {"openblas": "Haswell"}),
    "prescott": ({"OPENBLAS_CORETYPE": "Prescott"}, {"openblas": "Katmai"}),  # the oldest one, by which OpenBLAS names its family
    "numpy without AVX": (PLAIN_NUMPY, {"numpy": "baseline"}),
    "any processor": (
        {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "OPENBLAS_CORETYPE": "Prescott", **PLAIN_NUMPY},
        {"numba": "generic", "openblas": "Katmai", "numpy": "baseline"},
    ),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    digits = load_digits()
    chosen = np.random.default_rng(5).permutation(len(digits.target))[:ITEMS]
    vectors = prepare(digits.data[chosen].astype(np.float32), "cosine")
    found = neighbors_in_memory(vectors, 20)
    path = tmp_path_factory.mktemp("stored") / "stored.npz"
    np.savez(
        path,
        vectors=vectors,
        degree=degree(vectors),
        index=found.index,
        similarity=found.similarity,
        labels=digits.target[chosen].astype(np.int64),
    )
    return path


@dataclass(frozen=True)
class Told:
    """What a process computes for, what it asks, and how a simulation in it rates."""

    processor: dict[str, str]
    questions: dict[str, list[str]]
    ratings: list[float]


def campaigns_on(stored: Path, settings: dict[str, str]) -> Told:
    """What a process with these settings says."""
    command = [sys.executable, "-m", "tests.otherprocessors", str(stored)]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return Told(**json.loads(done.stdout))


@pytest.fixture(scope="module")
def here(stored: Path) -> Told:
    return campaigns_on(stored, {})


def test_every_method_that_is_registered_is_tried(here: Told) -> None:
    assert set(here.questions) == set(METHODS.names())
    assert all(len(questions) >= FEWEST for questions in here.questions.values())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the settings are those of x86-64")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_method_asks_the_same_on_another_processor(processor: str, stored: Path, here: Told) -> None:
    settings, expected = PROCESSORS[processor]
    there = campaigns_on(stored, settings)
    for library, name in expected.items():
        assert name in there.processor[library], "the setting has no effect: this would compare a processor with itself"
    assert list(there.questions) == list(here.questions)
    assert [name for name in here.questions if there.questions[name] != here.questions[name]] == []
    assert there.ratings == here.ratings

"""Replicated experiments on Dask: interrupted ones go on, and other code or plans do not mix with them."""

import json
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.counting.labelled import Source
from cccount_dist.counting.trials import Plan
from flows.compute.clients import open_client
from flows.stages.benchmark import benchmark_counting, make_plan, run_benchmark, table
from flows.stages.benchmarkoptions import BenchmarkOptions
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs

PLAN = Plan(efforts=(0.2, 0.5))


def test_more_runs_add_to_those_that_are_there(tmp_path: Path) -> None:
    vectors, labels = blobs((20, 10, 5, 5))
    np.savez(tmp_path / "set.npz", x=vectors, y=labels)
    source, results = Source("small", str(tmp_path / "set.npz")), tmp_path / "runs"
    with open_client(workers=1) as client:
        benchmark_counting([source], [PLAN], runs=2, results=results, client=client)
        (file,) = results.iterdir()
        before = file.read_text()
        file.write_text(before + '{"run": 2, "outc')  # killed while it wrote
        ((_, _, summaries),) = benchmark_counting([source], [PLAN], runs=3, results=results, client=client)
        assert file.read_text().startswith(before)
        rows = [json.loads(line)["run"] for line in file.read_text().splitlines() if line.endswith("}")]
        assert sorted(rows) == [0, 1, 2]
        assert [summary.runs for summary in summaries] == [3, 3]
        other = Plan(efforts=(0.2,))
        benchmark_counting([source], [other], runs=1, results=results, client=client)
        assert len(list(results.iterdir())) == 2
        (row, _) = table([(source, PLAN, summaries)])
        assert row.startswith("| small | placing | 3 | 0.2 |")
    ((_, _, found),) = benchmark_counting([source], [PLAN], runs=100, results=results, client=None)
    assert found == summaries


def test_a_plan_is_made_from_what_was_typed() -> None:
    plan = make_plan("placing", BenchmarkOptions(efforts="0.1,1", noise="0.08,0.02", grid=24, search="full"))
    assert plan.noise == (0.08, 0.02)
    assert plan.efforts == (0.1, 1.0)
    assert plan.parameters == {"grid": 24, "wrong_answers": "estimate", "search": "full", "space": "sharp", "interval": "one"}
    assert make_plan("inverse", BenchmarkOptions(efforts="1", noise="0", search="full")).parameters == {}
    with pytest.raises(InputError, match="--noise takes numbers"):
        make_plan("placing", BenchmarkOptions(efforts="1", noise="much", search="full"))


def test_no_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--runs must be at least 1"):
        run_benchmark(["digits"], BenchmarkOptions(runs=0, efforts="1", search="full", results=str(tmp_path), workers=1))

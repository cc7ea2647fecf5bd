"""Replicated experiments on Dask: interrupted ones go on, and other code or plans do not mix with them."""

import json
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.counting.labelled import Source
from cccount_dist.counting.trials import Plan
from flows.benchmark import benchmark_counting, make_plan, run_benchmark, table
from flows.compute import open_client
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
    plan = make_plan("placing", "0.1,1", "0.08,0.02", 0.0, None, 24, "full", None, page_cost=3.0)
    assert plan.noise == (0.08, 0.02)
    assert plan.efforts == (0.1, 1.0)
    assert plan.parameters == {"grid": 24, "wrong_answers": "estimate", "search": "full", "space": "sharp"}
    assert make_plan("inverse", "1", "0", 0.0, None, 1, "full", None, page_cost=3.0).parameters == {}
    with pytest.raises(InputError, match="--noise takes numbers"):
        make_plan("placing", "1", "much", 0.0, None, 1, "full", None, page_cost=3.0)


def test_no_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--runs must be at least 1"):
        run_benchmark(
            ["digits"], methods=["placing"], runs=0, efforts="1", noise="0", repeating=0.0, wrong_answers=None, grid=1,
            search="full", stop=None, results=str(tmp_path), compute="local", workers=1, memory_limit=None,
        )  # fmt: skip

"""Error, bias, coverage and width of counting methods on labelled collections, many seeded runs each, as a markdown table.

    python -m benchmarks.counting --data FOLDER --sets czoo,balanced --runs 100
    python -m benchmarks.counting --data FOLDER --noise 0.04 --runs 100          # 4 % wrong answers, rates not told
    python -m benchmarks.counting --data FOLDER --grid 24 --noise 0.04 --runs 100 # pages, 4 % misses and 1 % false picks a glance

Efforts are in parts of n pair answers; a page counts as `--page-cost` of them. One process for each core, one thread each.
"""

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.countingsets import SETS, LabelledSet, load
from cccount_dist.counting.methods import make_counter, needs_degree
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.rows import degree

FIRST_SEED = 500_000  # far from the seeds of tests and notes


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for every run."""

    efforts: tuple[float, ...]
    method: str
    noise: tuple[float, float]  # misses, false "same"
    wrong_answers: str
    grid: int
    page_cost: float


_set: LabelledSet
_degree: np.ndarray


def _open(name: str, folder: Path, method: str) -> None:
    """Load the set once for each process, which keeps to one thread."""
    threadpool_limits(1)
    global _set, _degree
    found = load(name, folder)
    assert found is not None
    _set = found
    _degree = degree(found.vectors) if needs_degree(method) else np.zeros(len(found.labels))


def _run(plan: Plan, number: int) -> list[tuple[CountResult, float]]:
    """One run: the results at each effort, and the effort that was spent."""
    return list(_steps(plan, number))


def _steps(plan: Plan, number: int) -> Iterator[tuple[CountResult, float]]:
    items, seed = len(_set.labels), FIRST_SEED + number
    given: dict[str, int | str] = {"grid": plan.grid, "wrong_answers": plan.wrong_answers}
    parameters = given if plan.method == "placing" else {}
    sampler = make_counter(plan.method, vectors=_set.vectors, degree=_degree, seed=seed, parameters=parameters)
    miss, false_same = plan.noise
    oracle = LabelOracle(_set.labels, error_rate=miss, false_same=false_same, seed=seed)
    constraints, spent = Constraints(), 0.0
    for effort in plan.efforts:
        budget = int(effort * items - spent)
        if budget > 0:
            tally = drive(sampler, oracle, budget=budget, constraints=constraints, page_cost=plan.page_cost)
            spent += tally.questions + plan.page_cost * tally.glances
        yield sampler.result(), spent


def _run_until(plan: Plan, number: int, width: float) -> tuple[CountResult, float]:
    """One run that stops when the interval is narrow enough, looked at every 2 % of n; at 3 n at the latest."""
    results, step = [], 0.02
    many = replace(plan, efforts=tuple(step * (look + 1) for look in range(int(3 / step))))
    for result, spent in _steps(many, number):
        results.append((result.at_stop(), spent))
        if results[-1][0].relative_width <= width:
            break
    return results[-1]


def measure_stop(name: str, folder: Path, plan: Plan, runs: int, processes: int, width: float) -> str:
    """Return a line that says how often the interval at the stop held the truth."""
    with ProcessPoolExecutor(processes, initializer=_open, initargs=(name, folder, plan.method)) as pool:
        table = list(pool.map(_run_until, [plan] * runs, range(runs), [width] * runs))
    found = load(name, folder)
    assert found is not None
    truth, items = found.clusters, len(found.labels)
    covered = np.mean([result.low <= truth <= result.high for result, _ in table])
    error = np.mean([abs((result.estimate or items) / truth - 1) for result, _ in table])
    effort = np.array([spent for _, spent in table]) / items
    return f"| {name} | {width:g} | {covered:.2f} | {error:.3f} | {effort.mean():.2f} | {np.quantile(effort, 0.9):.2f} |"


def measure(name: str, folder: Path, plan: Plan, runs: int, processes: int) -> list[str]:
    """Return the lines of the table for one set."""
    start = time.perf_counter()
    with ProcessPoolExecutor(processes, initializer=_open, initargs=(name, folder, plan.method)) as pool:
        table = list(pool.map(_run, [plan] * runs, range(runs), chunksize=max(1, runs // (4 * processes))))
    seconds = (time.perf_counter() - start) / runs * processes
    found = load(name, folder)
    assert found is not None
    truth, items = found.clusters, len(found.labels)
    lines = []
    for place, effort in enumerate(plan.efforts):
        results = [run[place][0] for run in table]
        estimates = np.array([items if result.estimate is None else result.estimate for result in results])
        relative = estimates / truth - 1.0
        covered = np.mean([result.low <= truth <= result.high for result in results])
        width = np.median([(result.high - result.low) / truth for result in results])
        placed = np.mean([result.anchors for result in results])
        spent = np.mean([run[place][1] for run in table]) / items
        detail = ""
        if "mixture" in results[0].details:
            chao = np.mean([abs(r.details.get("chao", items) / truth - 1) for r in results])
            splits = np.mean([r.details.get("false_splits", 0.0) for r in results])
            detail = f"chao {chao:.3f}, F {splits:.2f}"
        lines.append(
            f"| {name} | {plan.method} | {effort:g} | {np.abs(relative).mean():.3f} | {relative.mean():+.3f} | {covered:.2f} "
            f"| {width:.2f} | {placed:.0f} | {spent:.3f} | {seconds:.2f} | {detail} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the .npz files; sets that are not there are skipped")
    parser.add_argument("--sets", default=",".join(SETS), help="names, or .npz files with x and y, without the ending")
    parser.add_argument("--efforts", default="0.1,0.25,0.5,1", help="parts of n")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--methods", default="placing")
    parser.add_argument("--noise", default="0", help="rate of wrong answers, or misses,false-same")
    parser.add_argument(
        "--wrong-answers", default=None, help="what the method is told; by default none without noise, else estimate"
    )
    parser.add_argument("--grid", type=int, default=1)
    parser.add_argument("--page-cost", type=float, default=3.0)
    parser.add_argument("--stop", type=float, help="stop each run when the interval is this wide, in parts of the estimate")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    rates = [float(part) for part in given.noise.split(",")]
    told = given.wrong_answers or ("estimate" if any(rates) else "none")
    print(f"{given.runs} runs, noise {given.noise}, told {told}, grid {given.grid}, a page costs {given.page_cost:g}\n")
    if given.stop is not None:
        print("| set | width | coverage at the stop | error | effort / n | 90 % |\n|---|---|---|---|---|---|")
    else:
        print("| set | method | effort / n | error | bias | coverage | width | items | spent / n | s / run | |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in given.sets.split(","):
        if load(name, given.data) is None:
            print(f"| {name} | not in {given.data} |")
            continue
        for method in given.methods.split(","):
            plan = Plan(
                tuple(float(effort) for effort in given.efforts.split(",")),
                method,
                (rates[0], rates[-1]),
                told,
                given.grid,
                given.page_cost,
            )
            if given.stop is not None:
                print(measure_stop(name, given.data, plan, given.runs, given.processes, given.stop), flush=True)
                continue
            print("\n".join(measure(name, given.data, plan, given.runs, given.processes)), flush=True)


if __name__ == "__main__":
    main()

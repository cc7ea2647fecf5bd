"""Replicated experiments on Dask: many seeded runs of a counting method on labelled collections, as one command.

    cccount benchmark counting digits longtail faces.npz --runs 100
    cccount benchmark counting faces.npz --noise 0.04 --grid 24 --runs 100

One task is one run. A finished run is one line of a file in the folder of results, whose name stands for the collection, the plan
and the state of the code: run again after an interruption, or with more runs, only what is missing is computed.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import distributed

from cccount_dist.counting.labelled import LabelledSet, Source, load
from cccount_dist.counting.trials import Outcome, Plan, Summary, run_trial, summarise
from flows.compute import open_client, run_tasks
from storage.errors import InputError
from storage.settings import Scalar

HEAD = "| set | method | runs | effort / n | error | bias | coverage | width | items |\n|---|---|---|---|---|---|---|---|---|"
STOP_HEAD = (
    "| set | method | runs | width | coverage at the stop | error | effort / n | 90 % |\n|---|---|---|---|---|---|---|---|"
)


def benchmark_counting(
    sources: Sequence[Source],
    plans: Sequence[Plan],
    *,
    runs: int,
    results: Path,
    client: distributed.Client | None,
) -> list[tuple[Source, Plan, list[Summary]]]:
    """Run every plan on every collection, and summarise; what the folder of results holds is not run again.

    Without a client nothing is run: what is there, up to so many runs, is summarised.
    """
    results.mkdir(parents=True, exist_ok=True)
    return [(source, plan, _measure(source, plan, runs, results, client)) for source in sources for plan in plans]


def _measure(source: Source, plan: Plan, runs: int, results: Path, client: distributed.Client | None) -> list[Summary]:
    file = results / f"{source.name}-{plan.method}-{_digest(source, plan)}.jsonl"
    done = _read(file)
    if client is not None:
        _add_runs(source, plan, file, done, [number for number in range(runs) if number not in done], client)
    clusters = _collection(source).clusters
    there = [done[number] for number in range(runs) if number in done]
    return [summarise(column, clusters) for column in zip(*there, strict=True)]


def _add_runs(
    source: Source, plan: Plan, file: Path, done: dict[int, list[Outcome]], missing: list[int], client: distributed.Client
) -> None:
    before = len(done)
    with file.open("a") as sink:
        sink.write("\n")  # behind a line that was cut by a kill

        def keep(place: int, outcomes: list[Outcome]) -> None:
            done[missing[place]] = outcomes
            sink.write(json.dumps({"run": missing[place], "outcomes": [asdict(outcome) for outcome in outcomes]}) + "\n")
            sink.flush()

        if missing:
            task = partial(_run, source, plan)
            what = f"{source.name}, {plan.method}"
            run_tasks(client, task, missing, describe=what, unit="runs", done_before=before, on_result=keep)


def _run(source: Source, plan: Plan, number: int) -> list[Outcome]:
    return run_trial(_collection(source), plan, number)


@lru_cache(maxsize=1)
def _collection(source: Source) -> LabelledSet:
    """Each worker loads a collection once."""
    return load(source)


def _read(file: Path) -> dict[int, list[Outcome]]:
    """Runs that are whole; a line that was cut by a kill is left out, and its run made again."""
    found: dict[int, list[Outcome]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        if not line:
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[row["run"]] = [Outcome(**outcome) for outcome in row["outcomes"]]
    return found


def _digest(source: Source, plan: Plan) -> str:
    said = json.dumps([asdict(source), asdict(plan)], sort_keys=True)
    return hashlib.sha256(f"{said}{_code()}".encode()).hexdigest()[:12]


@lru_cache(maxsize=1)
def _code() -> str:
    """What the code that a run depends on is now: runs of another state are not mixed with its own."""
    import cccount_dist

    root = Path(cccount_dist.__file__).parent
    files = sorted(file for part in ("counting", "sampling", "similarity") for file in (root / part).rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def table(measured: Sequence[tuple[Source, Plan, list[Summary]]]) -> list[str]:
    """Return the rows of a markdown table (`HEAD`, or `STOP_HEAD` for plans that stop at a width)."""
    rows = []
    for source, plan, summaries in measured:
        for s in summaries:
            if plan.stop is not None:
                rows.append(
                    f"| {source.name} | {plan.method} | {s.runs} | {plan.stop:g} | {s.coverage:.2f} | {s.error:.3f} "
                    f"| {s.spent:.2f} | {s.spent_90:.2f} |"
                )
                continue
            rows.append(
                f"| {source.name} | {plan.method} | {s.runs} | {s.effort:g} | {s.error:.3f} | {s.bias:+.3f} | {s.coverage:.2f} "
                f"| {s.width:.2f} | {s.items:.0f} |"
            )
    return rows


def run_benchmark(
    names: Sequence[str],
    *,
    methods: Sequence[str],
    runs: int,
    efforts: str,
    noise: str,
    repeating: float,
    wrong_answers: str | None,
    grid: int,
    search: str,
    stop: float | None,
    results: str,
    compute: str,
    workers: int | None,
    memory_limit: str | None,
) -> dict[str, Any]:
    """What `cccount benchmark counting` does: names of collections and plain options in, a report out."""
    if runs < 1:
        raise InputError(f"--runs must be at least 1, not {runs}")
    sources = [Source(Path(name).stem, name) if name.endswith(".npz") else Source(name) for name in names]
    plans = [make_plan(method, efforts, noise, repeating, wrong_answers, grid, search, stop, page_cost=3.0) for method in methods]
    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        measured = benchmark_counting(sources, plans, runs=runs, results=Path(results), client=client)
    return {
        "runs": runs,
        "results": str(Path(results)),
        "rows": [
            {"set": source.name, "method": plan.method, "stop": plan.stop, **asdict(summary)}
            for source, plan, summaries in measured
            for summary in summaries
        ],
        "table": [HEAD if stop is None else STOP_HEAD, *table(measured)],
    }


def make_plan(
    method: str,
    efforts: str,
    noise: str,
    repeating: float,
    wrong_answers: str | None,
    grid: int,
    search: str,
    stop: float | None,
    *,
    page_cost: float,
) -> Plan:
    """Turn what was typed into a plan. Without noise a method is told that answers are right, with noise to estimate rates."""
    rates, parts = _numbers("--noise", noise), _numbers("--efforts", efforts)
    told = wrong_answers or ("estimate" if any(rates) else "none")
    placing: dict[str, Scalar] = {"grid": grid, "wrong_answers": told, "search": search, "space": "sharp"}
    return Plan(method, parts, (rates[0], rates[-1]), repeating, page_cost, stop, placing if method == "placing" else {})


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{option} takes numbers with commas between them, not {text!r}") from None

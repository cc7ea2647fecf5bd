"""Replicated experiments on Dask: many seeded runs of a counting method on labelled collections, as one command.

    cccount benchmark counting digits longtail faces.npz --runs 100
    cccount benchmark counting faces.npz --noise 0.04 --grid 24 --runs 100

One task is one run. A finished run is one line of a file in the folder of results, whose name stands for the collection, the plan
and the state of the code: run again after an interruption, or with more runs, only what is missing is computed.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path

import distributed

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.counting.labelled import LabelledSet, Source, load
from cccount_dist.counting.methods import counting_method
from cccount_dist.counting.trials import Plan, Summary, TrialOutcome, run_trial, summarise
from cccount_dist.options import named_values
from flows.compute.clients import run_tasks
from flows.stages.benchmarkoptions import BenchmarkOptions
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
    source: Source, plan: Plan, file: Path, done: dict[int, list[TrialOutcome]], missing: list[int], client: distributed.Client
) -> None:
    before = len(done)
    with file.open("a") as sink:
        sink.write("\n")  # behind a line that was cut by a kill

        def keep(place: int, outcomes: list[TrialOutcome]) -> None:
            done[missing[place]] = outcomes
            sink.write(json.dumps({"run": missing[place], "outcomes": [asdict(outcome) for outcome in outcomes]}) + "\n")
            sink.flush()

        if missing:
            task = partial(_run, source, plan)
            what = f"{source.name}, {plan.method}"
            run_tasks(client, task, missing, describe=what, unit="runs", done_before=before, on_result=keep)


def _run(source: Source, plan: Plan, number: int) -> list[TrialOutcome]:
    return run_trial(_collection(source), plan, number)


@lru_cache(maxsize=1)
def _collection(source: Source) -> LabelledSet:
    """Each worker loads a collection once."""
    return load(source)


def _read(file: Path) -> dict[int, list[TrialOutcome]]:
    """Runs that are whole; a line that was cut by a kill is left out, and its run made again."""
    found: dict[int, list[TrialOutcome]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        if not line:
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[row["run"]] = [TrialOutcome(**outcome) for outcome in row["outcomes"]]
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


@dataclass(frozen=True, slots=True)
class BenchmarkRow:
    """What many runs of one method on one collection say, at one effort or at the stop."""

    set: str
    method: str
    stop: float | None
    summary: Summary


@dataclass(frozen=True, slots=True)
class Benchmarked(Outcome):
    """What was measured, and the table of it."""

    runs: int
    results: str
    rows: Sequence[BenchmarkRow]
    table: Sequence[str]

    def words(self) -> str:
        return "\n".join([f"{self.runs:,} runs each; finished ones are in {self.results}.", "", *self.table])

    def json(self) -> dict[str, object]:
        rows = [{"set": row.set, "method": row.method, "stop": row.stop, **asdict(row.summary)} for row in self.rows]
        return {"runs": self.runs, "results": self.results, "rows": rows, "table": list(self.table)}


def run_benchmark(names: Sequence[str], options: BenchmarkOptions) -> Benchmarked:
    """What `cccount benchmark counting` does with these collections."""
    sources = [Source(Path(name).stem, name) if name.endswith(".npz") else Source(name) for name in names]
    plans = [make_plan(method, options) for method in options.methods.split(",")]
    with options.client() as client:
        measured = benchmark_counting(sources, plans, runs=options.runs, results=Path(options.results), client=client)
    rows = [
        BenchmarkRow(source.name, plan.method, plan.stop, summary)
        for source, plan, summaries in measured
        for summary in summaries
    ]
    head = HEAD if options.stop is None else STOP_HEAD
    return Benchmarked(options.runs, str(Path(options.results)), rows, [head, *table(measured)])


def make_plan(method: str, options: BenchmarkOptions, *, page_cost: float = 3.0) -> Plan:
    """Turn what was typed into a plan. Without noise a method is told that answers are right, with noise to estimate rates."""
    rates, parts = _numbers("--noise", options.noise), _numbers("--efforts", options.efforts)
    told = options.wrong_answers or ("estimate" if any(rates) else "none")
    given: dict[str, Scalar] = {
        "grid": options.grid, "wrong_answers": told, "search": options.search, "space": "sharp", "interval": "one",
    }  # fmt: skip
    found, named = counting_method(method), named_values(options.parameter)
    methods = [counting_method(name) for name in options.methods.split(",")]
    for name in named:
        if not any(one.has(name) for one in methods):
            raise InputError(f"--parameter {name}=: none of {options.methods} has it; see `cccount methods {method}`")
    said = {name: value for name, value in (given | named).items() if found.has(name)}
    known = found.preset(options.preset, said) | said
    found.read(known)
    return Plan(method, parts, (rates[0], rates[-1]), options.repeating, page_cost, options.stop, known)


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{option} takes numbers with commas between them, not {text!r}") from None

"""One measurement is a job: finished ones are lines of a file, and only what is missing is run, here or on a Dask cluster."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import distributed

from flows.compute.clients import run_tasks

Value = str | int | float | bool
Case = Mapping[str, Value]
Row = dict[str, float]
Done = Sequence[tuple[Case, Row]]


class Cases(Protocol):
    """What is measured."""

    def __call__(self, *, full: bool) -> list[dict[str, Value]]:
        """Return the cases of the quick form, or of the full one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper.

    name : what is typed
    of : paper, and which figure or table
    cases : what is measured, in the quick form and in the full one
    measure : one case, from the folder of data
    table : markdown of everything that was measured
    """

    name: str
    of: str
    cases: Cases
    measure: Callable[[Path, Case], Row]
    table: Callable[[Done], list[str]]


def run(
    experiment: Experiment, folder: Path, results: Path, *, full: bool, client: distributed.Client | None
) -> list[tuple[Case, Row]]:
    """Return every case with what was measured; a case whose data are not in the folder is left out."""
    results.mkdir(parents=True, exist_ok=True)
    file = results / f"{experiment.name}.jsonl"
    done = _read(file)
    cases = [case for case in experiment.cases(full=full) if _has_data(folder, case)]
    missing = [case for case in cases if _key(case) not in done]
    with file.open("a") as sink:
        sink.write("\n")  # behind a line that was cut by a kill

        def keep(place: int, row: Row) -> None:
            done[_key(missing[place])] = row
            sink.write(json.dumps({"case": missing[place], "row": row}) + "\n")
            sink.flush()

        task = partial(experiment.measure, folder)
        if client is not None and missing:
            before = len(cases) - len(missing)
            run_tasks(client, task, missing, describe=experiment.name, unit="cases", done_before=before, on_result=keep)
        else:
            for place, case in enumerate(missing):
                keep(place, task(case))
    return [(case, done[_key(case)]) for case in cases]


def stored(experiment: Experiment, results: Path, *, full: bool) -> list[tuple[Case, Row]]:
    """Return what was measured so far, without measuring anything."""
    done = _read(results / f"{experiment.name}.jsonl")
    return [(case, done[_key(case)]) for case in experiment.cases(full=full) if _key(case) in done]


def _has_data(folder: Path, case: Case) -> bool:
    file = case.get("file")
    return not file or (folder / f"{file}.npz").exists()


def _key(case: Case) -> str:
    return json.dumps(case, sort_keys=True)


def _read(file: Path) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            entry = json.loads(line) if line else None
        except json.JSONDecodeError:
            continue
        if entry:
            found[_key(entry["case"])] = entry["row"]
    return found


def means(done: Done, by: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return a markdown table: a row for each value of `by`, with the mean of each column and how many runs it is of."""
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for case, row in done:
        groups.setdefault(tuple(case[name] for name in by), []).append(row)
    head = [*by, "runs", *columns]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key, rows in groups.items():
        cells = []
        for name in columns:
            values = [row[name] for row in rows if name in row]
            cells.append(f"{sum(values) / len(values):.4g}" if values else "")
        lines.append(f"| {' | '.join(map(str, key))} | {len(rows)} | {' | '.join(cells)} |")
    return lines

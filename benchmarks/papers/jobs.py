"""One measurement is a job: finished ones are lines of a file, and only what is missing is run, here or on a Dask cluster."""

import json
from functools import partial
from pathlib import Path

import distributed

from benchmarks.papers.experiment import Case, Experiment, Row
from flows.compute.clients import run_tasks


def run(
    experiment: Experiment, folder: Path, results: Path, *, full: bool, client: distributed.Client | None, most: int | None = None
) -> list[tuple[Case, Row]]:
    """Return every case with what was measured; a case whose data are not in the folder is left out.

    First runs come first, so that whoever stops in the middle has some of everything. `most`: how many are measured now.
    """
    results.mkdir(parents=True, exist_ok=True)
    file = results / f"{experiment.name}.jsonl"
    done = _read(file)
    cases = [case for case in experiment.cases(full=full) if _has_data(folder, case)]
    missing = sorted((case for case in cases if _key(case) not in done), key=_replicate)[:most]
    with file.open("a") as sink:
        sink.write("\n")  # behind a line that was cut by a kill

        def keep(place: int, row: Row) -> None:
            done[_key(missing[place])] = row
            sink.write(json.dumps({"case": missing[place], "row": row}) + "\n")
            sink.flush()

        task = partial(experiment.measure, folder)
        if client is not None and missing:
            before = sum(_key(case) in done for case in cases)
            run_tasks(client, task, missing, describe=experiment.name, unit="cases", done_before=before, on_result=keep)
        else:
            for place, case in enumerate(missing):
                keep(place, task(case))
    return [(case, done[_key(case)]) for case in cases if _key(case) in done]


def stored(experiment: Experiment, results: Path, *, full: bool) -> list[tuple[Case, Row]]:
    """Return what was measured so far, without measuring anything."""
    done = _read(results / f"{experiment.name}.jsonl")
    return [(case, done[_key(case)]) for case in experiment.cases(full=full) if _key(case) in done]


def _has_data(folder: Path, case: Case) -> bool:
    file = case.get("file")
    return not file or (folder / f"{file}.npz").exists()


def _replicate(case: Case) -> int:
    return int(next((case[name] for name in ("run", "seed", "chunk") if name in case), 0))


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

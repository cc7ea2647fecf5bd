"""What better vectors are worth: the same campaigns over `efficientnet-lite0` as it was, and over `composite` and its map.

    python -m benchmarks.encoder_worth --data FOLDER --write count
    python -m benchmarks.encoder_worth --data FOLDER --sheets --sets C-Zoo --seeds 2 --write sheets

Counts, after the effort of n / 4 pairs, asked in pairs and in pages: `placing`, right answers; a page of 24 costs 3 pairs. Error
is the mean of |estimate - K| / K over the runs with its standard error, width the median in parts of K. Of the difference after -
before the runs with the same seed are compared. With --sheets a person's hours to an adjusted Rand index of .95: `catalogue`,
right answers, 30 s a sheet (`benchmarks/catalogue.py`). GTSRB: frames of one track stay in, as they are in a collection.
`--kept FOLDER` keeps the vectors for the next run.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.catalogue import Errors, run
from benchmarks.encoder_accuracy import DRAWN, SETS, Pictures, encoded, pictures
from benchmarks.pasting import paste
from cccount_dist.counting.labelled import LabelledSet
from cccount_dist.counting.methods import counting_method
from cccount_dist.counting.trials import Plan, TrialOutcome, run_trial, summarise
from cccount_dist.embedding.fitting import fit_in_memory
from cccount_dist.sampling.methods import Start
from cccount_dist.similarity.metrics import prepare
from flows.compute.clients import open_client

PAGE = Path("docs/evidence/embedding.md")
WAYS = ("efficientnet-lite0", "composite")
GRID = {"pairs": 1, "pages": 24}
EFFORT = 0.25
REACHED = 0.95
MOST_HOURS = 8.0

Vectors = NDArray[np.float32]


def vectors_of(found: Pictures, name: str, encoder: str, kept: Path | None) -> Vectors:
    """Return what campaigns see: of `composite` the vectors behind the map."""
    file = None if kept is None else kept / f"{name}-{encoder}.npy"
    if file is not None and file.exists():
        given = np.load(file)
    else:
        with tempfile.TemporaryDirectory() as made, open_client("local", workers=2) as client:
            given = encoded(found, encoder, Path(made, encoder), client)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            np.save(file, given)
    if encoder == "composite" and (fitted := fit_in_memory(given)) is not None:
        given = fitted[0].apply(given)
    return prepare(given, "cosine")


def counted(vectors: Vectors, labels: NDArray[np.int64], grid: int, seeds: int) -> list[TrialOutcome]:
    """The outcome of each seed after n / 4 pairs."""
    collection = LabelledSet(vectors, labels)
    parameters = counting_method("placing").frozen({"grid": grid}, Start(simulated=True))
    plan = Plan(efforts=(EFFORT,), parameters=parameters)
    return [run_trial(collection, plan, seed)[0] for seed in range(seeds)]


def count_rows(name: str, labels: NDArray[np.int64], ways: dict[str, Vectors], seeds: int) -> list[str]:
    truth, rows = len(np.unique(labels)), []
    for asked, grid in GRID.items():
        cells, errors = [], []
        for vectors in ways.values():
            outcomes = counted(vectors, labels, grid, seeds)
            said = summarise(outcomes, truth)
            errors.append(np.array([abs(one.estimate / truth - 1) for one in outcomes]))
            cells.append(
                f"{said.error:.3f} ± {_deviation(errors[-1]):.3f}, {said.width:.2f}, {said.coverage:.2f}, {said.items:.0f}"
            )
        less = errors[1] - errors[0]
        cells.append(f"{less.mean():+.3f} ± {_deviation(less):.3f}")
        rows.append(f"| {name}, {asked} | {seeds} | {' | '.join(cells)} |")
        print(rows[-1], flush=True)
    return rows


def _deviation(values: NDArray[np.float64]) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def sheet_rows(name: str, labels: NDArray[np.int64], ways: dict[str, Vectors], seeds: int) -> list[str]:
    rows = []
    for way, vectors in ways.items():
        runs = [run((vectors, labels), seed, Errors(), MOST_HOURS, until=REACHED) for seed in range(seeds)]
        hours = [f"{one.to(REACHED):.2f}" for one in runs]
        second = [f"{one.to(REACHED, second=True):.2f}" for one in runs]
        at_one = [f"{one.at(1.0):.3f}" for one in runs]
        rows.append(f"| {name}, {way} | {', '.join(hours)} | {', '.join(second)} | {', '.join(at_one)} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="*", default=SETS[:3], choices=[*SETS, DRAWN])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sheets", action="store_true", help="groups by sheets instead of counts")
    parser.add_argument("--kept", type=Path, help="folder in which vectors are kept for the next run")
    parser.add_argument("--write", metavar="NAME", help="put the table into docs/evidence/embedding.md")
    options = parser.parse_args()
    if options.sheets:
        lines = [
            f"| set, vectors | hours to ARI {REACHED:g}, each run | by the second model | ARI after an hour |",
            "|---|---|---|---|",
        ]
    else:
        cells = " | ".join(f"{way}: error, width, held, placed" for way in WAYS)
        lines = [f"| set, asked in | runs | {cells} | error, after - before |", "|---|---|---|---|---|"]
    print("\n".join(lines), flush=True)
    for name in options.sets:
        found = pictures(options.data, name)
        ways = {way: vectors_of(found, name, way, options.kept) for way in WAYS}
        lines += (sheet_rows if options.sheets else count_rows)(name, found.labels, ways, options.seeds)
    if options.write:
        paste(PAGE, options.write, lines)


if __name__ == "__main__":
    main()

"""The tables of docs/evidence/counting.md: error, bias, coverage and width of counting on labelled collections.

Many seeded runs each.

    python -m benchmarks.counting --data FOLDER --sets czoo,balanced --runs 100
    python -m benchmarks.counting --data FOLDER --noise 0.04 --runs 100           # 4 % wrong answers, rates not told
    python -m benchmarks.counting --data FOLDER --grid 24 --noise 0.04 --runs 100 # pages, 4 % misses and 1 % false picks a glance
    python -m benchmarks.counting --data FOLDER --stop 0.3 --runs 100             # coverage of runs that stop at a width
    … --write pairs|noise|pages|stop|repeating                             # put the table into docs/evidence/counting.md

The runs are those of `cccount benchmark counting` (`flows/stages/benchmark.py`): on Dask, kept in `--results`, not made twice.
"""

import argparse
from contextlib import nullcontext
from pathlib import Path

from benchmarks.countingsets import SETS, find
from benchmarks.pasting import paste
from flows.compute.clients import open_client
from flows.stages.benchmark import HEAD, STOP_HEAD, benchmark_counting, make_plan, table
from flows.stages.benchmarkoptions import BenchmarkOptions

PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "counting.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(), help="folder of the .npz files; sets that are not there are skipped")
    parser.add_argument("--sets", default=",".join(SETS), help="names, or .npz files with x and y, without the ending")
    parser.add_argument("--efforts", default="0.1,0.25,0.5,1", help="parts of n")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--methods", default="placing")
    parser.add_argument("--noise", default="0", help="rate of wrong answers, or misses,false-same")
    parser.add_argument(
        "--repeating", type=float, default=0.0, help="share of the wrong answers that come again for the same pair"
    )
    parser.add_argument("--wrong-answers", help="what the method is told; by default none without noise, else estimate")
    parser.add_argument("--grid", type=int, default=1)
    parser.add_argument("--search", default="fast")
    parser.add_argument("--page-cost", type=float, default=3.0)
    parser.add_argument("--stop", type=float, help="stop each run when the interval is this wide, in parts of the estimate")
    parser.add_argument("--results", type=Path, default=Path("benchmark-runs"))
    parser.add_argument("--processes", type=int)
    parser.add_argument("--finished", action="store_true", help="run nothing: the table of what is in --results")
    parser.add_argument("--write", metavar="NAME", help="put the table into the page, between the marks of this name")
    given = parser.parse_args()
    sources = [source for name in given.sets.split(",") if (source := find(name, given.data)) is not None]
    options = BenchmarkOptions(
        efforts=given.efforts,
        noise=given.noise,
        repeating=given.repeating,
        wrong_answers=given.wrong_answers,
        grid=given.grid,
        search=given.search,
        stop=given.stop,
    )
    plans = [make_plan(method, options, page_cost=given.page_cost) for method in given.methods.split(",")]
    lines = (HEAD if given.stop is None else STOP_HEAD).splitlines()
    print("\n".join(lines), flush=True)
    with nullcontext() if given.finished else open_client(workers=given.processes) as client:
        for source in sources:
            rows = table(benchmark_counting([source], plans, runs=given.runs, results=given.results, client=client))
            print("\n".join(rows), flush=True)
            lines += rows
    if given.write:
        paste(PAGE, given.write, ["", *lines, ""])


if __name__ == "__main__":
    main()

"""The figures and tables of the five papers, on open data and stand-ins, beside our defaults.

    python -m benchmarks.papers --data FOLDER                 the quick form: minutes, few seeds
    python -m benchmarks.papers --data FOLDER --full          the full form: hours; again: only what is missing
    python -m benchmarks.papers --data FOLDER --full --dask   the same on a Dask cluster (--compute, --workers)
    … --cases 1                   one missing case of each experiment: whether all of them run
    … --stored --write            tables and plots of what is there into docs/evidence/paper-figures.md
    python -m benchmarks.papers --list

Finished measurements are lines in the folder of results; `NAME.md` is the table, `NAME.svg` the plot (extra `benchmarks`). A case
whose data are not in the folder is left out. docs/evidence/papers.md says what stands for what.
"""

import argparse
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.papers import apc, hacc, iu_red, nis, subclustering
from benchmarks.papers.jobs import run, stored
from benchmarks.papers.pictures import draw
from benchmarks.pasting import paste
from flows.compute.options import ComputeOptions

EXPERIMENTS = {one.name: one for module in (nis, apc, hacc, subclustering, iu_red) for one in module.EXPERIMENTS}

PAGE = Path(__file__).parent.parent.parent / "docs/evidence/paper-figures.md"


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of .npz files")
    parser.add_argument("--results", type=Path, default=Path("paper-runs"))
    parser.add_argument("--only", nargs="+", choices=list(EXPERIMENTS), default=list(EXPERIMENTS))
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--cases", type=int, default=None, metavar="N", help="measure no more than N missing cases of each now")
    parser.add_argument("--stored", action="store_true", help="measure nothing: write the tables of what is there")
    parser.add_argument("--write", action="store_true", help="put tables and plots into docs/evidence/paper-figures.md")
    parser.add_argument("--list", action="store_true", help="name the experiments, and how many cases each has")
    parser.add_argument("--dask", action="store_true", help="run on a Dask cluster")
    parser.add_argument("--compute", default="local")
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args(words)
    if given.list:
        for one in EXPERIMENTS.values():
            print(f"{one.name:<20} {one.of}: {len(one.cases(full=False))} cases, full {len(one.cases(full=True))}")
        return
    with ExitStack() as stack:
        options = ComputeOptions(compute=given.compute, workers=given.workers)
        client = stack.enter_context(options.client()) if given.dask and not given.stored else None
        for name in given.only:
            one = EXPERIMENTS[name]
            done = (
                stored(one, given.results, full=given.full)
                if given.stored
                else run(one, given.data, given.results, full=given.full, client=client, most=given.cases)
            )
            lines = one.table(done) if done else ["Nothing was measured: the data are not in the folder."]
            given.results.mkdir(parents=True, exist_ok=True)
            (given.results / f"{name}.md").write_text("\n".join([f"# {one.of}", "", *lines]) + "\n")
            print("\n".join([f"## {one.of}", "", *lines]), flush=True)
            if not done:
                continue
            draw(one.panels(done), one.of, given.results / f"{name}.svg")
            if given.write:
                shutil.copyfile(given.results / f"{name}.svg", PAGE.with_suffix("") / f"{name}.svg")
                paste(PAGE, name, lines)


if __name__ == "__main__":
    main()

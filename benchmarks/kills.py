"""A server and `advance`, each killed a thousand times: nothing acknowledged is lost or doubled, and the end is the same.

    python -m benchmarks.kills --kills 1000 [--folder DIR] [--write docs/evidence/review.md]

SIGKILL spares the page cache of the operating system: this is about processes, not about power. What is done is in `killing.py`.
"""

import argparse
import math
import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.killing import kill_advance, kill_the_server
from benchmarks.pasting import paste


def _digits(folder: Path, items: int) -> tuple[Path, NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    from flows.stages.initialise import initialise
    from flows.stages.options import InitOptions
    from flows.stages.registry import NEIGHBORS

    data = load_digits()
    np.savez(folder / "digits.npz", x=data.data[:items].astype(np.float32))
    initialise(str(folder / "advance"), InitOptions(embeddings=(str(folder / "digits.npz"),)))
    NEIGHBORS(str(folder / "advance"), k=10, workers=1)
    return folder / "advance", data.target[:items]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=None, help="where the temporary folder is made")
    parser.add_argument("--write", type=Path, default=None, help="put the table into this page of the documentation")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no more kills after this time; what was done is shown")
    parser.add_argument("--budget", type=int, default=200, help="answers of the campaign that `advance` works on")
    parser.add_argument("--only", choices=("server", "advance"), default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        if options.only != "advance":
            outcome = kill_the_server(Path(name) / "server", options.kills, seconds=options.seconds)
            _show(
                "kills-server",
                ["| kills | acknowledged | stored | lost | doubled |", "|---:|---:|---:|---:|---:|", outcome.line],
                options.write,
            )
        if options.only != "server":
            place, labels = _digits(Path(name), 300)
            killed, equal, answers = kill_advance(
                place, options.kills, budget=options.budget, labels=labels, seconds=options.seconds
            )
            line = f"| {killed:,} | {answers:,} | {'yes, bit for bit' if equal else 'NO'} |"
            _show("kills-advance", ["| kills | answers | ends as undisturbed |", "|---:|---:|---|", line], options.write)


def _show(name: str, lines: list[str], page: Path | None) -> None:
    print("\n".join([*lines, f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"]), flush=True)
    if page:
        paste(page, name, lines)


if __name__ == "__main__":
    main()

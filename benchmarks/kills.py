"""A server and `advance`, each killed a thousand times: nothing acknowledged is lost or doubled, and the end is the same.

    python -m benchmarks.kills --kills 1000 [--folder DIR] [--write docs/review.md]

SIGKILL spares the page cache of the operating system: this is about processes, not about power. What is done is in `killing.py`.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.killing import kill_advance, kill_the_server
from benchmarks.pasting import paste


def _digits(folder: Path, items: int) -> tuple[Path, NDArray[np.int64]]:
    from sklearn.datasets import load_digits

    from flows import stages
    from flows.initialise import initialise

    data = load_digits()
    np.savez(folder / "digits.npz", x=data.data[:items].astype(np.float32))
    initialise(str(folder / "advance"), images=None, manifest=None, embeddings=str(folder / "digits.npz"), labels=None)
    stages.neighbors(str(folder / "advance"), k=10, workers=1)
    return folder / "advance", data.target[:items]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=None, help="where the temporary folder is made")
    parser.add_argument("--write", type=Path, default=None, help="put the table into this page of the documentation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        server = kill_the_server(Path(name) / "server", options.kills)
        place, labels = _digits(Path(name), 300)
        began = time.monotonic()
        killed, equal, answers = kill_advance(place, options.kills, budget=200, labels=labels)
        seconds = time.monotonic() - began
    lines = [
        "| what was killed | kills | acknowledged | stored | lost | doubled | ends as undisturbed |",
        "|---|---:|---:|---:|---:|---:|---|",
        server.line,
        f"| `advance`, while people answer | {killed:,} | | {answers:,} | | | {'yes, bit for bit' if equal else 'NO'} |",
    ]
    print("\n".join(lines))
    print(f"\n{server.seconds:.0f} s and {seconds:.0f} s; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    if options.write:
        paste(options.write, "kills", lines)


if __name__ == "__main__":
    main()

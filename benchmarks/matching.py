"""Local matches at scale: seconds of `cccount matches` and memory of a worker.

    python -m benchmarks.matching --items 10000 --workers 2

Pictures as in `benchmarks/embedding.py`, compared with their 30 nearest by `hog`. From about 8,000 items on the 256 of a task and
those that they are compared with are nearly all different ones, so a task takes no more at any larger number.
"""

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.embedding import write_images
from cccount_dist.embedding.localshard import task_bytes
from cccount_dist.similarity.localmatches import NEAREST
from flows.compute.clients import open_client
from flows.stages.embed import embed
from flows.stages.initialise import initialise
from flows.stages.matches import matches
from flows.stages.neighbors import neighbors
from flows.stages.options import InitOptions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workspace = str(Path(temporary, "workspace"))
        initialise(workspace, InitOptions(manifest=str(write_images(Path(temporary), options.items))))
        with open_client(workers=options.workers) as client:
            embed(workspace, encoder="hog", client=client)
            neighbors(workspace, k=50, client=client)
        with open_client(workers=options.workers) as client:  # a new one: the peak of memory is of this stage alone
            began = sum(client.run(time.process_time).values())
            found = matches(workspace, nearest=NEAREST, client=client)
            busy = sum(client.run(time.process_time).values()) - began
    print("| items | matches: s (CPU s) | CPU ms an item | peak of a worker | projected for a task |\n|---|---|---|---|---|")
    peak, projected = (f"{size / 2**20:,.0f} MiB" for size in (found.peak_worker_bytes, task_bytes(NEAREST)))
    print(f"| {options.items:,} | {found.seconds:.0f} ({busy:.0f}) | {1000 * busy / options.items:.1f} | {peak} | {projected} |")


if __name__ == "__main__":
    main()

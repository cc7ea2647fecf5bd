"""Writes the collections of the held-out tables of docs/evidence/counting.md, on which nothing was chosen, as .npz files.

    python -m benchmarks.counting_heldout --data FOLDER --to HELD
    python -m benchmarks.counting --data HELD --sets att,omniglot250,tail9,gamma5 --write heldout

att: 40 people, 10 pictures each, the first 64 principal components of the pixels. omniglot250: 250 characters that are not among
the 500 of the other tables. tail9 and gamma5: made as the synthetic ones are, with other sizes and another seed.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks.data import MissingFileError, npz
from cccount_dist.counting.labelled import Recipe, synthetic

MADE = {
    "tail9": Recipe(3600, 180, long_tail=True, noise=1.22, shape=0.9),
    "gamma5": Recipe(6000, 300, long_tail=False, noise=1.22, shape=4.0),  # a coefficient of variation of 0.5
}
SEED = 77


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of att_faces_112x92.npz and omniglot_hog.npz")
    parser.add_argument("--to", type=Path, default=Path("made-sets"), help="folder to write to")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], tuple[NDArray[Any], NDArray[Any]]]] = {
        "att": partial(_faces, given.data),
        "omniglot250": partial(_characters, given.data),
        **{name: partial(synthetic, recipe, SEED) for name, recipe in MADE.items()},
    }
    print("| file | items | dimensions | classes |\n|---|---|---|---|")
    for name, make in makers.items():
        try:
            x, y = make()
        except MissingFileError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        np.savez(given.to / f"{name}.npz", x=x.astype(np.float32), y=y)
        print(f"| {given.to / name}.npz | {len(x):,} | {x.shape[1]} | {len(np.unique(y)):,} |")


def _faces(folder: Path) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    with np.load(npz(folder, "att_faces_112x92"), allow_pickle=False) as stored:
        pixels = stored["images"].reshape(len(stored["images"]), -1).astype(np.float32)
        return PCA(64, svd_solver="full").fit_transform(pixels), stored["labels"]


def _characters(folder: Path) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    with np.load(npz(folder, "omniglot_hog"), allow_pickle=False) as stored:
        x, y = stored["x"], stored["y"]
    order = np.random.default_rng(0).permutation(np.unique(y))  # the first 500 of it are the set `omniglot`
    kept = np.isin(y, order[500:750])
    return x[kept], y[kept]


if __name__ == "__main__":
    main()

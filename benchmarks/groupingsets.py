"""The collections that grouping is measured on, each with its budget of questions; files as in the folder that `--data` names.

`att`, `gtsrb-2k` and `omniglot-held` are held out: no parameter was chosen by them.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from benchmarks.data import npz
from cccount_dist.similarity.views import join_views

Data = tuple[NDArray[np.float32], NDArray[np.int64]]


def from_files(*names: str, items: int | None = None, classes: tuple[int, int] | None = None) -> Callable[[Path], Data]:
    """Return a loader of the views in these files: of the first items, or of classes from one number up to another."""

    def load(folder: Path) -> Data:
        files = [np.load(npz(folder, name)) for name in names]
        y = files[0]["y"][:items].astype(np.int64)
        chosen = slice(None) if classes is None else (y >= classes[0]) & (y < classes[1])
        return join_views([file["x"][:items][chosen] for file in files]), y[chosen]

    return load


def digits(_: Path) -> Data:
    x, y = load_digits(return_X_y=True)
    return x.astype(np.float32), y.astype(np.int64)


def faces(folder: Path) -> Data:
    """64 principal components of the pixels."""
    file = np.load(npz(folder, "att_faces_112x92"))
    pixels = file["images"].reshape(len(file["images"]), -1).astype(np.float64)
    pixels -= pixels.mean(axis=0)
    left, scale, _ = np.linalg.svd(pixels, full_matrices=False)
    return (left[:, :64] * scale[:64]).astype(np.float32), file["labels"].astype(np.int64)


def modes(items: int) -> Callable[[Path], Data]:
    """About 68 items a class, in three modes, 128 dimensions: what a network makes of classes that look different by pose."""

    def make(_: Path) -> Data:
        random = np.random.default_rng(0)
        classes = round(items * 146 / 10_000)
        weights = random.lognormal(0, 0.5, classes)
        y = random.choice(classes, items, p=weights / weights.sum())
        unit = _unit(random.normal(size=(classes, 128)))
        centres = _unit(unit[:, None] + _unit(random.normal(size=(classes, 3, 128))))
        x = centres[y, random.integers(3, size=items)] + random.normal(size=(items, 128)) / np.sqrt(128)
        return x.astype(np.float32), y

    return make


def modes_in_blocks(items: int, dimensions: int, rows: int = 16_384) -> tuple[NDArray[np.int64], Iterator[NDArray[np.float32]]]:
    """Labels, and the vectors of such items block by block, for what memory does not hold: other draws than `modes`."""
    random = np.random.default_rng(0)
    classes = max(2, round(items * 146 / 10_000))
    weights = random.lognormal(0, 0.5, classes)
    y = random.choice(classes, items, p=weights / weights.sum())
    unit = _unit(random.normal(size=(classes, dimensions)))
    centres = _unit(unit[:, None] + _unit(random.normal(size=(classes, 3, dimensions)))).astype(np.float32)

    def blocks() -> Iterator[NDArray[np.float32]]:
        for start in range(0, items, rows):
            mine = y[start : start + rows]
            noise = random.normal(size=(len(mine), dimensions)) / np.sqrt(dimensions)
            yield centres[mine, random.integers(3, size=len(mine))] + noise.astype(np.float32)

    return y, blocks()


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return rows


SETS: dict[str, tuple[Callable[[Path], Data], int]] = {
    "market20": (from_files("market20"), 60),
    "handwritten": (from_files(*(f"handwritten_view{view}" for view in range(6))), 100),
    "digits": (digits, 150),
    "modes-10k": (modes(10_000), 300),
    "chimp-czoo": (from_files("chimp_czoo_mobilenetv2"), 200),
    "omniglot-250": (from_files("omniglot_hog", classes=(0, 250)), 300),  # the 5,000 items of the first 250 characters
    "omniglot-5k": (from_files("omniglot_hog", items=5000), 300),  # the first 5,000 rows: three items a character
    "modes-30k": (modes(30_000), 500),
    "modes-100k": (modes(100_000), 4000),
    "att": (faces, 60),
    "gtsrb-2k": (from_files("gtsrb_hog", items=2000), 200),
    "omniglot-held": (from_files("omniglot_hog", classes=(1200, 1300)), 200),
}
USUAL = ["market20", "handwritten", "digits", "modes-10k", "chimp-czoo", "omniglot-250"]


def loaded(name: str, folder: Path) -> Data | None:
    """Return a set; None, and a word about it, if its file is not there."""
    try:
        return SETS[name][0](folder)
    except FileNotFoundError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None

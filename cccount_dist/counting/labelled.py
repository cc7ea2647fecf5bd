"""Labelled collections for replicated experiments: from an .npz file with x and y, or made here.

Synthetic ones are Gaussian clusters in 32 dimensions in groups that are easily confused, each with four modes and its own noise.
Memory O(n d).
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.rows import degree
from cccount_dist.similarity.sharp import REACH, SharpRows
from storage.errors import InputError


class Recipe(NamedTuple):
    """How a synthetic collection is made."""

    items: int
    clusters: int
    long_tail: bool  # sizes are log-normal, else gamma
    noise: float
    shape: float  # deviation of the log-normal, or shape of the gamma law


SYNTHETIC = {
    "strong": Recipe(1600, 100, long_tail=False, noise=0.5, shape=1e7),  # 16 each, and 98 of 100 are of their neighbours' cluster
    "longtail": Recipe(5000, 250, long_tail=True, noise=1.22, shape=1.1),
    "balanced": Recipe(5000, 100, long_tail=False, noise=1.22, shape=30.0),
    "cublike": Recipe(11788, 200, long_tail=False, noise=1.75, shape=30.0),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a collection comes from: a name of SYNTHETIC, `digits`, or an .npz file, of which a random part may be taken."""

    name: str
    file: str | None = None
    items: int | None = None  # so many random items
    classes: int | None = None  # so many random classes, whole


@dataclass(frozen=True)
class LabelledSet:
    """Prepared vectors and labels."""

    vectors: NDArray[np.float32]
    labels: NDArray[np.int64]

    @property
    def clusters(self) -> int:
        return len(np.unique(self.labels))

    @cached_property
    def degree(self) -> NDArray[np.float64]:
        return degree(self.vectors)

    @cached_property
    def neighbors(self) -> NDArray[np.int32]:
        """The nearest of each item, as `cccount neighbors` makes them."""
        return neighbors_in_memory(self.vectors, min(50, len(self.vectors) - 1)).index

    @cached_property
    def sharp(self) -> SharpRows:
        """Rows of the second space; each is made once, for all runs."""
        return SharpRows(self.vectors, neighbors_in_memory(self.vectors, min(REACH, len(self.vectors) - 1)).index)


def load(source: Source) -> LabelledSet:
    """Return the collection, the same each time."""
    if source.file is not None:
        x, y = _read(Path(source.file))
    elif source.name == "digits":
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
    elif source.name in SYNTHETIC:
        x, y = synthetic(SYNTHETIC[source.name])
    else:
        raise InputError(f"collection {source.name!r} is not known: give an .npz file, digits, {', '.join(SYNTHETIC)}")
    random = np.random.default_rng(0)
    if source.classes is not None:
        kept = np.isin(y, random.permutation(np.unique(y))[: source.classes])
        x, y = x[kept], y[kept]
    if source.items is not None:
        chosen = random.permutation(len(y))[: source.items]
        x, y = x[chosen], y[chosen]
    return LabelledSet(prepare(np.asarray(x, np.float32), "cosine"), np.asarray(y, np.int64))


def _read(path: Path) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    try:
        with np.load(path, allow_pickle=False) as found:
            return found["x"], found["y"]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} cannot be read as an .npz file with x and y: {error}") from error


def synthetic(recipe: Recipe, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Make a collection."""
    items, clusters = recipe.items, recipe.clusters
    random = np.random.default_rng(seed)
    tail = recipe.long_tail
    weight = np.exp(recipe.shape * random.standard_normal(clusters)) if tail else random.gamma(recipe.shape, 1, clusters)
    sizes = np.maximum(1, np.round(weight / weight.sum() * items).astype(int))
    while sizes.sum() > items:
        sizes[sizes.argmax()] -= 1
    while sizes.sum() < items:
        sizes[random.integers(clusters)] += 1
    labels = np.repeat(np.arange(clusters), sizes)
    groups = random.standard_normal((max(4, clusters // 12), 32))
    centres = 0.6 * groups[random.integers(len(groups), size=clusters)] + random.standard_normal((clusters, 32))
    own_noise = np.exp(0.25 * random.standard_normal(clusters))
    modes = 0.8 * random.standard_normal((clusters, 4, 32))
    mode = random.integers(4, size=items)
    x = centres[labels] + modes[labels, mode]
    x = x + recipe.noise * own_noise[labels][:, None] * np.linspace(1.6, 0.4, 32) * random.standard_normal((items, 32))
    return x - x.mean(0), labels

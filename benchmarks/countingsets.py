"""Labelled collections for benchmarks of counting: real ones from a folder of .npz files, synthetic ones that are made here."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.similarity.metrics import prepare

_FILES = {
    "handwritten": ("handwritten_view1", None),
    "gtsrb": ("gtsrb_hog", 10_000),
    "czoo": ("chimp_czoo_mobilenetv2", None),
    "market20": ("market20", None),
    "omniglot": ("omniglot_hog", 10_000),
    "omniglot5k": ("omniglot_hog", 5_000),
}
# items, clusters, long tail or not, noise: those of the research notes
_SYNTHETIC = {"longtail": (5000, 250, True, 1.22), "balanced": (5000, 100, False, 1.22), "cublike": (11788, 200, False, 1.75)}
SETS = ("digits", *_FILES, *_SYNTHETIC)


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Prepared vectors and labels."""

    name: str
    vectors: NDArray[np.float32]
    labels: NDArray[np.int64]

    @property
    def clusters(self) -> int:
        return len(np.unique(self.labels))


def load(name: str, folder: Path) -> LabelledSet | None:
    """Return a set by its name; None if its file is not in the folder."""
    if name == "digits":
        from sklearn.datasets import load_digits

        x, y = load_digits(return_X_y=True)
    elif name in _SYNTHETIC:
        x, y = synthetic(*_SYNTHETIC[name])
    else:
        file, most = _FILES.get(name, (name, None))
        path = folder / f"{file}.npz"
        if not path.exists():
            return None
        with np.load(path) as found:
            x, y = found["x"], found["y"]
        if name == "omniglot":  # 500 whole classes
            kept = np.random.default_rng(0).permutation(np.unique(y))[:500]
            x, y = x[np.isin(y, kept)], y[np.isin(y, kept)]
        elif most is not None:
            kept = np.random.default_rng(0).permutation(len(y))[:most]
            x, y = x[kept], y[kept]
    vectors = prepare(np.asarray(x, np.float32), "cosine")
    return LabelledSet(name, vectors, np.asarray(y, np.int64))


def synthetic(
    items: int,
    clusters: int,
    long_tail: bool,  # noqa: FBT001
    noise: float,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Gaussian clusters in 32 dimensions in groups that are easily confused, each with four modes and its own noise."""
    random = np.random.default_rng(seed)
    weight = np.exp(1.1 * random.standard_normal(clusters)) if long_tail else random.gamma(30, 1, clusters)
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
    x = x + noise * own_noise[labels][:, None] * np.linspace(1.6, 0.4, 32) * random.standard_normal((items, 32))
    return x - x.mean(0), labels

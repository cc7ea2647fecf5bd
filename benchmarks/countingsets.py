"""The collections of the published tables of counting, by name: real ones from a folder of .npz files, synthetic ones."""

import sys
from pathlib import Path

from benchmarks.data import MissingFileError, npz
from cccount_dist.counting.labelled import SYNTHETIC, Source

_FILES = {
    "handwritten": Source("handwritten", "handwritten_view1"),
    "gtsrb": Source("gtsrb", "gtsrb_hog", items=10_000),
    "czoo": Source("czoo", "chimp_czoo_mobilenetv2"),
    "market20": Source("market20", "market20"),
    "omniglot": Source("omniglot", "omniglot_hog", classes=500),
    "omniglot5k": Source("omniglot5k", "omniglot_hog", items=5_000),
}
SETS = ("digits", *_FILES, *SYNTHETIC)


def find(name: str, folder: Path) -> Source | None:
    """Return a set by its name, or by that of an .npz file; None, and a word about it, if its file is not there."""
    if name == "digits" or name in SYNTHETIC:
        return Source(name)
    found = _FILES.get(name, Source(name, name))
    try:
        return Source(found.name, str(npz(folder, found.file or name)), found.items, found.classes)
    except MissingFileError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None

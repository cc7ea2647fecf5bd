"""The collections that benchmarks read from a folder: which file, what is in it, and where it comes from.

None is in the repository: most may be used for research only. Vectors are an .npz file with `x` (n, d) and `y`, the class of each
row; the keys of pictures are in the table. `python -m benchmarks list` prints it.
"""

from dataclasses import dataclass
from pathlib import Path

_OMNIGLOT = "Omniglot (Lake and others 2015), https://github.com/brendenlake/omniglot, MIT licence"
_GTSRB = "German traffic signs, the training pictures (Stallkamp and others 2012), https://benchmark.ini.rub.de, for research"
_CZOO = "C-Zoo (Freytag and others 2016, Chimpanzee Faces in the Wild), https://github.com/cvjena/chimpanzee_faces, for research"
_ATT = "the Database of Faces of AT&T Laboratories Cambridge, https://cam-orl.co.uk/facedatabase.html, for research"
_FEATURES = "Multiple Features of the UCI repository, https://archive.ics.uci.edu/dataset/72/multiple+features, CC BY 4.0"
_MARKET = "MK20 of the APC paper's authors: 20 people of Market-1501 (Zheng and others 2015), for research"


@dataclass(frozen=True)
class File:
    holds: str
    origin: str


FILES = {
    "att_faces_112x92": File("images (400, 112, 92) uint8, labels", _ATT),
    "chimp_czoo_112px_jpeg": File("2,109 faces: jpeg, all files one after another; offsets, labels", _CZOO),
    "chimp_czoo_mobilenetv2": File("x: the same faces, MobileNetV2, 256 dimensions; y: 24 individuals", _CZOO),
    "gtsrb_32x32_webp": File("39,209 signs: jpeg (WebP files one after another), offsets, labels, track", _GTSRB),
    "gtsrb_hog": File("x: the same signs, HOG and principal components, 128 dimensions; y: 43 signs", _GTSRB),
    **{
        f"handwritten_view{view}": File(f"x: 2,000 digits, feature set {view} of 0 to 5; y: 10 digits", _FEATURES)
        for view in range(6)
    },
    "market20": File("x: 351 pictures, 256 dimensions; y: 20 people", _MARKET),
    "omniglot_28x28": File("images (32,460, 28, 28) uint8, labels", _OMNIGLOT),
    "omniglot_hog": File("x: the same characters, HOG and principal components, 128 dimensions; y: 1,623 characters", _OMNIGLOT),
}


class MissingFileError(FileNotFoundError):
    """A collection is not in the folder; the message says where it comes from."""


def npz(folder: Path, name: str) -> Path:
    """The file of a collection.

    >>> npz(Path("/nowhere"), "market20")
    Traceback (most recent call last):
    benchmarks.data.MissingFileError: /nowhere/market20.npz is not there (--data FOLDER): MK20 of the APC paper's authors: 20 \
people of Market-1501 (Zheng and others 2015), for research
    """
    path = folder / f"{name}.npz"
    if not path.exists():
        origin = f": {FILES[name].origin}" if name in FILES else ""
        raise MissingFileError(f"{path} is not there (--data FOLDER){origin}")
    return path

"""Which reader a path needs: the one place that knows all of them."""

from pathlib import Path

import pyarrow as pa

from cccount_dist.embedding.readers.bucket import read_bucket
from cccount_dist.embedding.readers.camtrap import read_camtrap
from cccount_dist.embedding.readers.coco import read_coco
from cccount_dist.embedding.readers.folder import left_out, read_folder
from cccount_dist.embedding.readers.labels import with_folder_labels
from cccount_dist.embedding.readers.table import read_table, rows_in
from cccount_dist.embedding.readers.tablerows import numbered
from cccount_dist.embedding.readers.tars import read_tars
from cccount_dist.room import Size
from cccount_dist.taken import require, require_document
from storage.errors import InputError
from storage.objects import is_remote
from storage.reading import reading, require_file

FOLDER = "folder"  # --labels folder
_METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")  # of a Hugging Face imagefolder


def read_images(source: Path | str, label: str | None = None) -> pa.Table:
    """Return the collection of `--images`: a folder, a Camtrap DP package, an imagefolder with metadata, tars or one tar.

    A text such as `s3://bucket/prefix` is a folder of images in an object store.
    """
    if isinstance(source, str) and is_remote(source):
        return _labelled(numbered(read_bucket(source)), label)
    with reading(source):
        return _read_path(Path(source), label)


def _read_path(path: Path, label: str | None) -> pa.Table:
    if path.suffix.lower() == ".tar" and path.is_file():
        return numbered(read_tars([path], label))
    if not path.is_dir():
        raise InputError(f"there is no folder {path}")
    if (path / "datapackage.json").is_file():
        return numbered(read_camtrap(path, label))
    metadata = next((path / name for name in _METADATA if (path / name).is_file()), None)
    if metadata is not None and label != FOLDER:
        require("init", Size(rows_in(metadata)))
        return numbered(read_table(metadata, label))
    tars = sorted(path.glob("*.tar"))
    if tars and not any(read_folder(path, required=False)):
        return numbered(read_tars(tars, label))
    return _labelled(numbered(read_folder(path)), label)


def files_left_out(source: Path | str | None, label: str | None = None) -> dict[str, int]:
    """Say which files of a plain folder are no items because their names are not those of images: endings and how many of each.

    Nothing for a source that names its images itself.
    """
    if source is None or is_remote(str(source)):
        return {}
    path = Path(source)
    names_them = (path / "datapackage.json").is_file() or (label != FOLDER and any((path / n).is_file() for n in _METADATA))
    if not path.is_dir() or names_them or (any(path.glob("*.tar")) and not any(read_folder(path, required=False))):
        return {}
    return left_out(path)


def _labelled(table: pa.Table, label: str | None) -> pa.Table:
    if label is None:
        return table
    if label != FOLDER:
        raise InputError(f"--labels {label}: a folder of images has no columns; give a .npy, .csv or .parquet file, or `folder`")
    return with_folder_labels(table)


def read_manifest(path: Path, label: str | None = None, root: Path | str | None = None) -> pa.Table:
    """Return the collection of `--manifest`: csv, parquet or jsonl, a COCO json, or the datapackage.json of Camtrap DP.

    Relative paths are relative to `root`, or to the manifest's own folder.
    """
    require_file(path)
    if isinstance(root, Path) and not root.is_dir():
        raise InputError(f"there is no folder {root}")
    with reading(path):
        return _read_manifest(path, label, root)


def _read_manifest(path: Path, label: str | None, root: Path | str | None) -> pa.Table:
    if path.name == "datapackage.json":
        if root is not None:
            raise InputError(f"{path} names its own media: leave --images {root} out")
        return numbered(read_camtrap(path.parent, label))
    if path.suffix.lower() != ".json":
        require("init", Size(rows_in(path)))
        return numbered(read_table(path, label, root))
    if isinstance(root, str):
        raise InputError(f"--images {root}: the images of a COCO file are read from a disk; copy or mount them")
    require_document("init", path)
    return numbered(read_coco(path, label, root))


__all__ = ["files_left_out", "read_images", "read_manifest"]

"""Labels that come in a file of their own (.npy, .csv, .parquet), in the order of the items or by id, or from folder names."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.embedding.readers.table import records, text
from storage.errors import InputError
from storage.reading import open_regular, reading, require_file

LABEL_FILES = (".npy", ".csv", ".parquet")


def is_label_file(labels: str) -> bool:
    """Say whether `--labels` names a file, and not a column.

    >>> is_label_file("y.npy"), is_label_file("species")
    (True, False)
    """
    return labels.lower().endswith(LABEL_FILES)


def with_label_file(table: pa.Table, path: Path) -> pa.Table:
    """Return the collection with labels from a file."""
    require_file(path)
    with reading(path):
        return _labelled(table, path)


def _labelled(table: pa.Table, path: Path) -> pa.Table:
    if path.suffix.lower() == ".npy":
        return with_labels(table, _numpy_labels(path), str(path))
    rows = list(records(path))
    columns = list(rows[0]) if rows else []
    name = "label" if "label" in columns else columns[0] if len(columns) == 1 else None
    if name is None:
        raise InputError(f"--labels {path} needs a column `label`, and may have `id`: it has {', '.join(columns) or 'nothing'}")
    labels = [text(row[name]) for row in rows]
    if "id" in columns and name != "id":
        names = [text(row["id"]) or "" for row in rows]
        return with_labels(table, _by_id(table, dict(zip(names, labels, strict=True)), path), str(path))
    if len(columns) == 1 and name != "label" and len(labels) == len(table) - 1:
        labels.insert(0, text(name))  # a csv without a header: its first label was taken for one
    return with_labels(table, labels, str(path))


def with_folder_labels(table: pa.Table) -> pa.Table:
    """Return the collection with the name of each image's folder as its label."""
    labels = [parts[-2] if len(parts := str(name).split("/")) > 1 else None for name in table.column("id").to_pylist()]
    if not any(labels):
        raise InputError("--labels folder: the images do not lie in folders of their own below the given one")
    return with_labels(table, labels, "--labels folder")


def with_labels(table: pa.Table, labels: list[str | None], where: str) -> pa.Table:
    """Return the collection with these labels, one for each item."""
    if len(labels) != len(table):
        raise InputError(
            f"{where} has {len(labels)} labels for {len(table)} items: give one for each, in the same order, or with ids"
        )
    place = table.column_names.index("label")
    return table.set_column(place, table.schema.field("label"), pa.array(labels, pa.string()))


def labelled(table: pa.Table) -> int:
    """Return how many items have a label."""
    return int(pc.sum(pc.is_valid(table.column("label"))).as_py() or 0)


def _numpy_labels(path: Path) -> list[str | None]:
    try:
        with open_regular(path) as source:  # np.load would take a zip for one, too, and leave it open
            values = np.lib.format.read_array(source, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"cannot read {path}: it is not a plain .npy array (pickled objects are never read)") from error
    if values.ndim != 1:
        raise InputError(f"{path} has the shape {values.shape}: labels are one row of values")
    return [text(value) for value in values.tolist()]


def _by_id(table: pa.Table, known: Mapping[str, str | None], path: Path) -> list[str | None]:
    ids = table.column("id").to_pylist()
    strangers = known.keys() - set(ids)
    if strangers:
        raise InputError(f"--labels {path} names {len(strangers)} ids that are not in the collection, such as {min(strangers)!r}")
    return [known.get(name) for name in ids]


__all__ = ["is_label_file", "labelled", "with_folder_labels", "with_label_file", "with_labels"]

"""The collection table: one row for each item, in `collection.parquet`. An item is its row number, for ever.

Memory and time are linear in the items; the table is read whole (one million items: about 100 MB).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from storage import parquet
from storage.errors import CccountError, CorruptionError, InputError, MissingObjectError, WorkspaceError
from storage.objects import Objects
from storage.problems import Problem
from storage.schema import COLLECTION

KEY = "collection.parquet"
LEFT, RIGHT, OTHER = "left", "right", "other"
SIDES = (LEFT, RIGHT, OTHER)  # that a picture can show


class Collection:
    """A checked collection table: items numbered from 0, ids unique."""

    def __init__(self, table: pa.Table, where: str = "the collection") -> None:
        self.table: pa.Table = COLLECTION.check(table, where)
        if self.table.num_rows == 0:
            raise InputError(f"{where} has no items")
        numbers = self.table.column("item").to_numpy()
        wrong = np.flatnonzero(numbers != np.arange(len(numbers)))
        if wrong.size:
            raise InputError(f"{where}: row {wrong[0]} has the item number {numbers[wrong[0]]}; items are numbered from 0 by row")
        _check_ids(self.ids, where)

    def __len__(self) -> int:
        return self.items

    @property
    def items(self) -> int:
        return int(self.table.num_rows)

    @cached_property
    def ids(self) -> list[str]:
        """The user's names for the items."""
        found: list[str] = self.table.column("id").to_pylist()
        return found

    def labels(self) -> NDArray[np.int64] | None:
        """Return the number of each item's label in sorted order, -1 for an item without; None if no item has one."""
        column = self.table.column("label").combine_chunks()
        names = sorted(pc.unique(column.drop_null()).to_pylist())
        if not names:
            return None
        codes = pc.fill_null(pc.index_in(column, pa.array(names, pa.string())), -1)
        return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)

    def uri(self, item: int) -> str | None:
        """Return where the item's image is, or None for a vector without an image."""
        if not 0 <= item < self.items:
            raise InputError(f"there is no item {item}: the collection has the items 0 to {self.items - 1}")
        found: str | None = self.table.column("uri")[item].as_py()
        return found

    def problems(self) -> dict[int, str]:
        """Return why an item has no vector, for those that have none."""
        column = self.table.column("problem").to_pylist()
        return {item: reason for item, reason in enumerate(column) if reason is not None}

    def sides(self) -> list[str | None]:
        """Return the side that each item shows; None where nobody said."""
        found: list[str | None] = self.table.column("side").to_pylist()
        return found

    def with_sides(self, sides: Mapping[int, str | None]) -> "Collection":
        """Return the same collection in which these items show these sides."""
        column = self.sides()
        for item, side in sides.items():
            if side is not None and side not in SIDES:
                raise InputError(f"a picture shows one of the sides {', '.join(SIDES)}, not {side!r}")
            if not 0 <= item < self.items:
                raise InputError(f"there is no item {item}: the collection has the items 0 to {self.items - 1}")
            column[item] = side
        place = self.table.column_names.index("side")
        return Collection(self.table.set_column(place, COLLECTION.schema.field("side"), pa.array(column, pa.string())))

    def with_problems(self, problems: Mapping[int, str]) -> "Collection":
        """Return the same collection with these reasons, and no others, in its `problem` column."""
        unknown = [item for item in problems if not 0 <= item < self.items]
        if unknown:
            raise InputError(f"there is no item {unknown[0]}: the collection has the items 0 to {self.items - 1}")
        column = pa.array([problems.get(item) for item in range(self.items)], pa.string())
        place = self.table.column_names.index("problem")
        return Collection(self.table.set_column(place, COLLECTION.schema.field("problem"), column))


def collection_table(ids: Sequence[str], **columns: Sequence[object]) -> pa.Table:
    """Return a table of items in this order; columns that are not given are empty.

    >>> collection_table(["a", "b"], label=["cat", None]).column("item").to_pylist()
    [0, 1]
    """
    unknown = sorted(set(columns) - set(COLLECTION.schema.names) | {"item", "id"} & set(columns))
    if unknown:
        raise InputError(
            f"the collection table has no column {unknown[0]!r} to give: it has {', '.join(COLLECTION.schema.names)}"
        )
    for name, values in columns.items():
        if len(values) != len(ids):
            raise InputError(f"{len(values)} values of {name!r} for {len(ids)} items: there must be one for each item")
    given: dict[str, Sequence[object]] = {"item": range(len(ids)), "id": ids, **columns}
    nothing = [None] * len(ids)
    try:
        arrays = [pa.array(given.get(field.name, nothing), field.type) for field in COLLECTION.schema]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"the items cannot be put in a table: {error}") from error
    return pa.table(arrays, schema=COLLECTION.schema)


def write_collection(objects: Objects, table: pa.Table) -> None:
    """Check the table and store it in place of the one that is there."""
    checked = Collection(table).table
    objects.replace(KEY, parquet.to_bytes(checked.cast(COLLECTION.schema)))


def read_collection(objects: Objects) -> Collection:
    """Return the stored collection."""
    where = f"{objects.location}/{KEY}"
    try:
        data = objects.read(KEY)
    except MissingObjectError as error:
        raise WorkspaceError(
            f"{where} is missing: restore it from a copy, or make the workspace again with `cccount init`"
        ) from error
    try:
        table = parquet.from_bytes(data)
    except (pa.ArrowException, OSError) as error:
        raise CorruptionError(f"{where}: damaged ({_line(error)}); {_REPAIR}") from error
    return Collection(table, where)


def collection_problems(objects: Objects) -> Iterator[Problem]:
    """Read the collection and report what keeps it from being read."""
    try:
        read_collection(objects)
    except CccountError as error:
        yield Problem(f"{objects.location}/{KEY}", str(error), _REPAIR)


_REPAIR = "restore the file from a copy, or make the workspace again with `cccount init`"


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _check_ids(ids: list[str], where: str) -> None:
    if len(set(ids)) == len(ids) and "" not in set(ids):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name == "":
            raise InputError(f"{where}: row {row} has an empty id; every item needs a name of its own")
        if name in first:
            raise InputError(f"{where}: the id {name!r} is used twice, in rows {first[name]} and {row}; ids must be unique")
        first[name] = row


__all__ = [
    "LEFT", "OTHER", "RIGHT", "SIDES", "Collection", "collection_problems", "collection_table", "read_collection",
    "write_collection",
]  # fmt: skip

"""Rows of the collection table, gathered batch by batch: strings live in Arrow buffers, not as a million Python objects.

Memory: the table itself (some 100 bytes an item) and one batch of Python objects, whatever the number of items.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from cccount_dist.room import Size
from cccount_dist.taken import require
from storage.errors import InputError
from storage.reading import known_errors, reason
from storage.schema import COLLECTION

BATCH = 16_384

Row = Mapping[str, object]  # by column of the collection; absent columns are empty


def batches(rows: Iterable[Row]) -> Iterator[pa.Table]:
    """Cut a stream of rows into Arrow tables with the collection's columns, all but the item number."""
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) == BATCH:
            yield _table(held)
            held = []
    if held:
        yield _table(held)


def numbered(parts: Iterable[pa.Table], command: str = "init") -> pa.Table:
    """Return the whole table, its items numbered in the order in which they came.

    Nobody knows before how many files a folder has: `ComputeError` as soon as there are more than `command` has memory for.
    """
    table = pa.concat_tables([_table([]), *_fitting(parts, command)])
    return table.add_column(0, COLLECTION.schema.field("item"), pa.array(range(len(table)), pa.int64()))


def _fitting(parts: Iterable[pa.Table], command: str) -> Iterator[pa.Table]:
    items = 0
    for part in parts:
        items += len(part)
        require(command, Size(items))
        yield part


def _table(rows: list[Row]) -> pa.Table:
    fields = [field for field in COLLECTION.schema if field.name != "item"]
    columns = [_column([row.get(field.name) for row in rows], field, rows) for field in fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _column(values: list[object], field: pa.Field, rows: list[Row]) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except known_errors() as error:
        raise _culprit(values, field, rows) from error


def _culprit(values: list[object], field: pa.Field, rows: list[Row]) -> InputError:
    """Return which of the values cannot be stored: looked for only when there is one."""
    for value, row in zip(values, rows, strict=True):
        try:
            pa.array([value], field.type)
        except known_errors() as error:
            return InputError(f"item {row.get('id')!r:.80}: {field.name} cannot be {value!r:.80}: {reason(error)}")
    return InputError(f"the column {field.name} cannot be stored")


__all__ = ["BATCH", "Row", "batches", "numbered"]

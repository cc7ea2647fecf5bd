"""Checks of rows at the border of the query log: what is wrong is said before anything is stored."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from storage.errors import CorruptionError, InputError
from storage.schema import ANSWERS, TableSpec


def check_table(table: pa.Table, spec: TableSpec) -> pa.Table:
    """Return the table with exactly the declared schema; `InputError` if a column is missing, mistyped or wrongly empty."""
    try:
        return spec.check(table, f"new {spec.name}").cast(spec.schema)
    except CorruptionError as error:  # nothing is stored yet: what is wrong is the table that was given
        raise InputError(str(error)) from error


def check_answers(table: pa.Table) -> pa.Table:
    """Return answers in the declared order of columns; `InputError` that names the first one that cannot be right."""
    table = check_table(table, ANSWERS)
    value, seconds = table.column("value"), table.column("seconds")
    for allowed, what in (
        (pc.greater(pc.utf8_length(table.column("answer_id")), 0), "an empty answer_id"),
        (pc.fill_null(pc.and_(pc.greater_equal(value, 0), pc.less_equal(value, 1)), fill_value=True), "a value outside [0, 1]"),
        (pc.and_(pc.is_finite(seconds), pc.greater_equal(seconds, 0)), "seconds that are negative or not finite"),
    ):
        wrong = np.flatnonzero(~allowed.to_numpy().astype(bool))
        if len(wrong):
            row = table.slice(wrong[0], 1).to_pylist()[0]
            raise InputError(
                f"answer {row['answer_id']!r} (row {wrong[0]}) has {what}: value {row['value']}, seconds {row['seconds']}"
            )
    return table

"""The rows of `gold.parquet`, checked by value when they are read: pairs of two items, same or different, each once."""

import numpy as np
import pyarrow as pa

from storage.errors import CorruptionError
from storage.schema import GOLD


def check_gold(table: pa.Table, where: str, items: int | None) -> pa.Table:
    """Return the table in declared order; `CorruptionError` for a row that is no gold pair. `items`: None if it is not known."""
    table = GOLD.check(table, where)
    u, v, value = (table.column(name).to_numpy() for name in ("u", "v", "value"))
    wrong = (u < 0) | (u >= v) | ~np.isin(value, (0.0, 1.0))
    if items is not None:
        wrong |= v >= items
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise CorruptionError(
            f"{where}: row {row} ({u[row]}, {v[row]}, {value[row]}) is no pair of items that is same or different"
        )
    return table


__all__ = ["check_gold"]

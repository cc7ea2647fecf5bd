"""Pairs whose answer is known for certain: `gold.parquet` of a workspace, for checking people. Some hundreds, read whole."""

import pyarrow as pa

from storage import parquet
from storage.errors import CorruptionError, MissingObjectError
from storage.goldrows import check_gold
from storage.reading import damage, reason
from storage.schema import GOLD
from storage.workspace import Workspace

KEY = "gold.parquet"


def read_gold(workspace: Workspace) -> pa.Table:
    """Return the gold pairs; an empty table if there are none."""
    where = f"{workspace.location}/{KEY}"
    try:
        data = workspace.objects.read(KEY)
    except MissingObjectError:
        return GOLD.empty()
    items = workspace.collection().items
    try:
        return check_gold(parquet.from_bytes(data), where, items)
    except damage() as error:
        repair = "delete it and import the gold pairs again (`cccount gold import`)"
        raise CorruptionError(f"{where} is damaged ({reason(error)}): {repair}") from error


def write_gold(workspace: Workspace, table: pa.Table) -> None:
    """Replace the gold pairs."""
    workspace.objects.replace(KEY, parquet.to_bytes(table.cast(GOLD.schema)))

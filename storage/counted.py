"""How much lies in a workspace, read off the ends of its parquet files: so much is known before anything is read whole.

Constant memory, and time for a listing of each log. What cannot be told (a damaged or missing file) counts as nothing: whoever
reads it says what is wrong with it.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from storage.collection import KEY
from storage.objects import Objects
from storage.parts import parse_parts
from storage.reading import damage

_TAIL = 8  # bytes: the length of the footer, and PAR1
_MOST_FOOTER = 64 * 2**20


def collection_items(objects: Objects) -> int:
    """Return how many items the stored collection has."""
    return parquet_rows(objects, KEY)


def answers_of_largest(objects: Objects, campaigns: list[str]) -> int:
    """Return how many answers the campaign with the most answers has."""
    return max((part_rows(objects, f"campaigns/{name}/answers") for name in campaigns), default=0)


def part_rows(objects: Objects, folder: str) -> int:
    """Return how many rows the parts of a folder hold: a name says the first row of its part, a footer how many there are."""
    parts, _ = parse_parts(folder, objects.keys(folder))
    return parts[-1].first + parquet_rows(objects, parts[-1].key) if parts else 0


def parquet_rows(objects: Objects, key: str) -> int:
    """Return the number of rows that the footer of a parquet file tells."""
    try:
        size = objects.size(key) or 0
        footer = int.from_bytes(objects.read_range(key, max(size - _TAIL, 0), _TAIL)[:4], "little")
        if not 0 < footer <= min(size - _TAIL, _MOST_FOOTER):
            return 0
        end = objects.read_range(key, size - _TAIL - footer, footer + _TAIL)
        return int(pq.read_metadata(pa.BufferReader(b"PAR1" + end)).num_rows)
    except damage():
        return 0


__all__ = ["answers_of_largest", "collection_items", "parquet_rows", "part_rows"]

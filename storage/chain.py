"""A chain of digests over answers: each row's digest covers its values and the digest of the row before it.

So an answer that was edited, removed, put in or moved shows at that row, whoever wrote the file, unless every later digest and
the places that remember the chain's end (`journal.py`, the results) were changed as well. blake2b, 8 bytes in hex; some
microseconds a row; memory: the rows.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator

import pyarrow as pa

START = "0" * 16  # what the first row follows
UNCHAINED = "-" * len(START)  # for a row that is older than chains
CHAIN = "chain"  # the column that holds the digests in memory; in a part they stand in the footer
REPAIR = "somebody changed it after it was written: put the campaign's folder back from a backup"


def plain_rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows as plain values; times are whole microseconds."""
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def next_digest(before: str, row: Iterable[object]) -> str:
    """Return the digest of a row that follows the row with the digest `before`."""
    text = json.dumps([before, *row], separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=len(START) // 2).hexdigest()


def digests(rows: Iterable[Iterable[object]], before: str) -> Iterator[str]:
    """Return the digest of every row; `before` is that of the row in front of them."""
    for row in rows:
        before = next_digest(before, row)
        yield before


def first_broken(rows: Iterable[Iterable[object]], stored: Iterable[str | None], before: str) -> tuple[int | None, str]:
    """Return the first row whose stored digest is not the right one, None if all are, and the digest of the last row.

    Rows at the beginning may have none: they were written before there were chains.
    """
    begun = before != START
    for number, (row, found) in enumerate(zip(rows, stored, strict=True)):
        before = next_digest(before, row)
        begun = begun or found is not None
        if begun and found != before:
            return number, before
    return None, before

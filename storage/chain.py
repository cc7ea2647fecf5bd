"""A chain of digests over answers: each row's digest covers its values and the digest of the row before it.

So an answer that was edited, removed, put in or moved shows at that row, whoever wrote the file, unless every later digest and
the places that remember the chain's end (`journal.py`, the results) were changed as well. blake2b, 8 bytes in hex; some
microseconds a row; memory: the rows.

Which columns a digest covers belongs to the chain's version: a column that is added later is outside of the chain until there
is a version with it. Every digest tells its version ("2:" in front of the sixteen digits; none in front is 1), so versions may
follow each other in one log.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter

import pyarrow as pa

from storage import formats

START = "0" * 16  # what the first row follows
UNCHAINED = "-" * len(START)  # for a row that is older than chains
CHAIN = "chain"  # the column that holds the digests in memory; in a part they stand in the footer
# What each version covers, in this order. A list never changes; to cover a new column add a version, here and in `formats.py`.
COVERED: dict[int, tuple[str, ...]] = {
    1: (
        "answer_id", "question_id", "u", "v", "value", "page", "annotator", "answered_at", "seconds", "source", "undoes",
    ),
}  # fmt: skip
PRESENT = formats.CHAIN.present
Row = Sequence[object]
REPAIR = "somebody changed it after it was written: put the campaign's folder back from a backup"


def plain_rows(table: pa.Table) -> list[tuple[object, ...]]:
    """Return the rows as plain values; times are whole microseconds."""
    columns = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in table.columns]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def version_of(digest: str | None) -> int:
    """Return the version of a digest.

    >>> version_of("00112233445566aa"), version_of("2:00112233445566aa")
    (1, 2)
    """
    number, colon, _ = (digest or "").partition(":")
    return int(number) if colon else 1


def next_digest(before: str, names: Sequence[str], row: Row, version: int | None = None) -> str:
    """Return the digest of a row, with the columns `names`, that follows the row with the digest `before`."""
    version = PRESENT if version is None else version
    covered = _places(tuple(names), version)(row)
    text = json.dumps([before, *covered], separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=len(START) // 2).hexdigest()
    return digest if version == 1 else f"{version}:{digest}"


def digests(table: pa.Table, before: str, version: int | None = None) -> Iterator[str]:
    """Return the digest of every row; `before` is that of the row in front of them."""
    for row in plain_rows(table):
        before = next_digest(before, table.column_names, row, version)
        yield before


def first_broken(names: Sequence[str], rows: Iterable[Row], stored: Iterable[str | None], before: str) -> tuple[int | None, str]:
    """Return the first row whose stored digest is not the right one, None if all are, and the digest of the last row.

    Rows at the beginning may have none: they were written before there were chains. A version that nobody knows is a broken row.
    """
    begun = before != START
    for number, (row, found) in enumerate(zip(rows, stored, strict=True)):
        version = version_of(found)
        if version not in COVERED:
            return number, before
        before = next_digest(before, names, row, version)
        begun = begun or found is not None
        if begun and found != before:
            return number, before
    return None, before


@lru_cache(maxsize=64)
def _places(names: tuple[str, ...], version: int) -> "itemgetter[tuple[object, ...]]":
    """What takes the covered values out of a row."""
    return itemgetter(*map(names.index, COVERED[version]))

"""One parquet part of the query log: its name, its bytes, and the digest that makes a single flipped bit visible.

A name carries the first row of the part, and after a compaction the last one too. The digest stands in the footer's
metadata and covers the whole file, so a part stays plain parquet for every other reader. Parquet's own page checksums leave
page headers and footer uncovered: there, one flipped bit can still read as other data. Memory and time: the size of the part.

The footer also has the number of the part's format and the version of cccount that wrote it. A column that may be empty and that
this version does not know was added by a later one: it is kept, behind those that are declared, and nobody here looks at it.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from storage import formats
from storage.chain import CHAIN, UNCHAINED, version_of
from storage.errors import CorruptionError, FormatError
from storage.problems import Problem
from storage.schema import CHAINED, TableSpec
from storage.version import __version__

REPAIR = (
    "put it back from a backup; without one, move it and all later parts of its folder away, "
    "and import their answers once more (`cccount answers import`)"
)
_NAME = re.compile(r"part-(\d{12})(?:-(\d{12}))?\.parquet")
_MARK = b"cccount-blake2b:"
_BLANK = b"0" * 32
_FORMAT, _WRITER, _VERSIONS = "cccount.format", "cccount.version", "cccount.chain"  # in the footer


@dataclass(frozen=True, slots=True)
class Part:
    """A part that holds the rows from `first`; `last` is known by name only for a compacted one."""

    key: str
    first: int
    last: int | None

    def covers(self, other: "Part") -> bool:
        """True if this compacted part replaces `other`; compactions keep the borders of the parts that they merge."""
        other_last = other.first if other.last is None else other.last
        return self.last is not None and self.first <= other.first and other_last <= self.last


def part_key(folder: str, first: int, last: int | None = None) -> str:
    """Return the name of a part.

    >>> part_key("answers", 7), part_key("answers", 0, 99)
    ('answers/part-000000000007.parquet', 'answers/part-000000000000-000000000099.parquet')
    """
    return f"{folder}/part-{first:012d}{'' if last is None else f'-{last:012d}'}.parquet"


def parse_parts(folder: str, keys: Iterable[str]) -> tuple[list[Part], list[str]]:
    """Return the parts among `keys` by first row, of equal ones the longest compacted first, and the keys that are none."""
    parts, strangers = [], []
    for key in keys:
        match = _NAME.fullmatch(key.removeprefix(folder + "/"))
        if match is None:
            strangers.append(key)
        else:
            parts.append(Part(key, int(match[1]), None if match[2] is None else int(match[2])))
    parts.sort(key=lambda part: (part.first, 0 if part.last is None else -part.last - 1))
    return parts, strangers


def encode_part(table: pa.Table, spec: TableSpec = CHAINED) -> bytes:
    """Return the table as parquet bytes with a digest over all of them; a column `chain` goes into the footer (`chain.py`)."""
    said = {_FORMAT: str(_format(spec).present), _WRITER: __version__}
    if CHAIN in table.column_names:
        digests = pc.fill_null(table.column(CHAIN), UNCHAINED).to_pylist()
        table = table.drop_columns([CHAIN])
        runs = [(version, len(list(rows))) for version, rows in groupby(map(version_of, digests))]
        said[_VERSIONS] = " ".join(f"{version}*{rows}" for version, rows in runs)
        said[CHAIN] = "".join(digest[-len(UNCHAINED) :] for digest in digests)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, write_page_checksum=True, store_schema=False) as writer:
        writer.write_table(table)
        # The footer has this behind everything that comes from the rows: the last mark in the file is the right one.
        writer.add_key_value_metadata({**said, "digest": (_MARK + _BLANK).decode()})
    data: bytes = sink.getvalue().to_pybytes()
    head, mark, tail = data.rpartition(_MARK)
    return head + mark + _digest(head, tail[len(_BLANK) :]) + tail[len(_BLANK) :]


def decode_part(data: bytes, spec: TableSpec, where: str) -> pa.Table:
    """Return the rows of a part; `CorruptionError` that names `where` and the repair if a single byte of it is not as written."""
    head, _, tail = data.rpartition(_MARK)
    if not head or tail[: len(_BLANK)] != _digest(head, tail[len(_BLANK) :]):
        raise CorruptionError(f"{where} is damaged (its bytes are not those that were written): {REPAIR}")
    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        said = {name.decode(): value.decode() for name, value in (file.metadata.metadata or {}).items()}
        _format(spec).check(int(said.get(_FORMAT, 1)), where, said.get(_WRITER))
        # On this thread: see `parquet.py`.
        table = _linked(file.read(use_threads=False), said, where)
        return _declared_first(table, spec, where, said.get(_WRITER))
    except CorruptionError as error:
        raise CorruptionError(f"{error}: {REPAIR}") from error


def _format(spec: TableSpec) -> formats.Format:
    return formats.FORMATS.get(spec.name, formats.ANSWERS)


def _declared_first(table: pa.Table, spec: TableSpec, where: str, writer: str | None) -> pa.Table:
    """Return the declared columns, and behind them those of a later version; `FormatError` for one that may not be ignored."""
    known = spec.check(table, where).cast(spec.schema)
    names = {*spec.schema.names, CHAIN}
    later = [field for field in table.schema if field.name not in names]
    for field in later:
        if not field.nullable:
            what = f"made by another cccount: it needs the column {field.name!r}, which this one does not know"
            raise FormatError(Problem(where, what, f"use {formats.reader(writer)}"))
    for field in later:
        known = known.append_column(field, table.column(field.name))
    return known


def _linked(table: pa.Table, said: dict[str, str], where: str) -> pa.Table:
    """Return the table with the digests of the footer, if it has any, as the column `chain`."""
    size, links = len(UNCHAINED), said.get(CHAIN, "")
    if not links or len(links) != size * table.num_rows:
        return table
    digests = [links[place : place + size] for place in range(0, len(links), size)]
    runs = [run.split("*") for run in said.get(_VERSIONS, f"1*{table.num_rows}").split()]
    versions = [version for version, rows in runs for _ in range(int(rows))]
    for version in dict.fromkeys(versions):
        formats.CHAIN.check(int(version), where, said.get(_WRITER))
    named = [d if v == "1" else f"{v}:{d}" for v, d in zip(versions, digests, strict=True)]
    return table.append_column(CHAIN, pa.array([None if d == UNCHAINED else d for d in named], pa.string()))


def _digest(head: bytes, tail: bytes) -> bytes:
    digest = hashlib.blake2b(head, digest_size=len(_BLANK) // 2)
    digest.update(tail)
    return digest.hexdigest().encode()

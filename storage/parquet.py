"""Parquet to and from bytes, on the calling thread: time and memory O(rows).

Arrow's pool of threads is taken down by the C++ runtime when a process ends, and a pool that was woken a moment before aborts it
(exit code 134, "terminate called without an active exception"; apache/arrow issue 34314): one in nine runs of `cccount status`
on a busy machine. The tables of a workspace are small enough to be read faster than a second thread wakes up.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from storage import stamp

_STAMP = b"stamp"  # its name in the footer


def to_bytes(table: pa.Table) -> bytes:
    """Return the table as parquet bytes with a checksum for each page, and a stamp (`stamp.py`) for page headers and footer."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema, write_page_checksum=True) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({_STAMP.decode(): stamp.BLANK})  # behind everything that comes from the rows
    data: bytes = sink.getvalue().to_pybytes()
    return stamp.filled(data)


def from_bytes(data: bytes) -> pa.Table:
    """Return the table of parquet bytes; Arrow's own errors if they are damaged."""
    with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
        table = file.read(use_threads=False)
    kept = {name: value for name, value in (table.schema.metadata or {}).items() if name != _STAMP}
    return table.replace_schema_metadata(kept or None)

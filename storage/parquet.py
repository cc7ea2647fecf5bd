"""Parquet to and from bytes, on the calling thread: time and memory O(rows).

Arrow's pool of threads is taken down by the C++ runtime when a process ends, and a pool that was woken a moment before aborts it
(exit code 134, "terminate called without an active exception"; apache/arrow issue 34314): one in nine runs of `cccount status`
on a busy machine. The tables of a workspace are small enough to be read faster than a second thread wakes up.
"""

import pyarrow as pa
import pyarrow.parquet as pq


def to_bytes(table: pa.Table) -> bytes:
    """Return the table as parquet bytes with a checksum for each page."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.Table:
    """Return the table of parquet bytes; Arrow's own errors if they are damaged."""
    with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
        return file.read(use_threads=False)

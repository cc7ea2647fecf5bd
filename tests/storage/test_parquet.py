"""Parquet as bytes: what was written is read, and no thread is left that could abort the process when it ends."""

import subprocess
import sys

import pyarrow as pa
import pytest

from storage import parquet

TABLE = pa.table({"item": pa.array(range(1_000), pa.int64()), "label": [str(item % 7) for item in range(1_000)]})

COUNTED = """
import os
import pyarrow as pa
from storage import parquet
from storage.parts import decode_part, encode_part
from storage.schema import GOLD

before = len(os.listdir("/proc/self/task"))
table = parquet.from_bytes(parquet.to_bytes(pa.table({name: list(range(5_000)) for name in "abcdefgh"})))
decode_part(encode_part(GOLD.empty()), GOLD, "here")
print(table.num_rows, len(os.listdir("/proc/self/task")) - before)
"""


def test_what_was_written_is_read() -> None:
    assert parquet.from_bytes(parquet.to_bytes(TABLE)).equals(TABLE)


def test_a_flipped_byte_of_a_page_is_an_error() -> None:
    data = bytearray(parquet.to_bytes(TABLE))
    data[200] ^= 1
    with pytest.raises((pa.ArrowException, OSError)):
        parquet.from_bytes(bytes(data))


def test_reading_starts_no_thread() -> None:
    shown = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.split() == ["5000", "0"]

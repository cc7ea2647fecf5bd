"""Makes of a workspace what cccount 0.1.0 wrote: no numbers but `format = 1` in workspace.toml, and no stamps."""

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_STAMP = r"cccount-blake2b:[0-9a-f]{32}:blake2b-cccount"
_MARK, _BLANK = b"cccount-blake2b:", b"0" * 32


def make_old(workspace: Path) -> Path:
    """Rewrite every file as 0.1.0 wrote it."""
    for path in sorted(path for path in workspace.rglob("*") if path.is_file()):
        if path.suffix == ".toml":
            _toml(path)
        elif path.name == "lease.json":
            path.write_text(json.dumps(json.loads(path.read_bytes()), indent=1))  # of two fences the last one stays
        elif path.suffix == ".json":
            _json(path)
        elif path.suffix == ".html":
            path.write_text(re.sub(rf"<!-- {_STAMP} -->\n", "", path.read_text()))
        elif path.parent.name in ("questions", "answers"):
            _part(path)
        elif path.suffix == ".parquet":
            _table(path)
        elif path.name == "journal.sqlite":
            with closing(sqlite3.connect(path)) as database:
                database.execute("DROP TABLE IF EXISTS about")
                database.execute("PRAGMA user_version = 0")
                database.commit()
    return workspace


def _toml(path: Path) -> None:
    text = re.sub(rf"# {_STAMP}\n", "", path.read_text())
    if path.name == "workspace.toml":
        text = text.replace("format = 2\n", "format = 1\n")
    else:
        text = re.sub(r'format = 1\ncccount = "[^"]*"\n', "", text)
    path.write_text(text)


def _json(path: Path) -> None:
    """Markers and zarr.json know the array by a random name, without a number and a stamp; others lose the member `stamp`."""
    text = re.sub(rf'([0-9a-f]{{16}}) format \d+ by cccount \S+ {_STAMP}"', r'\1"', path.read_text())
    text = re.sub(rf'"stamp": "{_STAMP}",', "", text)  # in front of others
    text = re.sub(rf',\s*"stamp": "{_STAMP}"', "", text)  # behind others: an annotator's
    path.write_text(text)


def _table(path: Path) -> None:
    table = pq.ParquetFile(path).read()
    kept = {name: value for name, value in (table.schema.metadata or {}).items() if name != b"stamp"}
    pq.write_table(table.replace_schema_metadata(kept or None), path, write_page_checksum=True)


def _part(path: Path) -> None:
    file = pq.ParquetFile(path)
    said = {b"chain": links} if (links := file.metadata.metadata.get(b"chain")) else {}
    table = file.read()
    sink = pa.BufferOutputStream()
    plain = table.schema.remove_metadata()
    with pq.ParquetWriter(sink, plain, write_page_checksum=True, store_schema=False) as writer:
        writer.write_table(table.replace_schema_metadata(None))
        writer.add_key_value_metadata({**said, b"digest": _MARK + _BLANK})
    head, mark, tail = sink.getvalue().to_pybytes().rpartition(_MARK)
    rest = tail[len(_BLANK) :]
    digest = hashlib.blake2b(head, digest_size=len(_BLANK) // 2)
    digest.update(rest)
    path.write_bytes(head + mark + digest.hexdigest().encode() + rest)

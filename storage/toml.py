"""TOML that somebody else may have written: `tomllib`, and a limit for what would keep it busy for hours."""

import tomllib
from typing import Any

_MOST_BYTES = 2**20
_MOST_PARTS = 100  # of a dotted name: tomllib takes time with the square of them


def load_toml(data: bytes) -> dict[str, Any]:
    """Return what a small file says; `ValueError`, which `tomllib.TOMLDecodeError` is, for one that is none or is too large.

    >>> load_toml(b"a.b = 1")
    {'a': {'b': 1}}
    """
    if len(data) > _MOST_BYTES:
        raise ValueError(f"it has {len(data):,} bytes, more than any such file")
    text = data.decode()
    if any(line.partition("=")[0].count(".") > _MOST_PARTS for line in text.splitlines()):
        raise ValueError(f"it has a name of more than {_MOST_PARTS} parts")
    return tomllib.loads(text)


__all__ = ["load_toml"]

"""The border: how files are read that somebody else wrote, so that nothing but our own errors comes out, and nothing hangs.

A reader checks what it understands and says what is wrong in its own words. What the libraries below it raise for bytes that are
not theirs is a known list, and becomes one line with the file and the reason here. A pipe, a device or a link that leads to
itself is never waited for. Cost: one call of `fstat` for each file. Light to import.
"""

import csv
import os
import stat
import struct
import sys
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from storage.errors import CccountError, InputError

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
# What the readers of JSON, TOML, CSV, parquet, zip, tar, numpy and zarr raise for bytes that are not theirs.
_RAISED = (
    ValueError, LookupError, TypeError, AttributeError, OSError, EOFError, ArithmeticError, MemoryError, AssertionError,
    RuntimeError, Warning, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error, tarfile.TarError, struct.error,
    csv.Error,
)  # fmt: skip
_LONGEST = 300  # libraries quote what they met, which may be a whole file


class NotAFileError(OSError):
    """What would be read is no regular file: whoever opens it might wait for ever."""


def open_regular(path: str | Path) -> IO[bytes]:
    """Open a file for reading; `NotAFileError` for a pipe, a device or a folder, and nobody waits."""
    # Without O_NONBLOCK opening a pipe waits until somebody writes. For a file it changes nothing.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise NotAFileError(0, _named(kind), str(path))
    return os.fdopen(descriptor, "rb")


def read_regular(path: str | Path) -> bytes:
    """Return the bytes of a file, as `open_regular` opens it."""
    with open_regular(path) as source:
        return source.read()


def unusable(path: str | Path) -> str | None:
    """Return why this is no file that can be read, without opening it; None for a file."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116 (a Path for each file costs more than the call)
    except (OSError, ValueError) as error:
        return reason(error)
    return None if kind == stat.S_IFREG else _named(kind)


def _named(kind: int) -> str:
    return f"it is {_KINDS.get(kind, 'something else')}, not a file"


def require_file(path: Path) -> None:
    """Raise `InputError` unless there is a file that can be read."""
    if not os.path.lexists(path):
        raise InputError(f"there is no file {path}")
    if (why := unusable(path)) is not None:
        raise InputError(f"cannot read {path}: {why}")


def require_files_below(folder: Path) -> None:
    """Raise `InputError` if something below a folder is neither a file nor a folder. Time: one call for each entry."""
    for above, _, names in os.walk(folder):
        for name in names:
            if (why := unusable(os.path.join(above, name))) is not None:  # noqa: PTH118 (as above)
                raise InputError(f"cannot read {above}/{name}: {why}")


def known_errors() -> tuple[type[BaseException], ...]:
    """Return what libraries raise for bytes that are not theirs. Arrow's only if it is loaded: who has not cannot meet them."""
    arrow = sys.modules.get("pyarrow")
    return (*_RAISED, arrow.ArrowException) if arrow is not None else _RAISED


def damage() -> tuple[type[BaseException], ...]:
    """Return `known_errors`, and our own."""
    return (CccountError, *known_errors())


@contextmanager
def reading(where: object, error_type: type[CccountError] = InputError, repair: str = "") -> Iterator[None]:
    """Turn what a library raises for a file that it does not understand into one of our errors, with the file and the reason.

    >>> with reading("a.json"):
    ...     int("x")
    Traceback (most recent call last):
    ...
    storage.errors.InputError: cannot read a.json: invalid literal for int() with base 10: 'x'
    """
    try:
        yield
    except known_errors() as error:
        raise error_type(f"cannot read {where}: {reason(error)}{repair and f': {repair}'}") from error


def reason(error: BaseException) -> str:
    """Return what went wrong in one line that a person understands.

    >>> reason(KeyError("shape")), reason(RecursionError()), reason(EOFError())
    ("'shape' is missing", 'it is nested too deeply', 'EOFError')
    """
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, MemoryError):
        return "it does not fit in memory"
    if isinstance(error, UnicodeEncodeError):
        return f"it has half of a character ({error.object[error.start]!r}, without the half that belongs to it)"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, OSError) and error.strerror:
        return " ".join(error.strerror.split())
    return (" ".join(str(error).split()) or type(error).__name__)[:_LONGEST]


__all__ = [
    "NotAFileError", "damage", "known_errors", "open_regular", "read_regular", "reading", "reason", "require_file",
    "require_files_below", "unusable",
]  # fmt: skip

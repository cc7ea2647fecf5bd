"""How a CSV file is written: its encoding, what stands between the cells, and where its header is.

Excel writes semicolons where the decimal sign is a comma, UTF-16 with tabs as "Unicode text", a byte order mark in front of
UTF-8, and a first line `sep=;` where somebody asked for it. All of that is seen in the first bytes; nothing has to be said.
"""

import codecs
import csv
import re
from collections.abc import Collection
from dataclasses import dataclass

HEAD = 65_536  # bytes that are looked at
_SEPARATORS = (",", ";", "\t", "|")  # of two that fit alike the first is taken
_SAID = re.compile(r"sep=(.)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """What a reader of CSV has to be told. `skipped`: lines above the header."""

    encoding: str
    separator: str
    skipped: int


def csv_form(head: bytes, names: Collection[str]) -> CsvForm:
    """Return the form of a file that begins so; the separator is the one that makes most of these `names` columns.

    >>> csv_form(b"id;path\\n1;a.jpg\\n", {"path"})
    CsvForm(encoding='utf-8', separator=';', skipped=0)
    >>> csv_form("sep=|\\na|b".encode("utf-16"), {"b"})
    CsvForm(encoding='utf-16', separator='|', skipped=1)
    """
    encoding = _encoding(head)
    lines = head.decode(encoding, errors="replace").splitlines() or [""]
    said = _SAID.fullmatch(lines[0])
    if said is not None:
        return CsvForm(encoding, said[1], 1)
    return CsvForm(encoding, max(_SEPARATORS, key=lambda separator: _fits(lines[0], separator, names)), 0)


def header_names(line: str, separator: str) -> list[str]:
    """Return the cells of a header line, as they stand there.

    >>> header_names('"a";b', ";")
    ['a', 'b']
    """
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell beyond all measure, which whoever reads the file says
        return []


def _fits(line: str, separator: str, names: Collection[str]) -> tuple[int, int]:
    cells = [cell.strip().lower() for cell in header_names(line, separator)]
    return len(set(cells) & set(names)), len(cells)


def _encoding(head: bytes) -> str:
    if head.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in head[:4]:  # no header begins with one: every second byte of plain letters in UTF-16 is zero
        return "utf-16-be" if head[:1] == b"\0" else "utf-16-le"
    return "utf-8"


__all__ = ["HEAD", "CsvForm", "csv_form", "header_names"]

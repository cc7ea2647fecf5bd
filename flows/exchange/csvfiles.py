"""Rows as CSV that spreadsheets read and write, and that does nothing in them.

A cell that begins with = + - @ is a formula for Excel: such text goes out with an apostrophe in front of it, and comes back
without. Memory and time: the file.
"""

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from cccount_dist.embedding.readers.csvform import HEAD, csv_form
from storage.errors import InputError

Cells = dict[str, str]
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n]")


def csv_bytes(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    """Return rows of these columns as a file."""
    sink = io.StringIO(newline="")
    table = csv.DictWriter(sink, columns)
    table.writeheader()
    table.writerows({name: guarded(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows)
    return sink.getvalue().encode()


def csv_table(data: bytes, names: Collection[str]) -> tuple[list[str], Iterator[tuple[int, Cells | str]]]:
    """Return the columns of a file, in lower case, and its rows, each with its line; or why a row is none.

    `names` are columns that may be expected: they tell what stands between the cells.
    """
    form = csv_form(data[:HEAD], names)
    lines = csv.reader(io.StringIO(data.decode(form.encoding), newline=""), delimiter=form.separator)
    for _ in range(form.skipped):
        next(lines)
    header = [name.strip().lower() for name in next(lines, [])]
    twice = next((name for number, name in enumerate(header) if name and name in header[:number]), None)
    if twice is not None:
        raise InputError(f"it has two columns {twice!r}: leave one out")

    def rows() -> Iterator[tuple[int, Cells | str]]:
        for cells in lines:
            if len(cells) > len(header):
                found = f"the row has {len(cells)} cells for {len(header)} columns"
                yield lines.line_num, f"{found}: a cell with {form.separator!r} in it needs quotes"
            elif any(cell.strip() for cell in cells):
                yield lines.line_num, {name: plain(cell) for name, cell in zip(header, cells, strict=False) if name}

    return [name for name in header if name], rows()


def guarded(cell: str) -> str:
    """
    >>> guarded("=HYPERLINK(1)"), guarded("'=a"), guarded("it's")
    ("'=HYPERLINK(1)", "''=a", "it's")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell


def plain(cell: str) -> str:
    """
    >>> plain("'=HYPERLINK(1)"), plain("''=a"), plain("'a"), plain("-1")
    ('=HYPERLINK(1)', "'=a", "'a", '-1')
    """
    return cell[1:] if _GUARDED.match(cell) else cell


__all__ = ["csv_bytes", "csv_table", "guarded", "plain"]

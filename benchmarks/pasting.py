"""Puts a table that a benchmark printed into a page of the documentation, between two marks."""

from collections.abc import Sequence
from pathlib import Path


def pasted(page: Path, name: str) -> list[str]:
    """The lines that are between the marks now."""
    text = page.read_text(encoding="utf-8")
    return text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0].strip().splitlines()


def paste(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what is between `<!-- name -->` and `<!-- /name -->`."""
    text = page.read_text(encoding="utf-8")
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, found, rest = text.partition(start)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{page} has no place for the table: it needs the lines {start} and {end}")
    page.write_text(head + "\n".join([start, *lines, end]) + tail, encoding="utf-8")

"""Puts a table that a benchmark printed into a page of the documentation, between two marks, and says below it when and where.

<!-- name -->
…
<!-- /name -->

*Written 2026-11-18, revision 1a2b3c4, AMD EPYC, 2 processors, 24 GiB.*
"""

import os
import re
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

_WRITTEN = re.compile(r"\s*\*Written [^*\n]*\*\n*")


def pasted(page: Path, name: str) -> list[str]:
    """The lines that are between the marks now."""
    text = page.read_text(encoding="utf-8")
    return text.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0].strip().splitlines()


def paste(page: Path, name: str, lines: Sequence[str]) -> None:
    """Replace what is between `<!-- name -->` and `<!-- /name -->`, and the line below that says when it was written."""
    text = page.read_text(encoding="utf-8")
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    head, found, rest = text.partition(start)
    _, closed, tail = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{page} has no place for the table: it needs the lines {start} and {end}")
    tail = _WRITTEN.sub("", tail, count=1) if _WRITTEN.match(tail) else tail.lstrip("\n")
    text = f"{head}{start}\n\n" + "\n".join(lines).strip("\n") + f"\n\n{end}\n\n*{written()}*\n"
    page.write_text(f"{text}\n{tail}" if tail else text, encoding="utf-8")


def written() -> str:
    """When, from which revision and on what machine: what a table of figures is worth without is little."""
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    revision = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{_processor()}, {os.cpu_count()} processors, {memory:.0f} GiB"
    return f"Written {datetime.now(UTC):%Y-%m-%d}, revision {revision}, {machine}."


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.*)", facts.read_text()) if facts.exists() else None
    return named[1].strip() if named else "a processor of unknown kind"

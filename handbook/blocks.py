"""The code blocks of the pages, for the tests that run them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
_FENCE = re.compile(r"^```(\w*)[ \t]*(.*)$")


@dataclass(frozen=True)
class Block:
    """One block: its language, the file that it is saved as (`title="…"`), its text, and where it stands."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    opened: tuple[int, str, str | None] | None = None
    inside: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and opened is None:
            title = re.search(r'title="([^"]+)"', fence[2])
            opened, inside = (number, fence[1], title[1] if title else None), []
        elif opened is not None and line.strip() == "```":
            yield Block(page, opened[0], opened[1], opened[2], "\n".join(inside) + "\n")
            opened = None
        elif opened is not None:
            inside.append(line)


def every_block() -> list[Block]:
    return [block for page in sorted(DOCS.rglob("*.md")) for block in blocks(page)]


def commands(text: str) -> list[str]:
    """The commands of a shell block: a line each, what goes on behind a backslash joined, comments left out."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]

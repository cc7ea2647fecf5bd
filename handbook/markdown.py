"""Small tools for Markdown: tables, and pages that Python-Markdown reads as GitHub does."""

import re
from collections.abc import Iterable, Sequence

_ITEM = re.compile(r"(?:- |\* |\d+\. )")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table.

    >>> table(["a", "b"], [["1", "x|y"]])
    ['| a | b |', '|---|---|', '| 1 | x\\\\|y |']
    """
    return [_row(head), "|" + "---|" * len(head), *map(_row, rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", cell.replace("\n", " ")) for cell in cells) + " |"


def plain_pipes(text: str) -> str:
    """Take the backslash of a pipe out of code in a table: GitHub needs it there, and Python-Markdown shows it.

    >>> plain_pipes("| `int \\| None` | a \\| b |")
    '| `int | None` | a \\\\| b |'
    """
    lines = (
        re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), line) if line.startswith("|") else line
        for line in text.split("\n")
    )
    return "\n".join(lines)


def spaced(text: str) -> str:
    """Put an empty line before tables, lists, marks and code, where GitHub needs none and Python-Markdown does.

    >>> spaced("Words:\\n- one\\n  goes on\\n- two\\n| a |\\n|---|")
    'Words:\\n\\n- one\\n  goes on\\n- two\\n\\n| a |\\n|---|\\n'
    """
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        fence = line.startswith("```")
        if before.strip() and (not fenced) and (fence or _parted(before, line)):
            lines.append("")
        fenced = fenced != fence
        lines.append(line)
    return "\n".join(lines).rstrip() + "\n"


def _parted(before: str, line: str) -> bool:
    if not line.strip():
        return False
    begins_list = bool(_ITEM.match(line)) and not (_ITEM.match(before) or before.startswith("  "))
    beside_table = line.startswith("|") != before.startswith("|")
    marked = line.startswith("<!--") or before.startswith("<!--")
    return begins_list or beside_table or marked or before.startswith(("```", "#")) or line.startswith("#")

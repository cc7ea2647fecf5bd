"""`python -m tests.words`: everything that a person reads, in one file to go through: messages, help texts, page and report.

Texts come out of the source: strings with at least three words that are no docstring, from Python, and those of the page's
scripts and HTML. A piece that is filled in stands as `{…}`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("storage", "cccount_dist", "flows")
_FEWEST = 3
# Of a query, a style sheet, a script, a content policy, a type, an address, a selector.
_CODE = re.compile(
    r"^\s*(?:SELECT|INSERT|CREATE|UPDATE|DELETE|PRAGMA)\b|\{ [\w-]+:|\bconst |default-src|^<|^[A-Z]\w+\[|^/api/|:not\(|\(\?:"
    r"|%\(\w+\)s|\w\[\w+, |->|^\w+/\w[\w+]*(?:;|$)|\$\{[^}]*\}deg|^format = |\| Sequence\["
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the words of each text in a Python file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    said_by_class = {id(one) for one in _docstrings(tree)}
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node) if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in said_by_class or id(node) in inside:
            continue
        text = _text(node)
        if text is not None and _is_prose(text):
            yield getattr(node, "lineno", 0), " ".join(text.split())


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body and isinstance(node.body[0], ast.Expr):
            first = node.body[0].value
            is_command = isinstance(node, ast.FunctionDef) and any("command" in ast.unparse(one) for one in node.decorator_list)
            if isinstance(first, ast.Constant) and not is_command:
                yield first


def _text(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(one.value) if isinstance(one, ast.Constant) else "{…}" for one in node.values)
    return None


def _is_prose(text: str) -> bool:
    """Whether words follow each other as in a sentence: no pattern, no query, no format of our own."""
    words = re.findall(r"(?<![\w<{.-])[A-Za-z][a-z']+(?![\w>}=(])", text)
    return len(words) >= _FEWEST and not _CODE.search(text)


def scripts(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of a script or an HTML file of the page."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        code = line.partition(" // ")[0]
        found = re.findall(r'"([^"]*)"|`([^`]*)`|>([^<>{}]+)<', code)
        for text in (next(filter(None, groups), "") for groups in found):
            if _is_prose(text):
                yield number, text.strip()


def everything() -> Iterator[tuple[str, str]]:
    """The place and the words of every text."""
    for top in PACKAGES:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".py", ".js", ".html") and "min." not in path.name:
                for line, text in texts(path) if path.suffix == ".py" else scripts(path):
                    yield f"{path.relative_to(ROOT)}:{line}", text


if __name__ == "__main__":
    sys.stdout.writelines(f"{place}\t{text}\n" for place, text in everything())

"""The page of what `--json` prints: the fields of every outcome, with the comments that stand beside them in the code."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from cccount_dist.campaign.outcome import OPTIONAL, UNTOLD, Outcome
from handbook.markdown import table

ROOT = Path(__file__).parent.parent


def outcomes() -> list[type[Outcome]]:
    """Every outcome that there is, by the file that it stands in."""
    for top in ("flows", "cccount_dist/kinds"):
        for path in sorted((ROOT / top).rglob("*.py")):
            if "(Outcome)" in (text := path.read_text()) or "(CampaignOutcome)" in text or "(_Read)" in text:
                import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return sorted(_below(Outcome), key=lambda one: (one.__module__, one.__qualname__))


def _below(kind: Any) -> Iterator[type[Outcome]]:
    for one in kind.__subclasses__():
        if (
            one.__module__.startswith(("flows", "cccount_dist"))
            and not inspect.isabstract(one)
            and not one.__name__.startswith("_")
        ):
            yield one
        yield from _below(one)


def page() -> str:
    lines = [
        "# What `--json` prints",
        "",
        "Written from the code. Every command with `--json` prints one object on standard output, and nothing else there.",
        "",
        "A field that is `optional` is left out while nothing is known. Types of our own are tables at the end.",
        "",
    ]
    parts: dict[str, type] = {}
    for one in outcomes():
        lines += _described(one, parts)
    lines += ["## Parts of them", ""]
    done: set[str] = set()
    while left := sorted(set(parts) - done):
        for name in left:
            done.add(name)
            lines += _described(parts[name], parts, level=3)
    return "\n".join(lines)


def _described(kind: Any, parts: dict[str, type], level: int = 2) -> list[str]:
    lines = [f"{'#' * level} {kind.__name__}", "", (inspect.getdoc(kind) or "").split("\n\n")[0], ""]
    if "json" in kind.__dict__:
        lines += ["As it is put together:", "", "```python", inspect.cleandoc(_source(kind)), "```", ""]
    types = _types(kind)
    rows = []
    for one in fields(kind):
        if UNTOLD in one.metadata:
            continue
        _note(types[one.name], parts)
        optional = "optional" if OPTIONAL in one.metadata else ""
        rows.append([f"`{one.name}`", f"`{_said(types[one.name])}`", _comment(kind, one.name), optional])
    return [*lines, *table(["field", "type", "what it says", ""], rows), ""] if rows else lines


def _types(kind: Any) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # a type that is imported for the type checker only: as it is written
        return {one.name: one.type for one in fields(kind)}


def _source(kind: type) -> str:
    return inspect.getsource(kind.__dict__["json"])


def _note(kind: Any, parts: dict[str, type]) -> None:
    """Remember the dataclasses that stand in a type."""
    for one in (kind, *get_args(kind)):
        if isinstance(one, type) and is_dataclass(one) and not issubclass(one, Outcome):
            parts[one.__name__] = one
        if one is not kind:
            _note(one, parts)


def _said(kind: Any) -> str:
    """A type in the words of the code, without the modules' names.

    >>> _said(list[int]), _said(int | None), _said(Path)
    ('list[int]', 'int | None', 'Path')
    """
    text = kind if isinstance(kind, str) else inspect.formatannotation(kind)
    words = text.replace("typing.", "").replace("collections.abc.", "").split(".")
    return text if len(words) == 1 else "".join(_last(word) for word in _pieces(text))


def _pieces(text: str) -> list[str]:
    found, word = [], ""
    for letter in text:
        if letter.isalnum() or letter in "._":
            word += letter
        else:
            found += [word, letter]
            word = ""
    return [*found, word]


def _last(word: str) -> str:
    return word.rpartition(".")[2]


def _comment(kind: type, name: str) -> str:
    """What the line of a field says behind `#`, in the class that declares it."""
    for one in kind.__mro__:
        if name in inspect.get_annotations(one):
            return _comments(inspect.getmodule(one), one.__name__).get(name, "")
    return ""


@cache
def _comments(module: ModuleType | None, named: str) -> dict[str, str]:
    if module is None:
        return {}
    source = inspect.getsource(module)
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == named:
            declared = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
            return {
                one.target.id: _behind(lines[(one.end_lineno or 1) - 1]) for one in declared if isinstance(one.target, ast.Name)
            }
    return {}


def _behind(line: str) -> str:
    return line.partition("  # ")[2].strip()

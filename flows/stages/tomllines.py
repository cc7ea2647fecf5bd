"""On which line of a TOML file each key stands, for refusals that name it: `tomllib` gives values and no lines.

A statement of TOML (a header, or a key with its value) can be read by itself. So lines are taken together until `tomllib` reads
them: strings and lists over several lines are right without a second reader of TOML. O(lines).
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from storage.errors import InputError

Steps = tuple[str | int, ...]  # the way to a value: ("campaign", 1, "budget")


_CLOSING = re.compile(r"""[\]}"']""")  # a statement of several lines ends in a line that has one of these
_MOST_TRIES = 200


def lines_of(text: str) -> dict[Steps, int]:
    """Return the line of every header and key of a valid file; the whole file is line 1.

    >>> found = lines_of('a = 1\\n[[campaign]]\\nk = [\\n 1]\\n\\n[[campaign]]\\nk = 2\\n[campaign.parameters]\\nx = 1')
    >>> found[("campaign", 0, "k")], found[("campaign", 1)], found[("campaign", 1, "parameters", "x")]
    (3, 6, 9)
    """
    found: dict[Steps, int] = {(): 1}
    counts: dict[Steps, int] = {}
    base: Steps = ()
    held: list[str] = []
    tries = 0
    for number, line in enumerate(text.splitlines(), 1):
        held.append(line)
        if len(held) > 1 and not _CLOSING.search(line):
            continue
        tries = 1 if len(held) == 1 else tries + 1
        if tries > _MOST_TRIES:  # each reads the statement from its beginning: what comes later has no line
            break
        try:
            statement = tomllib.loads("\n".join(held))
        except tomllib.TOMLDecodeError:
            continue
        first = number - len(held) + 1
        header = held[0].lstrip().startswith("[")
        many = held[0].lstrip().startswith("[[")
        held = []
        if header:
            base = _numbered(_path(statement), counts, many=many)
            found.setdefault(base, first)
        else:
            for steps in _keys(statement):
                found.setdefault((*base, *steps), first)
    return found


def _path(header: Mapping[str, object]) -> tuple[str, ...]:
    """The names in a header, from what it makes: [a.b] makes {a: {b: {}}}, [[a]] makes {a: [{}]}."""
    steps: list[str] = []
    inner: object = header
    while isinstance(inner, dict) and inner:
        (name, inner) = next(iter(inner.items()))
        steps.append(name)
    return tuple(steps)


def _numbered(path: tuple[str, ...], counts: dict[Steps, int], *, many: bool) -> Steps:
    """The way to a table: where a name is a list of tables, its newest one is meant."""
    steps: Steps = ()
    for place, name in enumerate(path):
        steps = (*steps, name)
        if many and place == len(path) - 1:
            counts[steps] = counts.get(steps, -1) + 1
        if steps in counts:
            steps = (*steps, counts[steps])
    return steps


def _keys(statement: Mapping[str, object]) -> list[tuple[str, ...]]:
    """The keys that a statement sets: several for a dotted key or a table in braces."""
    found: list[tuple[str, ...]] = []
    for name, inner in statement.items():
        found.append((name,))
        if isinstance(inner, dict):
            found += [(name, *steps) for steps in _keys(inner)]
    return found


@dataclass(frozen=True, slots=True)
class Where:
    """Where things stand in a file, for the beginning of a refusal; without lines for what did not come from a file."""

    file: str
    lines: Mapping[Steps, int]

    def at(self, *steps: str | int) -> str:
        """The place of a key, or of the section around it."""
        if not self.lines:
            return f"{self.file}: "
        line = next(self.lines[steps[:n]] for n in range(len(steps), -1, -1) if steps[:n] in self.lines)
        return f"{self.file}:{line}: "

    def refuse(self, steps: Steps, text: str) -> NoReturn:
        raise InputError(f"{self.at(*steps)}{text}")

    def explain(self, steps: Steps, error: InputError) -> NoReturn:
        """Raise an error of declared options as one about the file: keys instead of options, at the key that it names."""
        text = re.sub(r"`[^`]*`|--[a-z]+(?:-[a-z]+)*", lambda found: _as_key(found[0]), str(error))
        inside = [one for one in self.lines if len(one) > len(steps) and one[: len(steps)] == steps]
        quoted = (one for one in inside if f"'{one[-1]}'" in text)
        named = (one for one in inside if re.search(rf"\b{re.escape(str(one[-1]))}\b", text))
        raise InputError(f"{self.at(*next(quoted, next(named, steps)))}{text}") from error


def _as_key(text: str) -> str:
    """An option as a key of the file; a command in backticks stays what it is."""
    return text if text.startswith("`") else text.removeprefix("--").replace("-", "_")

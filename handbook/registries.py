"""The pages that come from registries: methods, the job file, what is stored, arrays and tables, formats, Python names."""

import inspect
import re
from typing import Any

import cccount_dist
import cccount_dist.testing
from flows.stages.jobexample import example
from flows.stages.methods import list_methods
from handbook.markdown import table
from storage import formats, inventory, schema
from storage.schema import ArraySpec, TableSpec

WRITTEN = "Written from the code."


def methods() -> str:
    import cccount_dist.kinds  # noqa: F401  (fills the registry)

    lines = ["# Methods and their parameters", "", f"{WRITTEN} `cccount methods NAME` says the same.", ""]
    for one in list_methods().methods:
        lines += [f"## {one.kind}: {one.name}", "", one.help, ""]
        lines += [f"Needs: {', '.join(one.needs) or 'nothing but the items'}."]
        lines += [f"Published as: {one.paper}."] if one.paper else []
        lines += [""]
        rows = []
        for given in one.parameters:
            only = "".join(f"; with `{name}={value}`" for name, value in given.where.items())
            rows.append([f"`{given.name}`", given.help, f"{given.values}{only}", f"`{_plain(given.default)}`"])
        lines += [*table(["`--parameter`", "what it does", "values", "default"], rows), ""] if rows else []
        presets = [[f"`{name}`", ", ".join(f"`{key}={_plain(value)}`" for key, value in values.items())]
                   for name, values in one.presets.items()]  # fmt: skip
        lines += [*table(["`--preset`", "stands for"], presets), ""] if presets else []
    return "\n".join(lines)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def job() -> str:
    return "\n".join(["# The job file", "", f"{WRITTEN} `cccount run --example` prints it.", "", "```toml", example(), "```", ""])


def stored() -> str:
    said = (
        "Everything that may lie in a workspace. `cccount verify` checks all of it, and names a file that is not in this table."
    )
    return "\n".join(["# Files", "", f"{WRITTEN} {said}", "", inventory.as_table(), "## Formats", "", formats.as_table()])


def arrays() -> str:
    specs = [one for one in vars(schema).values() if isinstance(one, ArraySpec)]
    tables = [one for one in vars(schema).values() if isinstance(one, TableSpec)]
    rows = [[f"`{one.name}`", f"`{one.dtype}`", " × ".join(one.dims), f"`{one.fill}`", one.meaning] for one in specs]
    lines = ["# Arrays and tables", "", f"{WRITTEN} The first axis of an array is the item number.", "", "## Arrays", ""]
    lines += [*table(["array", "type", "axes", "where nothing was written", "what it is"], rows), ""]
    for one in sorted(tables, key=lambda spec: spec.name):
        if one is schema.CHAINED:
            continue
        columns = [[f"`{column.name}`", f"`{column.type}`", column.meaning, "" if column.required else "may be empty"]
                   for column in one.columns]  # fmt: skip
        lines += [f"## {one.name}.parquet", "", *table(["column", "type", "what it is", ""], columns), ""]
    return "\n".join(lines)


def python() -> str:
    lines = ["# Python", "", f"{WRITTEN} These names are public: they change only with a line in the list of changes.", ""]
    for name in cccount_dist.__all__:
        lines += _thing(f"cccount_dist.{name}", getattr(cccount_dist, name))
    for name in sorted(cccount_dist.testing.__all__):
        lines += _thing(f"cccount_dist.testing.{name}", getattr(cccount_dist.testing, name))
    return "\n".join(lines)


def _thing(name: str, thing: Any) -> list[str]:
    lines = [f"## {name}", "", "```python", f"{name.rpartition('.')[2]}{_signature(thing)}", "```", "", *_docstring(thing), ""]
    if not inspect.isclass(thing):
        return lines
    for member, value in inspect.getmembers(thing):
        if member.startswith("_") or member not in _own(thing):
            continue
        if isinstance(value, property):
            lines += [f"### {name.rpartition('.')[2]}.{member}", "", *_docstring(value), ""]
        elif callable(value):
            lines += [f"### {name.rpartition('.')[2]}.{member}", "", "```python", f"{member}{_signature(value)}", "```", ""]
            lines += [*_docstring(value), ""]
    return lines


def _own(thing: type) -> set[str]:
    """Names of a class that it, or a class of ours below it, declares: not those of scikit-learn or Python."""
    ours = [one for one in thing.__mro__ if one.__module__.startswith(("cccount_dist", "storage"))]
    return {name for one in ours for name in vars(one)}


def _signature(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])", "", text).replace("numpy._typing.", "")


def _docstring(thing: Any) -> list[str]:
    """A docstring as Markdown: a list of names as a table's poor cousin, examples as code."""
    text = inspect.getdoc(thing) or ""
    lines, code = [], False
    for line in text.splitlines():
        example = line.startswith(">>>") or (code and bool(line.strip()))
        if example != code:
            lines += ["```pycon" if example else "```"] if example else ["```", ""]
        code = example
        named = re.match(r"^(\w[\w, *().=…]*) : (.*)$", line)
        if line and set(line) == {"-"}:
            lines[-1] = f"**{lines[-1]}**\n"
        elif named and not code:
            lines.append(f"- `{named[1]}`: {named[2]}")
        else:
            lines.append(line[:-1] if line.endswith("::") else line)
    return [*lines, "```"] if code else lines

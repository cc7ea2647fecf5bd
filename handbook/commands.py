"""The page of all commands and options, from the command itself."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer

from flows.commands.cli import make_app
from handbook.markdown import table


@cache
def command_tree() -> Any:  # Typer's own group, which is click's
    return typer.main.get_command(make_app())


def every_command(group: Any = None, before: str = "cccount") -> Iterator[tuple[str, Any]]:
    """Each command with its whole name, as `cccount answers export`, in the order of `--help`."""
    group = command_tree() if group is None else group
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            yield from every_command(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def page() -> str:
    lines = [
        "# Commands",
        "",
        "Written from the code. `cccount COMMAND --help` says the same.",
        "",
        "Exit codes: 0 all went well; 1 a failure, explained in one line; 2 wrong usage; 130 after Ctrl-C.",
        "",
    ]
    for name, command in every_command():
        lines += [f"## {name}", "", *_explained(command.help or ""), ""]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        named = " ".join(one.metavar or one.name.upper() for one in arguments)
        lines += ["```text", f"{name} {named} [OPTIONS]".replace("  ", " "), "```", ""]
        lines += table(["argument or option", "what it does", "default"], map(_row, command.params))
        lines.append("")
    return "\n".join(lines)


def _explained(said: str) -> list[str]:
    lines = []
    for paragraph in said.split("\n\n"):
        text = " ".join(paragraph.replace("\b", "").split())
        example = text.removeprefix("Example: ")
        lines += ["```bash", example, "```", ""] if example != text else [text, ""]
    return lines


def _row(one: Any) -> tuple[str, str, str]:
    if one.param_type_name == "argument":
        return f"`{one.metavar or one.name.upper()}`", one.help or "", "must be given" if one.required else ""
    names = "`, `".join([*one.opts, *one.secondary_opts])
    kind = getattr(one.bare_type(), "__name__", "text")
    value = "" if one.is_flag else f" {one.metavar or {'int': 'NUMBER', 'float': 'NUMBER'}.get(kind, 'TEXT')}"
    return f"`{names}{value}`", one.help or "", _default(one)


def _default(one: Any) -> str:
    if one.required:
        return "must be given"
    if isinstance(one.show_default, str):
        return one.show_default
    if one.default is None or one.default in (False, ()):
        return ""
    return f"`{str(one.default).lower() if isinstance(one.default, bool) else one.default}`"

"""Wrong usage is one line, as every other failure: what is wrong, and which commands have an option that this one has not."""

from collections.abc import Iterator
from typing import Any

from typer.exceptions import TyperException

from cccount_dist.options import listed
from flows.stages.options import GONE

NAME = "cccount"


def explained(error: TyperException) -> str:
    """Return the line for a command that was called wrongly; empty where its help was shown instead."""
    said, context = error.format_message().strip(), getattr(error, "ctx", None)
    if not said or context is None:
        return said
    path = context.command_path
    option = getattr(error, "option_name", None) if hasattr(error, "possibilities") else None  # one that does not exist
    having = (
        []
        if option is None
        else [name for name, command in commands_of(context.find_root().command) if has_option(command, option)]
    )
    if option is not None and (gone := GONE.get(option.lstrip("-").replace("-", "_"))) is not None:
        return f"{option} {gone}"
    if having:
        said = f"{path.removeprefix(f'{NAME} ')} has no {option}, and would not use it: it is for {listed(having, ' and ')}"
    return f"{said.rstrip('.')} (see `{path} --help`)"


def commands_of(group: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Every command below a group as Typer made it, by what is typed for it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def has_option(command: Any, option: str) -> bool:
    return any(option in (*one.opts, *one.secondary_opts) for one in command.params)


__all__ = ["NAME", "commands_of", "explained", "has_option"]

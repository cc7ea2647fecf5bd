"""Makes Typer commands from declared options: a command says nothing about an option that its declaration does not."""

import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from cccount_dist.options import Declared, Value
from flows.commands.common import Json, Workspace, Yes, run, show
from flows.stages.registry import Stage

Parameter = inspect.Parameter


Before = Callable[[str, dict[str, Value], bool], None]  # workspace, what was typed, and whether it was said to go on


def stage_command(app: typer.Typer, stage: Stage, before: Before | None = None) -> None:
    """Add the command of a stage; `before` may ask whether to go on, and the command then has `--yes`."""

    def command(workspace: str, json_: bool = False, campaign: str | None = None, yes: bool = False, **given: Any) -> None:
        about = {} if campaign is None else {"campaign": campaign}
        if before is not None:
            before(workspace, told(given), yes)
        show(run(stage.name, workspace=workspace, **about, **told(given)), json_)

    leading = [required("workspace", Workspace)]
    if before is not None:
        leading.append(keyword("yes", Yes, default=False))
    if stage.campaign is not None:
        option = typer.Option("--campaign", help="The campaign's name.")
        leading.append(keyword("campaign", Annotated[str, option], stage.campaign))
    add_command(app, command, stage.name, stage.help, leading, stage.parameters)


def add_command(
    app: typer.Typer,
    command: Callable[..., None],
    name: str,
    said: str,
    leading: Sequence[Parameter],
    options: Sequence[Declared],
) -> None:
    """Add a command whose parameters are `leading`, the declared options, and `--json`."""
    visible = [one for one in options if not one.option.hidden]
    parameters = [*leading, *map(typer_parameter, visible), keyword("json_", Json, default=False)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    command.__doc__ = said
    app.command(name)(command)


def typer_parameter(one: Declared) -> Parameter:
    """A declared option as Typer wants it."""
    said = one.option
    many = one.type is tuple
    shown: bool | str = said.shown or (one.default is not None and not many)
    metavar = said.metavar or ("|".join(said.choices) or None)
    name = f"--{one.flag}/--no-{one.flag}" if one.default is True else f"--{one.flag}"
    option = typer.Option(name, help=said.help, metavar=metavar, show_default=shown)
    kind: Any = list[str] | None if many else one.type | None if one.optional else one.type
    return keyword(one.name, Annotated[kind, option], None if many else one.default)


def told(given: dict[str, Any]) -> dict[str, Value]:  # what Typer gives
    """What was typed, as declared options take it: a list of words is a tuple, and one that was not given is left out."""
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    return {name: value for name, value in plain.items() if value is not None}


def required(name: str, annotation: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation)


def keyword(name: str, annotation: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

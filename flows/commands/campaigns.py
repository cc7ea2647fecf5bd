"""Commands that ask: one for each kind of campaign; and where it stands."""

from typing import Annotated

import typer

from flows.commands.common import Json, Workspace, show
from flows.commands.declared import stage_command
from flows.stages.registry import ADVANCE, campaign_stages

app = typer.Typer(rich_markup_mode="rich")
for _stage in (*campaign_stages(), ADVANCE):
    stage_command(app, _stage)


@app.command()
def status(
    workspace: Workspace,
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Say where every campaign stands, and what it waits for.

    Example: cccount status census
    """
    from flows.stages.campaigns import status as status_of

    show(status_of(workspace, campaign), json_)


@app.command()
def methods(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this one, with its parameters.")] = None,
    json_: Json = False,
) -> None:
    """List every method: what it is for, what it needs, and what may be set about it.

    Example: cccount methods

    Example: cccount methods nis
    """
    from flows.stages.methods import list_methods

    show(list_methods(name), json_)

"""What the commands share: the options that many of them have, how a stage is run and a result printed."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cccount_dist.options import Value

if TYPE_CHECKING:
    from cccount_dist.campaign.outcome import Outcome

Workspace = Annotated[
    str, typer.Argument(metavar="WORKSPACE", help="The workspace: a folder, or s3://bucket/prefix.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before campaigns go on in a new epoch.")]
CampaignName = Annotated[str, typer.Option("--campaign", help="The campaign's name.")]


def run(stage: str, **parameters: Value) -> "Outcome":
    """Run a stage, recorded by Prefect if a server is configured."""
    from flows.orchestration.recording import run_stage

    return run_stage(stage, **parameters)


def agreed(campaigns: Sequence[str], change: str, yes: bool) -> None:
    """Say which campaigns will go on in a new epoch, and on a terminal ask first; whoever says no ends the command."""
    if not campaigns:
        return
    from flows.stages.consequences import words

    typer.echo(words(campaigns, change), err=True)
    if not yes and sys.stdin.isatty() and sys.stderr.isatty() and not typer.confirm("Go on?", err=True):
        typer.echo("Nothing was changed.", err=True)
        raise typer.Exit(1)


def show(result: "Outcome", as_json: bool) -> None:
    """Print a result for a program or for a person; a result that is no success ends the command with 1."""
    typer.echo(json.dumps(result.json(), allow_nan=False) if as_json else result.words())
    if not result.success:
        raise typer.Exit(1)

"""What the commands share: the options that many of them have, how a stage is run and a result printed."""

import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

Workspace = Annotated[
    str, typer.Argument(metavar="WORKSPACE", help="The workspace: a folder, or s3://bucket/prefix.", show_default=False)
]
Overlap = Annotated[int | None, typer.Option(metavar="1..5", help="How many people answer each question.", show_default="1")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Compute = Annotated[
    str,
    typer.Option(
        metavar="local|tcp://…|tls://…|PROFILE",
        help="Where to compute: this machine, a Dask scheduler's address, or a profile such as slurm.",
    ),
]
GroupingCompute = Annotated[
    str | None,
    typer.Option(metavar="local|tcp://…|tls://…", help="Where to prepare: here, unless a cluster pays.", show_default=False),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes of the local cluster; default: one for each core.", show_default=False)
]
Memory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Memory of each local process, such as 2GiB.", show_default=False)
]
CampaignName = Annotated[str, typer.Option("--campaign", help="The campaign's name.")]


def run(stage: str, **parameters: Any) -> dict[str, Any]:
    """Run a stage, recorded by Prefect if a server is configured."""
    from flows.orchestration import run_stage

    return run_stage(stage, **parameters)


def show(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    """Print a result for a program or for a person."""
    typer.echo(json.dumps(result, allow_nan=False) if as_json else text(result))


def show_imported(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    show(result, as_json, text)
    if result["rejected"]:
        raise typer.Exit(1)

"""The way in: the whole batch job from one file, here or on a Prefect server."""

from typing import Annotated

import typer

from flows.commands.common import Json, show

app = typer.Typer(rich_markup_mode="rich")
_File = typer.Argument(metavar="FILE.toml", help="The job; `cccount run --example` prints one.", show_default=False)


@app.command("run")
def run_(
    file: Annotated[str | None, _File] = None,
    example: Annotated[bool, typer.Option("--example", help="Print a file to begin with, every key explained.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check the file, and write nothing.")] = False,
    json_: Json = False,
) -> None:
    """Do the whole batch job of one file: collection, vectors, neighbours, campaigns, reports.

    Run again it does what is missing; killed anywhere it goes on.

    Example: cccount run --example > census.toml

    Example: cccount run census.toml
    """
    if example == (file is not None):
        raise typer.BadParameter("give a file, or --example")
    if file is None:
        from flows.stages.jobexample import example as printed

        typer.echo(printed(), nl=False)
        return
    from flows.stages.jobfile import Job

    job = Job.from_file(file)
    if dry_run:
        from flows.stages.job import plan

        show(plan(job), json_)
        return
    from flows.orchestration.recording import run_recorded

    show(run_recorded(job), json_)


@app.command()
def deploy(
    file: Annotated[str, _File],
    every: Annotated[
        float | None,
        typer.Option(help="Advance campaigns every this many seconds, whatever the file says.", show_default=False),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Put this before the names of the deployments.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Put the job of a file on a Prefect server: the pipeline on demand, its campaigns and a nightly check on their schedules.

    Workers need the package and the workspace, no checkout. Run it again after every change of the file.

    Example: export PREFECT_API_URL=http://127.0.0.1:4200/api; cccount deploy census.toml

    Then: prefect worker start --pool cccount; prefect deployment run cccount-pipeline/pipeline
    """
    from flows.orchestration.recording import require_server
    from flows.stages.jobfile import Job

    job = Job.from_file(file)
    require_server()
    from flows.orchestration.deploy import deploy as deploy_job

    show(deploy_job(job, every=every, name=name), json_)

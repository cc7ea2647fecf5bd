"""Commands that look after a workspace and a machine."""

from typing import Annotated, Any

import typer

from cccount_dist.options import declared
from flows.commands.common import Json, Workspace, show
from flows.commands.declared import add_command, required, stage_command, told
from flows.compute.options import ComputeOptions
from flows.stages.benchmarkoptions import BenchmarkOptions
from flows.stages.registry import VERIFY

app = typer.Typer(rich_markup_mode="rich")
benchmark_app = typer.Typer(no_args_is_help=True, help="Replicated experiments on labelled collections.", rich_markup_mode="rich")
app.add_typer(benchmark_app, name="benchmark")


stage_command(app, VERIFY)


@app.command()
def upgrade(
    workspace: Workspace,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and write nothing.")] = False,
    json_: Json = False,
) -> None:
    """Bring a workspace of an earlier version to the present formats.

    What changes is kept in its folder `backups`; answers are never rewritten. Killed at any moment it can be run again.

    Example: cccount upgrade census --dry-run
    """
    from flows.stages.upgrade import upgrade as run_upgrade

    show(run_upgrade(workspace, dry_run=dry_run), json_)


@app.command()
def relocate(
    workspace: Workspace,
    folder: Annotated[str | None, typer.Argument(metavar="DIR", help="The same as --images.", show_default=False)] = None,
    images: Annotated[str | None, typer.Option(help="Where the pictures are now.", metavar="DIR", show_default=False)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, and write nothing.")] = False,
    json_: Json = False,
) -> None:
    """Say where pictures are that moved to another folder.

    Each missing one is looked for below its old subfolders and name, or below its id. A file that is no image, or has another
    width and height, is refused, and then nothing changes. Items, vectors, campaigns and answers stay as they are.

    Example: cccount relocate census --images /media/archive/photos --dry-run
    """
    from flows.stages.relocate import relocate as run_relocate
    from storage.errors import InputError

    if (folder is None) == (images is None):
        raise InputError("name the folder where the pictures are now, once: cccount relocate WORKSPACE --images DIR")
    show(run_relocate(workspace, folder or images or "", dry_run=dry_run), json_)


def _benchmark(collections: list[str], json_: bool = False, **given: Any) -> None:
    from flows.stages.benchmark import run_benchmark

    show(run_benchmark(collections, BenchmarkOptions.read(told(given))), json_)


_BENCHMARK = """Measure error, bias, coverage and width of counting methods over many seeded runs.

Example: cccount benchmark counting digits --runs 100
"""
_Sets = Annotated[list[str], typer.Argument(metavar="SET…", help="An .npz file with x and y, digits, longtail, …")]
add_command(benchmark_app, _benchmark, "counting", _BENCHMARK, [required("collections", _Sets)], declared(BenchmarkOptions))


@app.command()
def metrics(
    workspace: Workspace,
    file: Annotated[str | None, typer.Option(help="Write them here once, for node_exporter's textfile folder.")] = None,
    host: Annotated[str, typer.Option(help="Where to serve them.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="Serve /metrics on this port until ended.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Metrics for Prometheus: answers, questions, shards. Printed, written to a file, or served.

    Example: cccount metrics census --port 9464
    """
    from flows.orchestration import prometheus as exported

    if port is not None:
        exported.serve(workspace, host, port)
    elif file is not None:
        show(exported.write(workspace, file), json_)
    else:
        show(exported.read(workspace), json_)


@app.command()
def demo(
    directory: Annotated[str, typer.Option(help="Where to put the images, the workspace and the report.")] = "demo",
    json_: Json = False,
) -> None:
    """The whole way on bundled images, with a kill in the middle: about a minute.

    Example: cccount demo
    """
    from flows.commands.demonstration import demo as run_demo

    show(run_demo(directory), json_)


def _doctor(json_: bool = False, **given: Any) -> None:
    from flows.commands.diagnosis import doctor

    show(doctor(ComputeOptions.read(told(given))), json_)


_DOCTOR = """Show what works on this machine and what does not: versions, store, cluster, encoders, Prefect.

Example: cccount doctor
"""
add_command(app, _doctor, "doctor", _DOCTOR, [], declared(ComputeOptions))

"""Commands that look after a workspace and a machine."""

from typing import Annotated

import typer

from flows import texts
from flows.commands.common import Compute, Json, Memory, Workers, Workspace, run, show

app = typer.Typer(rich_markup_mode="rich")
benchmark_app = typer.Typer(no_args_is_help=True, help="Replicated experiments on labelled collections.", rich_markup_mode="rich")
app.add_typer(benchmark_app, name="benchmark")


@app.command()
def verify(workspace: Workspace, json_: Json = False) -> None:
    """Check every shard, part and marker; say what is damaged and what to do.

    Example: cccount verify census
    """
    found = run("verify", workspace=workspace)
    show(found, json_, texts.verified)
    if not found["ok"]:
        raise typer.Exit(1)


@benchmark_app.command("counting")
def benchmark_counting(
    collections: Annotated[list[str], typer.Argument(metavar="SET…", help="An .npz file with x and y, digits, longtail, …")],
    methods: Annotated[str, typer.Option(help="Methods of `cccount count`, with commas.")] = "placing",
    runs: Annotated[int, typer.Option(help="Seeded runs of each method on each collection.")] = 100,
    efforts: Annotated[str, typer.Option(help="Where to look, in parts of n pair answers.")] = "0.1,0.25,0.5,1",
    noise: Annotated[str, typer.Option(metavar="E|M,F", help="Wrong answers: one rate, or misses and false sames.")] = "0",
    repeating: Annotated[float, typer.Option(help="Share of the wrong answers that come again for the same pair.")] = 0.0,
    wrong_answers: Annotated[
        str | None, typer.Option(help="What the method is told.", show_default="none without noise, else estimate")
    ] = None,
    grid: Annotated[int, typer.Option(metavar="1..24", help="Clusters on one page; a page costs 3 pairs.")] = 1,
    search: Annotated[str, typer.Option(metavar="full|fast", help="Whether placing may skip unlikely pairs.")] = "fast",
    stop: Annotated[float | None, typer.Option(metavar="W", help="Stop each run at this width.", show_default=False)] = None,
    results: Annotated[str, typer.Option(metavar="DIR", help="Finished runs; the same command goes on.")] = "benchmark-runs",
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Measure error, bias, coverage and width of counting methods over many seeded runs.

    Example: cccount benchmark counting digits --runs 100
    """
    from flows.benchmark import run_benchmark

    report = run_benchmark(
        collections,
        methods=methods.split(","),
        runs=runs,
        efforts=efforts,
        noise=noise,
        repeating=repeating,
        wrong_answers=wrong_answers,
        grid=grid,
        search=search,
        stop=stop,
        results=results,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    show(report, json_, texts.benchmarked)


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
    from flows import metrics as exported

    if port is not None:
        exported.serve(workspace, host, port)
    elif file is not None:
        show(exported.write(workspace, file), json_, lambda r: f"{r['metrics']} metrics in {r['file']}")
    elif json_:
        rows = [{"name": name, **labels, "value": float(value)} for name, _, labels, value in exported.collect(workspace)]
        show({"metrics": rows}, json_, str)
    else:
        typer.echo(exported.render(workspace).decode(), nl=False)


@app.command()
def demo(
    directory: Annotated[str, typer.Option(help="Where to put the images, the workspace and the report.")] = "demo",
    json_: Json = False,
) -> None:
    """The whole way on bundled images, with a kill in the middle: about a minute.

    Example: cccount demo
    """
    from flows.demo import demo as run_demo

    show(run_demo(directory), json_, lambda r: f"Open {r['report']}")


@app.command()
def doctor(compute: Compute = "local", json_: Json = False) -> None:
    """Show what works on this machine and what does not: versions, store, cluster, encoders, Prefect.

    Example: cccount doctor
    """
    from flows.doctor import doctor as examine

    found = examine(compute=compute)
    show(found, json_, texts.examined)
    if not found["ok"]:
        raise typer.Exit(1)

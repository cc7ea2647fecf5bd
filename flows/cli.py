"""The `cccount` command. Results go to standard output, progress and messages to standard error.

Exit codes: 0 success, 1 a failure that is explained in one line, 2 wrong usage. Everything heavy is imported inside the commands,
so that `cccount --help` answers at once.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from flows import texts
from storage.errors import CccountError

app = typer.Typer(
    name="cccount",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Count and group a huge image collection from a few human answers.

    The way: [bold]init[/bold] (what is in the collection), [bold]embed[/bold] (a vector for each image),
    [bold]neighbors[/bold] (who is similar), [bold]count[/bold] (how many different ones, ± how much).

    Every command can be interrupted and run again: what is done stays done.

    Try it: cccount demo""",
)
answers_app = typer.Typer(
    no_args_is_help=True, help="Take questions out to a file, and answers in from one.", rich_markup_mode="rich"
)
app.add_typer(answers_app, name="answers")
annotators_app = typer.Typer(no_args_is_help=True, help="Say who may answer: a token for each person.", rich_markup_mode="rich")
app.add_typer(annotators_app, name="annotators")
gold_app = typer.Typer(no_args_is_help=True, help="Pairs whose answer is known, for checking people.", rich_markup_mode="rich")
app.add_typer(gold_app, name="gold")
benchmark_app = typer.Typer(no_args_is_help=True, help="Replicated experiments on labelled collections.", rich_markup_mode="rich")
app.add_typer(benchmark_app, name="benchmark")

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


@app.command()
def init(
    workspace: Workspace,
    images: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder of images, read recursively; with --manifest, where its paths start."),
    ] = None,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE", help="A csv or parquet table with a path or uri for each item.")
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Vectors: .npy, .npz, .parquet, .zarr, or a folder with img_emb/. Several times: views of the same items.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN", help="Known classes, for simulation: .npy, .csv, .parquet, or a column of the manifest."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Make a workspace from images, a table or vectors.

    Example: cccount init census --images photos/
    """
    from flows.initialise import initialise

    report = initialise(workspace, images=images, manifest=manifest, embeddings=embeddings, labels=labels)
    _show(report, json_, texts.initialised)


@app.command()
def extend(
    workspace: Workspace,
    images: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder of images, read recursively; with --manifest, where its paths start."),
    ] = None,
    manifest: Annotated[str | None, typer.Option(metavar="FILE", help="A table with a path or uri for each item.")] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of the manifest with labels, or `folder`.")
    ] = None,
    json_: Json = False,
) -> None:
    """Add images to a workspace. Items keep their numbers, and `cccount embed` then embeds only the new ones.

    Example: cccount extend census --images photos-of-may/
    """
    from flows.initialise import extend as add

    _show(add(workspace, images=images, manifest=manifest, labels=labels), json_, texts.extended)


@app.command()
def bursts(
    workspace: Workspace,
    into: Annotated[str, typer.Argument(metavar="NEW", help="The workspace to make.", show_default=False)],
    seconds: Annotated[float, typer.Option(help="Frames of a burst follow each other within this time.")] = 3.0,
    similarity: Annotated[float, typer.Option(help="And are at least so similar (cosine).")] = 0.8,
    json_: Json = False,
) -> None:
    """Make a second workspace with the first frame of every burst, so that a burst counts once.

    Example: cccount bursts census census-bursts --seconds 5
    """
    from flows.initialise import first_frames

    _show(first_frames(workspace, into, seconds=seconds, similarity=similarity), json_, texts.first_frames)


@app.command()
def embed(
    workspace: Workspace,
    encoder: Annotated[
        str, typer.Option(metavar="NAME", help="Which encoder; `cccount doctor` lists those that work here.")
    ] = "auto",
    components: Annotated[
        int | None, typer.Option(help="Centre the vectors and keep this many principal components.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first image that cannot be read.")] = False,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Give every image a vector.

    An image that cannot be read is recorded with its reason and left out; the others go on.

    Example: cccount embed census
    """
    report = _run(
        "embed",
        workspace=workspace,
        encoder=encoder,
        components=components,
        strict=strict,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    _show(report, json_, texts.embedded)


@app.command()
def neighbors(
    workspace: Workspace,
    k: Annotated[int, typer.Option(help="Neighbours to keep for each item.")] = 50,
    metric: Annotated[str, typer.Option(metavar="cosine|correlation|euclidean", help="What similar means.")] = "cosine",
    engine: Annotated[str, typer.Option(metavar="exact|approximate", help="exact up to some hundred thousand items.")] = "exact",
    store_similarity: Annotated[
        bool, typer.Option("--store-similarity", help="Keep all similarities as a blockwise store, too.")
    ] = False,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Find the nearest neighbours and the degree of every item.

    Example: cccount neighbors census --k 50
    """
    report = _run(
        "neighbors",
        workspace=workspace,
        k=k,
        metric=metric,
        engine=engine,
        store_similarity=store_similarity,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    _show(report, json_, texts.neighbours)


@app.command()
def count(
    workspace: Workspace,
    campaign: CampaignName = "count",
    method: Annotated[
        str | None, typer.Option(metavar="auto|placing|nis|…", help="The estimator; auto chooses.", show_default="auto")
    ] = None,
    budget: Annotated[
        int, typer.Option(help="How many questions may be asked, in all. A larger one goes on from where it stands.")
    ] = 2000,
    target_width: Annotated[
        float | None,
        typer.Option(metavar="W", help="Stop when the interval's width is at most W times the estimate.", show_default=False),
    ] = None,
    level: Annotated[float | None, typer.Option(help="Level of the interval.", show_default="0.95")] = None,
    oracle: Annotated[
        str, typer.Option(metavar="people|labels", help="Who answers: people, or the label column (simulation).")
    ] = "people",
    error_rate: Annotated[float, typer.Option(metavar="E", help="With --oracle labels: lie with this probability.")] = 0.0,
    grid: Annotated[
        int | None, typer.Option(metavar="1..24", help="Show up to so many clusters on one page.", show_default="1")
    ] = None,
    wrong_answers: Annotated[
        str | None,
        typer.Option(
            metavar="none|estimate|M,F",
            help="Allow for wrong answers: rates of misses and of false sames, or estimated on the way.",
            show_default="estimate for people",
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="full|fast", help="fast skips pairs that are hardly the same, if answers are right.", show_default="full"
        ),
    ] = None,
    pair_seconds: Annotated[float, typer.Option(metavar="S", help="What a pair takes a person.")] = 9.0,
    page_seconds: Annotated[
        float, typer.Option(metavar="S", help="What a page takes; in the budget it counts as that many pairs.")
    ] = 30.0,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    json_: Json = False,
) -> None:
    """Estimate how many different ones there are, with an interval.

    With --oracle people the questions are written and the command returns: answers come through a file (`cccount answers`), and
    `cccount advance` goes on.

    Example: cccount count census --budget 2000 --oracle labels
    """
    report = _run(
        "count",
        workspace=workspace,
        campaign=campaign,
        method=method,
        seed=seed,
        level=level,
        budget=budget,
        target_width=target_width,
        oracle=oracle,
        error_rate=error_rate,
        grid=grid,
        wrong_answers=wrong_answers,
        search=search,
        pair_seconds=pair_seconds,
        page_seconds=page_seconds,
        overlap=overlap,
    )
    _show(report, json_, texts.counted)


@app.command()
def cluster(
    workspace: Workspace,
    campaign: CampaignName = "cluster",
    method: Annotated[
        str | None,
        typer.Option(metavar="auto|evidence|apc|hacc|iu-red|…", help="How to group; auto needs no K.", show_default="auto"),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", help="How many groups. hacc takes a count's estimate if it is not told.", show_default=False),
    ] = None,
    budget: Annotated[int, typer.Option(help="How many questions may be asked, in all. A larger one goes on.")] = 600,
    oracle: Annotated[
        str,
        typer.Option(
            metavar="people|labels|similarity", help="Who answers: people, the label column, or (ratings) the embeddings."
        ),
    ] = "people",
    error_rate: Annotated[
        float, typer.Option(metavar="E", help="With labels: lie with this probability; with similarity: deviation of the noise.")
    ] = 0.0,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="W", help="Ratings: weight of the embeddings' similarity until a pair is rated.", show_default="none"
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="R", help="Ratings: how often one pair may be rated.", show_default="3")
    ] = None,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="For the method (docs/grouping.md); several times.", show_default=False),
    ] = None,
    compute: GroupingCompute = None,
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Give every item its group, from as few questions as possible; labels.parquet is the result.

    Most methods ask whether two items are the same. iu-red asks how similar they are, on a scale, and needs neither embeddings
    nor neighbours; also iu-red-pure, s-and-t, s-and-t-pure, random-ratings.

    Example: cccount cluster census --budget 600 --oracle labels

    Example: cccount cluster photos --method iu-red --clusters 2 --budget 900
    """
    report = _run(
        "cluster",
        workspace=workspace,
        campaign=campaign,
        method=method,
        clusters=clusters,
        seed=seed,
        budget=budget,
        oracle=oracle,
        error_rate=error_rate,
        overlap=overlap,
        parameter=parameter,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
        prior=prior,
        repeats=repeats,
    )
    _show(report, json_, texts.grouped)


@app.command()
def subcluster(
    workspace: Workspace,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", help="How many classes there are.", show_default="the estimate of the newest count campaign"),
    ] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Images of each class.", show_default="10")] = None,
    campaign: CampaignName = "subcluster",
    budget: Annotated[int, typer.Option(help="How many questions may be asked, in all. A larger one goes on.")] = 1000,
    oracle: Annotated[str, typer.Option(metavar="people|labels", help="Who answers: people, or the label column.")] = "people",
    error_rate: Annotated[float, typer.Option(metavar="E", help="With --oracle labels: lie with this probability.")] = 0.0,
    start: Annotated[
        str | None, typer.Option(metavar="random|pam", help="First centroids: random, or medoids.", show_default="random")
    ] = None,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Find a few clean images of each class, to browse the collection; subclusters.parquet is the result.

    Without --budget to spend (--budget 0) it is what the vectors alone give. `cccount browse` then shows all of them on one page.

    Example: cccount subcluster census --clusters 24 --size 10 --oracle labels
    """
    report = _run(
        "subcluster",
        workspace=workspace,
        campaign=campaign,
        clusters=clusters,
        size=size,
        start=start,
        seed=seed,
        budget=budget,
        oracle=oracle,
        error_rate=error_rate,
        overlap=overlap,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    _show(report, json_, texts.subclustered)


@app.command()
def advance(workspace: Workspace, campaign: CampaignName = "count", json_: Json = False) -> None:
    """Advance a campaign by one step: what a scheduled run does.

    Reads new answers, asks new questions, refreshes the result. Run twice or killed anywhere, the campaign is the same.

    Example: cccount advance census --campaign count
    """
    _show(_run("advance", workspace=workspace, campaign=campaign), json_, texts.advanced)


@app.command()
def review(
    workspace: Workspace,
    host: Annotated[str, typer.Option(help="Where to listen; others can reach it only if annotators have tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8765,
    annotator: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who sits here, while there are no tokens.", show_default="your user name")
    ] = None,
    advance: Annotated[bool, typer.Option(help="Keep new questions ready, in a process of its own.")] = True,
    overlap: Annotated[int, typer.Option(metavar="1..5", help="How many people see each question.")] = 1,
    gold: Annotated[float, typer.Option(metavar="SHARE", help="Sheets with a known answer.")] = 0.03,
    repeats: Annotated[float, typer.Option(metavar="SHARE", help="Sheets that the same person answered before.")] = 0.02,
    certificate: Annotated[str | None, typer.Option(metavar="FILE", help="TLS certificate.", show_default=False)] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Serve the page on which people answer, until Ctrl-C.

    Example: cccount review census
    """
    from flows.review import ReviewOptions
    from flows.review import review as serve

    options = ReviewOptions(host, port, annotator, advance, overlap, gold, repeats, certificate, key)
    serve(workspace, options, as_json=json_)


@app.command()
def pack(
    workspace: Workspace,
    campaign: CampaignName = "count",
    count: Annotated[int, typer.Option(help="How many open questions to take along.")] = 200,
    file: Annotated[str, typer.Option(help="Where to write: one .html file.")] = "pack.html",
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who will answer it.")] = "pack",
    side: Annotated[int, typer.Option(metavar="PIXELS", help="Longer side of its pictures.")] = 640,
    json_: Json = False,
) -> None:
    """Write one HTML file with open questions and their pictures, to be answered without a network.

    Its answers come back as a file: cccount answers import WORKSPACE --file answers.json

    Example: cccount pack census --campaign count --count 200 --file pack.html --annotator ana
    """
    from flows.pack import write_pack

    _show(write_pack(workspace, campaign, count, file, annotator=annotator, side=side), json_, texts.packed)


@app.command()
def status(
    workspace: Workspace,
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Say where every campaign stands, and what it waits for.

    Example: cccount status census
    """
    from flows.campaign import status as status_of

    _show(status_of(workspace, campaign), json_, texts.standing)


@answers_app.command("export")
def answers_export(
    workspace: Workspace,
    campaign: CampaignName = "count",
    file: Annotated[str, typer.Option(help="Where to write: .csv, .parquet or .json.")] = "answers.csv",
    form: Annotated[
        str, typer.Option("--format", metavar="label-studio", help="Open questions as tasks of Label Studio (.json).")
    ] = "by ending",
    json_: Json = False,
) -> None:
    """Write every answer, and every open question with an empty value.

    Example: cccount answers export census --campaign count --file questions.csv
    """
    from flows.answers import export_answers

    _show(export_answers(workspace, campaign, file, form), json_, texts.exported)


@answers_app.command("import")
def answers_import(
    workspace: Workspace,
    campaign: CampaignName = "count",
    file: Annotated[str, typer.Option(help="What to read: .csv, .parquet or .json.")] = "answers.csv",
    json_: Json = False,
) -> None:
    """Read answers, Label Studio's too. Importing a file twice changes nothing; a bad row is named, the others are kept.

    Example: cccount answers import census --campaign count --file questions.csv
    """
    from flows.answers import import_answers

    _show_imported(import_answers(workspace, campaign, file), json_, texts.imported)


@gold_app.command("import")
def gold_import(
    workspace: Workspace,
    file: Annotated[str, typer.Option(help="Rows of id_u, id_v (or u, v) and value: .csv, .parquet or .json.")] = "gold.csv",
    json_: Json = False,
) -> None:
    """Read pairs whose answer is known. The review page shows some of them, and so learns how often people are wrong.

    Example: cccount gold import census --file gold.csv
    """
    from flows.gold import import_gold

    _show_imported(import_gold(workspace, file), json_, texts.gold_imported)


@annotators_app.command("add")
def annotators_add(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who answers.", show_default=False)],
    json_: Json = False,
) -> None:
    """Give somebody a token for the review page. It is shown once; only a hash of it is kept.

    Example: cccount annotators add census ana
    """
    from flows.annotators import add_annotator

    _show(add_annotator(workspace, name), json_, texts.annotator_added)


@annotators_app.command("list")
def annotators_list(workspace: Workspace, json_: Json = False) -> None:
    """Say who has a token.

    Example: cccount annotators list census
    """
    from flows.annotators import list_annotators

    _show(list_annotators(workspace), json_, lambda r: "\n".join(r["annotators"]) or "Nobody has a token yet.")


@annotators_app.command("remove")
def annotators_remove(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token ends.", show_default=False)],
    json_: Json = False,
) -> None:
    """Take somebody's token away. What they answered stays.

    Example: cccount annotators remove census ana
    """
    from flows.annotators import remove_annotator

    _show(remove_annotator(workspace, name), json_, lambda r: f"{r['removed']} has no token any more.")


@app.command()
def report(
    workspace: Workspace,
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.", show_default=False)] = None,
    price: Annotated[
        float | None,
        typer.Option(
            metavar="P", help="What a question costs: campaigns that ask for ratings say what was spent.", show_default=False
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Write one self-contained report.html: it opens anywhere, also offline.

    Example: cccount report census
    """
    from flows.report import write_reports

    _show(write_reports(workspace, campaign, price), json_, texts.reported)


@app.command()
def browse(
    workspace: Workspace,
    campaign: CampaignName = "subcluster",
    item: Annotated[str | None, typer.Option(metavar="ID", help="Say which subclusters this item is most like.")] = None,
    image: Annotated[str | None, typer.Option(metavar="FILE", help="The same for any image file.")] = None,
    json_: Json = False,
) -> None:
    """Write browse.html: all subclusters of a campaign on one self-contained page, with search.

    Example: cccount browse census --image who-is-this.jpg
    """
    from flows.browse import browse as show

    _show(show(workspace, campaign, item=item, image=image), json_, texts.browsed)


@app.command()
def verify(workspace: Workspace, json_: Json = False) -> None:
    """Check every shard, part and marker; say what is damaged and what to do.

    Example: cccount verify census
    """
    found = _run("verify", workspace=workspace)
    _show(found, json_, texts.verified)
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
    search: Annotated[str, typer.Option(metavar="full|fast", help="Whether placing may skip unlikely pairs.")] = "full",
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
    _show(report, json_, texts.benchmarked)


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
        _show(exported.write(workspace, file), json_, lambda r: f"{r['metrics']} metrics in {r['file']}")
    elif json_:
        rows = [{"name": name, **labels, "value": float(value)} for name, _, labels, value in exported.collect(workspace)]
        _show({"metrics": rows}, json_, str)
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

    _show(run_demo(directory), json_, lambda r: f"Open {r['report']}")


@app.command()
def doctor(compute: Compute = "local", json_: Json = False) -> None:
    """Show what works on this machine and what does not: versions, store, cluster, encoders, Prefect.

    Example: cccount doctor
    """
    from flows.doctor import doctor as examine

    found = examine(compute=compute)
    _show(found, json_, texts.examined)
    if not found["ok"]:
        raise typer.Exit(1)


def _run(stage: str, **parameters: Any) -> dict[str, Any]:
    from flows.orchestration import run_stage

    return run_stage(stage, **parameters)


def _show(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    typer.echo(json.dumps(result, allow_nan=False) if as_json else text(result))


def _show_imported(result: dict[str, Any], as_json: bool, text: Callable[[dict[str, Any]], str]) -> None:
    _show(result, as_json, text)
    if result["rejected"]:
        raise typer.Exit(1)


def main() -> None:
    """Entry point of the command."""
    try:
        app()
    except CccountError as error:
        _fail(str(error))
    except BrokenPipeError:
        # The reader of our output went away (`cccount status | head`): nothing to explain, and nobody to explain it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")


def _fail(line: str) -> None:
    typer.echo(f"cccount: {' '.join(line.split())}", err=True)
    sys.exit(1)
